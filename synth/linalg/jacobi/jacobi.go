package jacobi

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// jacobi is what both kinds of rotations share, of rows of matrices until they are
// orthogonal and of symmetric matrices until they are diagonal, by pairs of blocks
// of rows. There are as many steps as the slowest matrix may need; those of a
// matrix in which a sweep has left nothing to rotate do nothing.
type jacobi struct {
	*factor.Job
	rows   int // of a pair of blocks
	padded int // rows of whole pairs
	pairs  int
	active lowering.Ref // words by sweep and matrix: verdicts
	found  lowering.Ref // words by matrix: what parts of it had left to rotate
	words  int          // of a matrix
	most   int          // sweeps
	inner  int          // sweeps of the products of a pair of blocks, in each of these
}

const (
	pairSide   = 32 // rows of a pair of blocks, where there is room for them
	leastSide  = 4
	MostSweeps = 16 // convergence is quadratic and takes about eight

	// Eigenvalues of f64 in clusters of several magnitudes: a cluster converges when the greater ones are off it.
	// Matrices of two clusters of 79 eigenvalues of both signs took 18.
	mostDouble = 24

	// Matrices of one pair of blocks: what makes the products diagonal leaves little to the next sweep. So there are
	// few sweeps, with several of the products in each.
	aloneSweeps = 8
	aloneInner  = 4
)

// sideOfPairs is how many rows a pair of blocks has: as many as a workgroup has shared
// memory to rotate. Of c128 that is more than some devices have for 32.
func sideOfPairs(j *factor.Job) int {
	if rotationRoom(pairSide)*j.Wide.Size() > j.Target.SharedMemory {
		return pairSide / 2
	}
	return pairSide
}

// sideFor is how many rows a pair of blocks has of matrices of n rows: no more than the matrices have, to a power of
// two.
func sideFor(j *factor.Job, n int) int {
	side, most := leastSide, sideOfPairs(j)
	for side < min(n, most) {
		side *= 2
	}
	return side
}

// rotationRoom is for how many elements rotations of so many rows need shared
// memory, with what else their kernels keep there.
func rotationRoom(side int) int { return 2*side*(side+1) + 2*side }

// eigenvalues is that of n rows in so many sweeps, with so many words for each pair of
// a matrix that verdicts go by. The first verdict is that all have something to rotate.
func eigenvalues(j *factor.Job, n, most int, words func(pairs int) int) *jacobi {
	f := &jacobi{Job: j, rows: sideFor(j, n)}
	f.pairs = (n + f.rows - 1) / f.rows
	f.padded, f.words, f.most, f.inner = f.pairs*f.rows, words(f.pairs), most, 1
	if f.pairs == 1 {
		f.most, f.inner = aloneSweeps, aloneInner
	}
	f.active = j.NewTemp(4 * j.Count * (f.most + 1))
	f.found = j.NewTemp(4 * j.Count * f.words)
	f.judge(0)
	return f
}

// rounds is how many a sweep has. It is odd.
func (f *jacobi) rounds() int { return roundsOf(f.pairs) }

func roundsOf(pairs int) int { return 2*pairs - 1 }

func (f *jacobi) flags(access lowering.Access) *codegen.Buffer {
	b := factor.Words(f.active, f.Count*(f.most+1), access)
	return &b
}

// judge appends the verdict on a sweep: the next one works on a matrix where the
// last one found something to rotate. The first works on all.
func (f *jacobi) judge(sweep int) {
	p := &codegen.Program{Local: factor.UpdateLocal, Groups: f.Count,
		Buffers: []codegen.Buffer{*f.flags(lowering.Read | lowering.Write), factor.Words(f.found, f.Count*f.words, lowering.Read)}}
	p.Numbers = []int{f.Count, f.words, sweep * f.Count}
	p.Key = fmt.Sprintf("judge first=%v", sweep == 0)
	p.Body = func(e *codegen.Emitter) error {
		count, all, next := e.NextNumber(), e.NextNumber(), e.NextNumber()
		matrix := e.Group()
		found := e.Shared(scalar.U32, 1)
		lead := e.IsEqual(e.Invocation(), e.Index(0))
		e.When(e.IsLess(matrix, count), func() {
			on := e.Index(1)
			if sweep > 0 {
				e.IfThen(lead, func() { e.StoreShared(found, e.Index(0), e.Index(0)) })
				e.Barrier()
				was := e.Load(0, e.Add(e.Sub(next, count), matrix), 1)[0]
				// Words of a sweep that was left out are not those of this matrix.
				end := e.Select(e.IsEqual(was, e.Index(0)), e.Index(0), all)
				first := e.Mul(matrix, all)
				any := e.Loop(e.Invocation(), end, e.Index(e.Local), []kernel.Value{e.Index(0)},
					func(i kernel.Value, c []kernel.Value) []kernel.Value {
						return []kernel.Value{e.Or(c[0], e.Load(1, e.Add(first, i), 1)[0])}
					})[0]
				e.IfThen(e.Not(e.IsEqual(any, e.Index(0))), func() { e.AddShared(found, e.Index(0), e.Index(1)) })
				e.Barrier()
				on = e.Min(e.LoadShared(found, e.Index(0)), e.Index(1))
			}
			e.IfThen(lead, func() { e.Store(0, e.Add(next, matrix), on) })
		})
		return nil
	}
	f.Run(p)
}

