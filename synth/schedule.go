package synth

// schedule is how the elements of a reduction are dealt out; see reduceJob.
type schedule struct {
	chunks int
	length int // elements of a chunk
	parts  int
	tree   bool // the parts of a chunk are a workgroup, or a fraction of one, and join in it
	local  int
}

// partials is how many results an output has after the pass.
func (s *schedule) partials() int {
	if s.tree {
		return s.chunks
	}
	return s.parts
}

// Work is split until a GPU has enough of it: this many workgroups for rows,
// this many invocations for columns, and this much for each to do.
const (
	gpuRowGroups  = 4224
	gpuRowChunk   = 16384
	gpuColumns    = 1 << 19
	gpuPart       = 64
	cpuParts      = 128
	cpuPart       = 64
	longRow       = 1024
	shortRow      = 64
	reduceThreads = 256
)

// schedule chooses how to reduce, from the shape alone.
func (t *Target) schedule(r *reduceShape) schedule {
	k, n := product(r.kept), product(r.reduced)
	switch {
	case t.CPU && r.rows():
		// Eight neighbouring invocations run as one vector, so eight parts
		// read side by side.
		return parted(n, 8, min(max(8, cpuParts/k), n/cpuPart))
	case t.CPU:
		return parted(n, 8, min(cpuParts*4/k, n/cpuPart))
	case r.rows() && n >= shortRow && r.columns() == 1:
		return rowwise(k, n)
	}
	return parted(n, gpuPart, min(gpuColumns/k, n/gpuPart))
}

// parted deals the whole out to parts, each an invocation.
func parted(n, local, parts int) schedule {
	return schedule{chunks: 1, length: (n + 3) / 4 * 4, parts: max(parts, 1), local: local}
}

// rowwise gives each row, or each chunk of a long one, a workgroup, and eight
// short ones a workgroup together.
func rowwise(k, n int) schedule {
	s := schedule{parts: 32, tree: true, local: reduceThreads, chunks: 1}
	if n >= longRow {
		s.parts = reduceThreads
	}
	s.chunks = max(1, min((gpuRowGroups+k-1)/k, n/gpuRowChunk))
	unit := lanes * s.parts
	if s.chunks > 1 {
		unit *= roundsAhead // no round is left over but in the last chunk
	}
	s.length = ((n+s.chunks-1)/s.chunks + unit - 1) / unit * unit
	s.chunks = (n + s.length - 1) / s.length
	return s
}
