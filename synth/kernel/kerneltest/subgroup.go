package kerneltest

import "nxvk/synth/kernel"

// subgroup is where the invocations of a subgroup meet while a kernel runs on the host.
// The values of an instruction are not written over by the next one, which an invocation
// may reach while others still read, but by the one after that, which it cannot.
type subgroup struct {
	bar    *barrier
	values [2][]uint64 // of each invocation, by turns
	round  uint32      // between barriers of its invocations
}

// newSubgroups cuts a workgroup of n invocations into subgroups.
func newSubgroups(n, size int) []*subgroup {
	if size == 0 {
		return nil
	}
	out := make([]*subgroup, n/size)
	for i := range out {
		out[i] = &subgroup{bar: newBarrier(size), values: [2][]uint64{make([]uint64, size), make([]uint64, size)}}
	}
	return out
}

// together carries out an instruction of a subgroup: every invocation says what it has,
// and once all have, each takes what it needs of it.
func (v *invocation) together(in *kernel.Inst) {
	s, invocation := v.subgroup, v.builtins[kernel.SubgroupInvocation]
	if in.Op == kernel.SubgroupBarrier {
		if v.await(s.bar) {
			s.round++
		}
		return
	}
	values := s.values[v.turn%2]
	v.turn++
	values[invocation] = v.vals[in.Args[0]]
	v.await(s.bar)
	switch in.Op {
	case kernel.Ballot:
		for i, r := range in.Res {
			v.vals[r] = ballot(values[32*i : min(32*i+32, len(values))])
		}
	case kernel.ExclusiveSum:
		sum := uint64(0)
		for _, x := range values[:invocation] {
			sum += x
		}
		v.vals[in.Res[0]] = clip(v.k.Types[in.Res[0]], sum)
	}
}

// ballot is a word with a bit for each of up to 32 invocations.
func ballot(votes []uint64) uint64 {
	word := uint64(0)
	for i, x := range votes {
		word |= x << i
	}
	return word
}
