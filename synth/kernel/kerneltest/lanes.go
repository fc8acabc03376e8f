package kerneltest

import "nxvk/synth/kernel"

// subgroup is where the lanes of a subgroup meet while a kernel runs on the host.
// The values of an instruction are not written over by the next one, which a lane
// may reach while others still read, but by the one after that, which it cannot.
type subgroup struct {
	bar    *barrier
	values [2][]uint64 // of each lane, by turns
	round  uint32      // between barriers of its lanes
}

// newSubgroups cuts a workgroup of n invocations into subgroups.
func newSubgroups(n, lanes int) []*subgroup {
	if lanes == 0 {
		return nil
	}
	out := make([]*subgroup, n/lanes)
	for i := range out {
		out[i] = &subgroup{bar: newBarrier(lanes), values: [2][]uint64{make([]uint64, lanes), make([]uint64, lanes)}}
	}
	return out
}

// together carries out an instruction of a subgroup: every lane says what it has,
// and once all have, each takes what it needs of it.
func (v *invocation) together(in *kernel.Inst) {
	s, lane := v.subgroup, v.builtins[kernel.Lane]
	if in.Op == kernel.LaneBarrier {
		if v.await(s.bar) {
			s.round++
		}
		return
	}
	values := s.values[v.turn%2]
	v.turn++
	values[lane] = v.vals[in.Args[0]]
	v.await(s.bar)
	switch in.Op {
	case kernel.Ballot:
		for i, r := range in.Res {
			v.vals[r] = ballot(values[32*i : min(32*i+32, len(values))])
		}
	case kernel.LaneSum:
		sum := uint64(0)
		for _, x := range values[:lane] {
			sum += x
		}
		v.vals[in.Res[0]] = clip(v.k.Types[in.Res[0]], sum)
	}
}

// ballot is a word with a bit for each of up to 32 lanes.
func ballot(votes []uint64) uint64 {
	word := uint64(0)
	for i, x := range votes {
		word |= x << i
	}
	return word
}
