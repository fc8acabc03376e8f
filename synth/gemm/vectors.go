package gemm

import "nxvk/ops"

// vectors carries products of a matrix with at most eight columns or, flipped, eight rows.
// The matrix is read once, as memory has it, so these products take as long as that. Where it is
// contiguous along k, shaders/gemm_narrow.comp has invocations share out k; where it is
// contiguous along the results, shaders/gemm_wide.comp has them share out the results.
type vectors struct {
	wide   bool
	flip   bool
	shares int
	across int // of a wide kernel: blocks of results of a workgroup; of a narrow one: invocations that share out k

	threads int // of a workgroup of a wide kernel
}

const (
	maxVectors = 8

	narrowThreads = 128
	narrowRows    = 4
	narrowTeam    = 16 // invocations that share out k where rows are many: they read 256 bytes of one at once

	wideBlocks  = 8  // blocks of results, a workgroup: 128 bytes of a row of the matrix
	leastBlocks = 2  // 32 bytes, as much as memory gives at once
	mostBlocks  = 64 // where k is short: with more slots the sums of slots would take longer to add than to make
	slotSteps   = 16 // of k that a slot of the wide kernel adds, at least, where there are results for more blocks
	leastSteps  = 3  // of k that a slot adds, at least, where there are fewer blocks
	wideSlots   = 64 // of k, a workgroup of so many blocks at most
	wideUnroll  = 4  // of k, in flight

	// One vector has a kernel with at most a workgroup for each multiprocessor, unless the results are too many; see single.
	singleBlocks    = 16   // at most
	singleGroups    = 48   // at least: with fewer, k is shared out
	singleThreads   = 1024 // of few workgroups; others have as many as those of several vectors
	fewSingleGroups = 80
	singleSteps     = 8 // of k that a slot of so many invocations adds, at least

	// fillGroups is how many workgroups keep a device busy.
	fillGroups = 264
)

// vectors returns how to carry p out as a product with few vectors; ok is false where that
// does not suit, or where matrix hardware or a kernel for many small matrices is better.
func (p *Problem) vectors(t *Target) (m vectors, ok bool) {
	if _, ok := p.matrixShape(t); ok || p.manySmall(t) {
		return vectors{}, false
	}
	q := p.Transposed()
	for _, s := range []struct {
		p    *Problem
		flip bool
	}{{p, false}, {&q, true}} {
		switch {
		case s.p.N > maxVectors:
		case s.p.A.Col == 1 && s.p.K >= 128:
			return s.p.narrow(s.flip, t), true
		case s.p.A.Row == 1 && s.p.K >= 64 && s.p.M >= 64 && s.p.slots(t) >= 8:
			m := vectors{wide: true, flip: s.flip, across: wideBlocks, threads: wideBlocks * s.p.slots(t)}
			if blocks, threads, ok := s.p.single(t); ok {
				m.shares, m.across, m.threads = 1, blocks, threads
			} else if m.shares = s.p.wideShares(t); m.shares > 1 {
				m.shares, m.across = s.p.inOne(m.shares)
			} else if s.p.short(t) {
				m.across = mostBlocks
			} else {
				m.across = s.p.spread(t)
			}
			return m, true
		}
	}
	return vectors{}, false
}

// Vectors reports whether the product is one with few vectors or of few k, whose kernels load
// operands of type d as they are and add up in p.Type.
func (p *Problem) Vectors(d ops.DType, t *Target) bool {
	q := *p
	q.Operands = d
	_, ok := q.vectors(t)
	if !ok {
		_, ok = q.slim(t)
	}
	return ok && t.Addresses && !t.CPU
}

// Scattered returns the operand of several vectors whose elements do not follow each other,
// although the kernel loads them for each row of the matrix: it is better transposed first.
func (p *Problem) Scattered(t *Target) (vectors Buffer, ok bool) {
	m, ok := p.vectors(t)
	if !ok || m.wide || t.CPU {
		return A, false
	}
	if m.flip {
		q := p.Transposed()
		return A, q.N > 1 && q.B.Row != 1
	}
	return B, p.N > 1 && p.B.Row != 1
}

// block is how many elements of an operand 16 bytes have.
func (p *Problem) block() int {
	if p.Operands != ops.Invalid {
		return 16 / p.Operands.Size()
	}
	return 16 / p.Type.Size()
}

// narrowShares spreads long rows when there are few of them.
func (p *Problem) narrowShares() int {
	groups := p.Batch * ceil(p.M, narrowRows)
	return max(1, min(1024/groups, p.K/(2*p.block()*narrowThreads), 256))
}

// narrow is the kernel for rows that are contiguous along k. Where rows are enough for every multiprocessor, a workgroup has
// several teams of invocations, each with rows of its own. On an H200 teams of 16 take as little as 0.35 of the time of one
// team, up to rows of 80 kB.
func (p *Problem) narrow(flip bool, t *Target) vectors {
	m := vectors{flip: flip, shares: p.narrowShares(), across: narrowTeam}
	if t.CPU || m.shares > 1 || p.Batch*ceil(p.M, m.teams()*narrowRows) < Multiprocessors {
		m.across = narrowThreads
	}
	return m
}

