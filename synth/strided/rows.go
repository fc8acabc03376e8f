package strided

import (
	"nxvk/synth/lowering"
)

// The longest rows are kept by this many fours a part; two invocations share those
// of long ones, or there are too few at a time for a GPU to have others while one
// waits. Where there are few rows, only short ones leave a GPU as busy as kernels
// that look at elements would. An invocation that has a row to itself has at most so
// many parts of it.
const (
	maxHeld  = 16
	LongHeld = 8
	fewHeld  = 4
	fewRows  = 8
	maxSolo  = 8
)

// RowsHeld says how rows can be carried out in one kernel: in how many fours an
// invocation keeps, or 0 where it keeps none.
func RowsHeld(t *lowering.Target, lie *Reduction) (held int, ok bool) {
	if !lie.rows() {
		return 0, false
	}
	s := ScheduleOf(t, lie)
	if !s.Tree {
		return 0, s.Parts <= maxSolo
	}
	n := (Product(lie.Reduced) + Lanes*s.Parts - 1) / (Lanes * s.Parts)
	return n, s.Chunks == 1 && n <= maxHeld && (n <= fewHeld || Product(lie.Kept) >= fewRows)
}
