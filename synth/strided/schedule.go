package strided

import (
	"nxvk/synth/lowering"
)

// Lanes is how many elements of an output are folded side by side.
const Lanes = 4

// RoundsAhead is how many fours an invocation of a tree loads before it folds
// them.
const RoundsAhead = 4

// Schedule is how the elements of a reduction are dealt out; see reduction.Job.
type Schedule struct {
	Chunks int
	Length int // elements of a chunk
	Parts  int
	Tree   bool // the parts of a chunk are a workgroup, or a fraction of one, and join in it
	Local  int
}

// Partials is how many results an output has after the pass.
func (s *Schedule) Partials() int {
	if s.Tree {
		return s.Chunks
	}
	return s.Parts
}

// Work is split until a GPU has enough of it: this many workgroups for rows,
// this many invocations for columns, and this much for each to do.
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

// ScheduleOf chooses how to reduce, from the shape alone.
func ScheduleOf(t *lowering.Target, r *Reduction) Schedule {
	k, n := Product(r.Kept), Product(r.Reduced)
	switch {
	case t.CPU && r.rows():
		// Eight neighbouring invocations run as one vector, so eight parts
		// read side by side.
		return parted(n, 8, min(max(8, CPUParts/k), n/CPUPart))
	case t.CPU:
		return parted(n, 8, min(CPUParts*4/k, n/CPUPart))
	case r.rows() && n >= shortRow && r.Columns() == 1:
		return rowwise(k, n)
	}
	return parted(n, GPUPart, min(gpuColumns/k, n/GPUPart))
}

// parted deals the whole out to parts, each an invocation.
func parted(n, local, parts int) Schedule {
	return Schedule{Chunks: 1, Length: (n + 3) / 4 * 4, Parts: max(parts, 1), Local: local}
}

// rowwise gives each row, or each chunk of a long one, a workgroup, and eight
// short ones a workgroup together.
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