// teams is how many rows, by narrowRows, a workgroup of the narrow kernel has.
func (m vectors) teams() int { return narrowThreads / m.across }

// wideShares spreads many k when there are few results.
func (p *Problem) wideShares(t *Target) int {
	groups := p.Batch * ceil(p.M, wideBlocks*p.block())
	return max(1, min(fillGroups/groups, p.K/(2*wideUnroll*p.slots(t)), 256))
}

// single is how a product of one vector has one workgroup for each multiprocessor at most: two would have to share its
// registers. Rows of the matrix are whole blocks, and sums are of f32, which bounds the number of kernels. Of 15 products on an
// H200 with cold caches, from 768 x 3072 to 14336 x 4096, this takes 0.62 to 1.03 of the time of k shared out or of more
// workgroups. It is not for large matrices of which each workgroup would read 32 bytes of a row.
func (p *Problem) single(t *Target) (blocks, threads int, ok bool) {
	if t.CPU || p.Type != ops.F32 || p.N > 1 || p.vectorsLie(true)&alignedA == 0 || p.short(t) {
		return 0, 0, false
	}
	groups := func(blocks int) int { return p.Batch * ceil(p.M, blocks*p.block()) }
	for blocks = leastBlocks; blocks < singleBlocks && groups(blocks) > Multiprocessors; {
		blocks *= 2
	}
	if groups(blocks) > Multiprocessors {
		blocks = wideBlocks
	} else if blocks == leastBlocks && groups(2*blocks) >= singleGroups {
		blocks *= 2 // 64 bytes of a row
	}
	threads = wideBlocks * p.slots(t)
	many := func(blocks int) bool { return p.K*blocks >= singleSteps*singleThreads && p.room(t) } // invocations have enough to do
	switch wider := 2 * blocks; {
	case p.bytes() > oneKernelBytes && wider <= singleBlocks && groups(wider) >= singleGroups && many(wider):
		blocks, threads = wider, singleThreads
	case groups(blocks) <= fewSingleGroups && many(blocks):
		threads = singleThreads
	}
	return blocks, threads, groups(blocks) >= singleGroups && (blocks > leastBlocks || p.bytes() <= oneKernelBytes)
}

// room reports whether a workgroup of singleThreads has shared memory for its sums and, where another stage of the kernel may
// make the vector, for that; see codegen.Chain.
func (p *Problem) room(t *Target) bool {
	sums, vector := p.block()*singleThreads*p.Type.Size(), 4*p.K
	if vector > t.SharedMemory/3 {
		vector = 0
	}
	const rest = 4 << 10 // what the other stage has
	return t.MaxInvocations >= singleThreads && sums+vector+rest <= t.SharedMemory
}

// A product whose k is shared out takes a second kernel, which adds up the sums of the shares. Where
// the matrix is read in a few microseconds, that costs about as much as the product. The bound is an estimate
// from the time of a dispatch, not a measurement.
const oneKernelBytes = 16 << 20

// inOne makes a product of one vector that would share out its k one kernel, of more workgroups that
// have fewer blocks and more slots each, if these are at least half as many workgroups. Rows of the
// matrix are whole blocks, which bounds the number of kernels.
func (p *Problem) inOne(shares int) (one, blocks int) {
	groups := func(blocks int) int { return p.Batch * ceil(p.M, blocks*p.block()) }
	want := shares * groups(wideBlocks)
	if p.N > 1 || p.vectorsLie(true)&alignedA == 0 || p.bytes() > oneKernelBytes || 2*groups(leastBlocks) < want {
		return shares, wideBlocks
	}
	for blocks = wideBlocks / 2; blocks > leastBlocks && groups(blocks) < want; {
		blocks /= 2
	}
	return 1, blocks
}

// spread is how many blocks a workgroup of the wide kernel has where k is not shared out: fewer where there would be less
// than a workgroup for each multiprocessor, as long as a slot has some k.
func (p *Problem) spread(t *Target) int {
	blocks := wideBlocks
	if t.CPU || p.N > 1 || p.vectorsLie(true)&alignedA == 0 {
		return blocks
	}
	for blocks > leastBlocks && p.Batch*ceil(p.M, blocks*p.block()) < Multiprocessors && p.K >= leastSteps*wideBlocks*p.slots(t)/(blocks/2) {
		blocks /= 2
	}
	return blocks
}

// short reports whether the wide kernel has so few k for each slot, and so many results, that a workgroup
// is better shared out among results.
func (p *Problem) short(t *Target) bool {
	return p.many(t) && p.K < slotSteps*p.slots(t) && p.Batch*ceil(p.M, mostBlocks*p.block()) >= fillGroups
}

