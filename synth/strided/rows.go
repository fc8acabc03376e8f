package strided

import (
	"nxvk/synth/lowering"
)

// Limits of rows in registers. An invocation keeps at most maxHeld vectors of four elements;
// LongHeld and more are shared by two invocations, so that a GPU has enough of them in flight.
// maxSolo bounds the parts of a row that one invocation reduces alone.
const (
	maxHeld  = 16
	LongHeld = 8
	maxSolo  = 8
)

// RowsHeld reports whether one kernel can carry out whole rows. held is how many vectors of
// four elements an invocation keeps in registers; 0 if it keeps none and reads the row again.
func RowsHeld(t *lowering.Target, lie *Reduction) (held int, ok bool) {
	if !lie.rows() {
		return 0, false
	}
	s := ScheduleOf(t, lie)
	if !s.Tree {
		return 0, s.Parts <= maxSolo
	}
	n := (Product(lie.Reduced) + Lanes*s.Parts - 1) / (Lanes * s.Parts)
	if n > maxHeld || s.Parts > rowThreads {
		n = 0
	}
	return n, s.Chunks == 1
}
