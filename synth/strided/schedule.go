package strided

import (
	"nxvk/synth/lowering"
)

// Lanes is how many elements of a result an invocation reduces side by side.
const Lanes = 4

// RoundsAhead is how many vectors an invocation loads before it uses the first.
const RoundsAhead = 4

// Schedule deals the elements of a reduction out to invocations; see reduction.Job.
type Schedule struct {
	Chunks int
	Length int // elements of a chunk
	Parts  int
	Tree   bool // the parts of a chunk are (a fraction of) a workgroup and join by halves
	Local  int
}

// Partials is how many partial results a result has after the pass.
func (s *Schedule) Partials() int {
	if s.Tree {
		return s.Chunks
	}
	return s.Parts
}

// Work is split until a GPU has enough: so many workgroups for rows, so many invocations for
// columns, and so many elements for each.
const (
	gpuRowGroups  = 4224
	gpuRowChunk   = 16384
	gpuColumns    = 1 << 19
	GPUPart       = 64
	CPUParts      = 128
	CPUPart       = 64
	longRow       = 1024
	shortRow      = 64
	reduceThreads = 256
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
		return parted(n, 8, min(CPUParts*4/k, n/CPUPart))
	case r.rows() && n >= shortRow && r.Columns() == 1:
		return rowwise(k, n)
	}
	return parted(n, GPUPart, min(gpuColumns/k, n/GPUPart))
}

// parted deals all elements out to parts, an invocation each.
func parted(n, local, parts int) Schedule {
	return Schedule{Chunks: 1, Length: (n + 3) / 4 * 4, Parts: max(parts, 1), Local: local}
}

// rowwise gives each row, or each chunk of a long row, a workgroup. Eight short rows share
// one.
func rowwise(k, n int) Schedule {
	s := Schedule{Parts: 32, Tree: true, Local: reduceThreads, Chunks: 1}
	if n >= longRow {
		s.Parts = reduceThreads
	}
	s.Chunks = max(1, min((gpuRowGroups+k-1)/k, n/gpuRowChunk))
	unit := Lanes * s.Parts
	if s.Chunks > 1 {
		unit *= RoundsAhead // no round is left over but in the last chunk
	}
	s.Length = ((n+s.Chunks-1)/s.Chunks + unit - 1) / unit * unit
	s.Chunks = (n + s.Length - 1) / s.Length
	return s
}