// many reports whether the wide kernel can have mostBlocks: shared memory has room for the sums of all
// invocations and for the results.
func (p *Problem) many(t *Target) bool {
	sums := wideBlocks*p.slots(t) + mostBlocks*int(p.columns())
	return !t.CPU && sums*p.block()*p.Type.Size() <= t.SharedMemory
}

// slots is how many invocations of a workgroup of the wide kernel share out k where it has all
// blocks: as many as shared memory has room for. It is less than 8 where there is too little of that.
func (p *Problem) slots(t *Target) int {
	size := p.Type.Size()
	n := wideSlots
	for n > 1 && (n*wideBlocks > t.MaxInvocations || wideBlocks*p.block()*(n+maxVectors)*size > t.SharedMemory) {
		n /= 2
	}
	return n
}

func (m vectors) plan(p *Problem, t *Target) (*Plan, error) {
	q, rowC, colC := *p, p.N, 1
	if m.flip {
		q, rowC, colC = p.Transposed(), 1, p.N
	}
	chunk, lda := ceil(q.K, m.shares), q.A.Col
	if !m.wide {
		chunk, lda = roundUp(chunk, q.block()), q.A.Row
	}
	shares := ceil(q.K, chunk)
	rows := m.across * q.block()
	if !m.wide {
		rows = m.teams() * narrowRows
	}
	groups := ceil(q.M, rows)
	steps := q.product(m.kernel(&q, q.vectorsLie(m.wide), t), groups, q.Batch*shares, 1, t,
		[]int{q.M, q.N, q.K, lda, q.B.Row, q.B.Col, q.A.Batch, q.B.Batch, q.Batch}, []int{chunk, rowC, colC})
	if m.flip {
		for i := range steps {
			steps[i].In = [2]Buffer{B, A}
		}
	}
	return p.shared(steps, shares, t)
}

// vectorsLie returns alignedA where all that invocations load of A begins at whole blocks, and
// with it alignedB where the columns of B do, too.
func (p *Problem) vectorsLie(wide bool) uint32 {
	b, across := p.block(), 0
	if wide {
		across = 1
	}
	lies := p.aligned([2]int{across, 0}, b) & alignedA
	if columns := p.B.Row == 1 && (p.N == 1 || p.B.Col%b == 0) && (p.Batch == 1 || p.B.Batch%b == 0); columns && !wide && lies != 0 {
		lies |= alignedB
	}
	return lies
}

// kernel returns the kernel for operands that lie so.
func (m vectors) kernel(p *Problem, lies uint32, t *Target) Kernel {
	if !m.wide {
		return Kernel{
			Shader: p.vectorsShader("gemm_narrow", t),
			Spec:   []uint32{narrowThreads, narrowRows, p.columns(), lies, uint32(m.across)},
			Local:  [3]uint32{narrowThreads, 1, 1},
		}
	}
	threads, unroll := m.threads, wideUnroll
	if p.N > 2 { // the sums take the registers
		unroll = wideUnroll / 2
	}
	return Kernel{
		Shader: p.vectorsShader("gemm_wide", t),
		Spec:   []uint32{uint32(threads), uint32(m.across), uint32(threads / m.across), p.columns(), lies, uint32(unroll)},
		Local:  [3]uint32{uint32(threads), 1, 1},
	}
}

// columns is how many vectors the kernel of a product has: there is one for each power of two.
func (p *Problem) columns() uint32 {
	n := 1
	for n < p.N {
		n *= 2
	}
	return uint32(n)
}

// vectorsShader is the variant of a kernel for the type of the operands.
func (p *Problem) vectorsShader(name string, t *Target) string {
	if p.Operands == ops.Invalid {
		return p.shader(name, t)
	}
	return name + "." + p.Operands.String() + ".addresses"
}

// Wide is how a product of one vector is summed where invocations share out the results: see
// shaders/gemm_wide.comp. A workgroup has Blocks of Block results each, and Slots that share out k.
type Wide struct{ Blocks, Slots, Block, Unroll int }

// Threads is the size of a workgroup.
func (w Wide) Threads() int { return w.Blocks * w.Slots }

// WideVector is how one kernel carries out the product of a vector and a matrix whose rows, or with flip whose
// columns, are whole blocks. ok is false for any other product.
func (p *Problem) WideVector(t *Target) (w Wide, flip, ok bool) {
	m, ok := p.vectors(t)
	if !ok || !m.wide || m.shares > 1 || p.Batch != 1 {
		return w, false, false
	}
	q := *p
	if m.flip {
		q = p.Transposed()
	}
	if q.N != 1 || q.vectorsLie(true)&alignedA == 0 || p.check(t) != nil {
		return w, false, false
	}
	w = Wide{Blocks: m.across, Slots: m.threads / m.across, Block: q.block(), Unroll: wideUnroll}
	if m.threads == singleThreads || m.across >= wideBlocks && ceil(q.M, m.across*q.block()) <= Multiprocessors {
		w.Unroll *= 2 // no other workgroup needs the registers
	}
	return w, m.flip, true
}
