package strided

import (
	"nxvk/synth/lowering"
)

// RowThreads is how many invocations share a row that they keep in registers.
const RowThreads = 256

// Components is how many elements a vector of a reduction has: an invocation reduces them side by side, one sum for each.
const Components = 4

// RoundsAhead is how many vectors an invocation loads before it uses the first.
const RoundsAhead = 4

// Schedule deals the elements of a reduction out to invocations; see reduction.Job.
type Schedule struct {
	Chunks int
	Length int // elements of a chunk
	Parts  int
	Tree   bool // the parts of a chunk are (a fraction of) a workgroup and join by halves
	Apart  bool // with Tree: the components of a part have elements that are Parts apart
	Across bool // neighbouring invocations have neighbouring results, not parts of one
	Ahead  bool // without Tree: a part has so many rounds that it loads several before it folds the first
	Local  int
}

// Partials is how many partial results a result has after the pass.
func (s *Schedule) Partials() int {
	if s.Tree {
		return s.Chunks
	}
	return s.Parts
}

// The work of a GPU is split until the device is busy. The limits are numbers of workgroups
// for rows that are cut into chunks, of invocations for columns, and of elements for each.
const (
	gpuRowGroups = 4224
	gpuRowChunk  = 4096
	gpuColumns   = 1 << 19
	GPUPart      = 64
	wideColumns  = 1 << 20 // results whose invocations fill a device in workgroups of wideGroup
	wideGroup    = 256
	CPUParts     = 128
	CPUPart      = 64

	longThreads = 1024    // for rows that RowThreads invocations cannot keep
	longRow     = 16384   // elements that they can
	manyRows    = 64      // rows that keep a GPU busy with a workgroup each
	fewRows     = 4       // rows that do not, even if they are short
	cutRow      = 1 << 16 // elements of one of few rows that several workgroups read sooner
	cutRows     = 1 << 17 // elements of one of less than manyRows
	partRow     = 16      // elements of a short row that an invocation has
	soloRow     = 8       // elements of a row that one invocation has alone
	sideBySide  = 16      // invocations whose elements fill a transaction of the memory
)

// ScheduleOf chooses the schedule from the shape and the profile of the device alone.
func ScheduleOf(t *lowering.Target, r *Reduction) Schedule {
	k, n := Product(r.Kept), Product(r.Reduced)
	switch {
	case t.CPU && r.rows():
		// Eight neighbouring invocations run as one vector, so eight parts are read side by
		// side.
		return parted(n, 8, min(max(8, CPUParts/k), n/CPUPart))
	case t.CPU:
		s := parted(n, 8, min(CPUParts*4/k, n/CPUPart))
		if s.Across = r.across(); s.Across {
			s.Local = 16 // a line of the cache
		}
		return s
	case r.rows():
		return rowwise(t, k, n)
	}
	s := parted(n, GPUPart, min(gpuColumns/k, n/GPUPart))
	if k >= wideColumns { // a device takes as long to begin a small workgroup as a large one
		s.Local = Threads(t, wideGroup)
	}
	s.Across, s.Ahead = r.across(), n >= RoundsAhead*Components*s.Parts
	return s
}

// parted deals all elements out to parts, an invocation each.
func parted(n, local, parts int) Schedule {
	return Schedule{Chunks: 1, Length: (n + 3) / 4 * 4, Parts: max(parts, 1), Local: local}
}

// rowwise gives each row, or each chunk of a long row, a workgroup or a fraction of it. A
// vector of four elements cannot be loaded where rows begin anywhere; there, neighbouring
// invocations load neighbouring elements.
func rowwise(t *lowering.Target, k, n int) Schedule {
	s := Schedule{Tree: true, Chunks: 1, Parts: 1, Apart: n%Components != 0 && k > 1}
	s.Local = Threads(t, RowThreads)
	for n > soloRow && s.Parts < s.Local && (s.Parts*partRow < n || s.Apart && s.Parts < sideBySide && s.Parts*Components < n) {
		s.Parts *= 2
	}
	switch {
	case k < fewRows && n >= cutRow, k < manyRows && n > cutRows:
		s.Chunks = max(1, min((gpuRowGroups+k-1)/k, n/gpuRowChunk))
	case n > longRow:
		s.Local = Threads(t, longThreads)
		s.Parts = s.Local
	}
	unit := Components * s.Parts
	if s.Chunks > 1 {
		unit *= RoundsAhead // no round is left over but in the last chunk
	}
	s.Length = ((n+s.Chunks-1)/s.Chunks + unit - 1) / unit * unit
	s.Chunks = (n + s.Length - 1) / s.Length
	return s
}

// Threads is the greatest power of two up to n that a device has invocations of a workgroup.
func Threads(t *lowering.Target, n int) int {
	for n > t.MaxInvocations && n > 1 {
		n /= 2
	}
	return n
}