// twice is a pair of temporaries of as many rows, which rounds write in turn.
func (f *jacobi) twice(cols int) [2]factor.Matrices {
	half := f.Count * f.padded * cols
	a := f.Dense(f.NewTemp(2*half*f.Wide.Size()), f.padded, cols)
	a.Elems *= 2
	b := a
	b.Off += half
	return [2]factor.Matrices{a, b}
}

// settle appends a copy of the one that was written last: every sweep has an odd
// number of rounds.
func (f *jacobi) settle(to factor.Matrices, of [2]factor.Matrices, cols int) {
	size := f.padded * cols
	p := &codegen.Program{Local: codegen.GPULocal, Groups: (f.Count*size + codegen.GPULocal - 1) / codegen.GPULocal,
		Buffers: []codegen.Buffer{f.Buffer(to, lowering.Write), f.Buffer(of[0], lowering.Read), *f.flags(lowering.Read)}}
	p.Numbers = append([]int{f.Count * size, size, cols, f.Count, of[1].Off}, factor.Places(to, of[0])...)
	p.Key = fmt.Sprintf("settle %v sweeps=%d", f.Typ, f.most)
	p.Body = func(e *codegen.Emitter) error {
		all, size, cols, count, half := e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
		to, from := factor.GridOf(e, 0), factor.GridOf(e, 1)
		u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
		e.IfThen(e.IsLess(u, all), func() {
			matrix, at := e.DivMod(u, size)
			sweeps := e.Index(0)
			for s := range f.most {
				sweeps = e.Add(sweeps, e.Load(2, e.Add(e.Mul(e.Index(s), count), matrix), 1)[0])
			}
			from := from.Of(matrix)
			from.Off = e.Add(from.Off, e.Mul(e.And(sweeps, 1), half))
			i, k := e.DivMod(at, cols)
			to.Of(matrix).Store(i, k, from.Load(i, k))
		})
		return nil
	}
	f.Run(p)
}

// pivots rotates every pair of rows of small Hermitian matrices, one for each pair of
// blocks. It ends when all elements off the diagonal are negligible, or after some sweeps.
type pivots struct {
	s, w   factor.Matrices // the matrices, and the rotations: w s w^H is diagonal
	sums   int             // matrices whose sum s is
	step   int             // elements from one of those to the next
	n      int             // of a matrix; the kernel has as many or more
	pairs  int             // of blocks
	sPair  int             // elements from pair to pair
	sweeps int
	bound  *factor.Matrices // what counts as nothing, by matrix; else relative to the diagonal
	values *factor.Matrices // where the diagonal goes
	cross  bool             // rows of one half meet those of the other alone

	active  *codegen.Buffer // as in a pairing
	sweep   int
	rotated *codegen.Buffer // words, by matrix, round and pair: whether anything was rotated
	round   int
	rounds  int
}

// rotate appends the rotations.
func rotate(j *factor.Job, v pivots) {
	side := leastSide
	for side < v.n {
		side *= 2
	}
	w := &rotateWriter{pivots: v, t: j.Typ, side: side, local: 4} // a power of two, as side is
	for 2*w.local <= min(256, side*side/4, j.Target.MaxInvocations) {
		w.local *= 2
	}
	p := &codegen.Program{Local: uint32(w.local), Groups: j.Count * v.pairs, Body: w.write,
		Flops:   int64(j.Count*v.pairs) * int64(12*side*side*side),
		Buffers: []codegen.Buffer{j.Buffer(v.s, lowering.Read), j.Buffer(v.w, lowering.Write)}}
	rounds, cross := side-1, 0
	if v.cross {
		rounds, cross = side/2, 1
	}
	p.Numbers = append([]int{j.Count, v.pairs, v.n, v.sums, v.step, v.sPair, v.sweeps, rounds, cross}, factor.Places(v.s, v.w)...)
	for _, more := range []*factor.Matrices{v.bound, v.values} {
		if more != nil {
			access := lowering.Read
			if more == v.values {
				access = lowering.Write
			}
			p.Buffers = append(p.Buffers, j.Buffer(*more, access))
			p.Numbers = append(p.Numbers, more.Off, more.Batch)
		}
	}
	if v.active != nil {
		p.Buffers = append(p.Buffers, *v.active, *v.rotated)
		p.Numbers = append(p.Numbers, v.sweep*j.Count, v.round*v.pairs, v.rounds*v.pairs)
	}
	p.Key = fmt.Sprintf("rotate %v side=%d bound=%v values=%v active=%v", w.t, side, v.bound != nil, v.values != nil, v.active != nil)
	j.Run(p)
}
