package kernel

// subgroup is where the lanes of a subgroup meet while a kernel runs on the host.
type subgroup struct {
	bar    *barrier
	values []uint64 // of each lane
}

// newSubgroups cuts a workgroup of n invocations into subgroups.
func newSubgroups(n, lanes int) []*subgroup {
	if lanes == 0 {
		return nil
	}
	out := make([]*subgroup, n/lanes)
	for i := range out {
		out[i] = &subgroup{bar: newBarrier(lanes), values: make([]uint64, lanes)}
	}
	return out
}

// together carries out an instruction of a subgroup: every lane says what it has,
// and once all have, each takes what it needs of it.
func (v *invocation) together(in *Inst) {
	s, lane := v.subgroup, v.builtins[Lane]
	if in.Op == LaneBarrier {
		s.bar.wait()
		return
	}
	s.values[lane] = v.vals[in.Args[0]]
	s.bar.wait()
	switch in.Op {
	case Ballot:
		for i, r := range in.Res {
			v.vals[r] = ballot(s.values[32*i : min(32*i+32, len(s.values))])
		}
	case LaneSum:
		sum := uint64(0)
		for _, x := range s.values[:lane] {
			sum += x
		}
		v.vals[in.Res[0]] = clip(v.k.Types[in.Res[0]], sum)
	}
	s.bar.wait()
}

// ballot is a word with a bit for each of up to 32 lanes.
func ballot(votes []uint64) uint64 {
	word := uint64(0)
	for i, x := range votes {
		word |= x << i
	}
	return word
}
