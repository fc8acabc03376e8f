package strided

import (
	"nxvk/synth/lowering"
)

// Limits of rows in registers. An invocation keeps at most maxHeld vectors of four elements;
// LongHeld and more are shared by two invocations, so that a GPU has enough of them in flight.
// Of rows with as many invocations as a workgroup can have, each keeps at most LongHeld.
// maxSolo bounds the parts of a row that one invocation reduces alone.
const (
	maxHeld  = 16
	LongHeld = 8
	maxSolo  = 8
)

// RowsHeld reports whether one kernel can carry out whole rows. held is how many vectors of
// four elements an invocation keeps in registers; it reads what follows those again.
func RowsHeld(t *lowering.Target, lie *Reduction) (held int, ok bool) {
	if !lie.rows() {
		return 0, false
	}
	s := ScheduleOf(t, lie)
	if !s.Tree {
		return 0, s.Parts <= maxSolo
	}
	most := maxHeld
	if s.Parts > RowThreads {
		most = LongHeld
	}
	return min(s.Rounds(Product(lie.Reduced)), most), s.Chunks == 1
}

// Rounds is how many vectors of a row of n elements, which is one chunk, a part has at most.
func (s *Schedule) Rounds(n int) int {
	return (n + Components*s.Parts - 1) / (Components * s.Parts)
}
