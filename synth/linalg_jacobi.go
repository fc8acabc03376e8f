package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// jacobi is what both kinds of rotations share, of rows of matrices until they are
// orthogonal and of symmetric matrices until they are diagonal, by pairs of blocks
// of rows. There are as many steps as the slowest matrix may need; those of a
// matrix in which a sweep has left nothing to rotate do nothing.
type jacobi struct {
	*linalg
	rows   int // of a pair of blocks
	padded int // rows of whole pairs
	pairs  int
	active Ref // words by sweep and matrix: verdicts
	found  Ref // words by matrix: what parts of it had left to rotate
	words  int // of a matrix
}

const (
	pairSide   = 32 // rows of a pair of blocks, where there is room for them
	mostSweeps = 16 // convergence is quadratic and takes about eight
)

// pairSide is how many rows a pair of blocks has: as many as a workgroup has shared
// memory to rotate. Of c128 that is more than some devices have for 32.
func (j *linalg) pairSide() int {
	if rotationRoom(pairSide)*j.wide.Size() > j.t.SharedMemory {
		return pairSide / 2
	}
	return pairSide
}

// rotationRoom is for how many elements rotations of so many rows need shared
// memory, with what else their kernels keep there.
func rotationRoom(side int) int { return 2*side*(side+1) + 2*side }

// jacobi is that of n rows, with so many words for each pair of a matrix that
// verdicts go by. The first verdict is that all have something to rotate.
func (j *linalg) jacobi(n int, words func(pairs int) int) *jacobi {
	f := &jacobi{linalg: j, rows: j.pairSide()}
	f.pairs = (n + f.rows - 1) / f.rows
	f.padded, f.words = f.pairs*f.rows, words(f.pairs)
	f.active = j.temp(4 * j.count * (mostSweeps + 1))
	f.found = j.temp(4 * j.count * f.words)
	f.judge(0)
	return f
}

// rounds is how many a sweep has. It is odd.
func (f *jacobi) rounds() int { return roundsOf(f.pairs) }

func roundsOf(pairs int) int { return 2*pairs - 1 }

func (f *jacobi) flags(access Access) *buffer {
	b := words(f.active, f.count*(mostSweeps+1), access)
	return &b
}

// judge appends the verdict on a sweep: the next one works on a matrix where the
// last one found something to rotate. The first works on all.
func (f *jacobi) judge(sweep int) {
	p := &program{local: updateLocal, groups: f.count,
		bufs: []buffer{*f.flags(Read | Write), words(f.found, f.count*f.words, Read)}}
	p.nums = []int{f.count, f.words, sweep * f.count}
	p.key = fmt.Sprintf("judge first=%v", sweep == 0)
	p.body = func(e *emitter) error {
		count, all, next := e.num(), e.num(), e.num()
		matrix := e.group()
		found := e.Shared(scalar.U32, 1)
		lead := e.same(e.invocation(), e.int(0))
		e.when(e.below(matrix, count), func() {
			on := e.int(1)
			if sweep > 0 {
				e.then(lead, func() { e.StoreShared(found, e.int(0), e.int(0)) })
				e.Barrier()
				was := e.Load(0, e.Add(e.Sub(next, count), matrix), 1)[0]
				// Words of a sweep that was left out are not those of this matrix.
				end := e.Select(e.same(was, e.int(0)), e.int(0), all)
				first := e.Mul(matrix, all)
				any := e.Loop(e.invocation(), end, e.int(e.local), []kernel.Value{e.int(0)},
					func(i kernel.Value, c []kernel.Value) []kernel.Value {
						return []kernel.Value{e.Or(c[0], e.Load(1, e.Add(first, i), 1)[0])}
					})[0]
				e.then(e.not(e.same(any, e.int(0))), func() { e.AddShared(found, e.int(0), e.int(1)) })
				e.Barrier()
				on = e.least(e.LoadShared(found, e.int(0)), e.int(1))
			}
			e.then(lead, func() { e.Store(0, e.Add(next, matrix), on) })
		})
		return nil
	}
	f.run(p)
}

// twice is a pair of temporaries of as many rows, which rounds write in turn.
func (f *jacobi) twice(cols int) [2]strided {
	half := f.count * f.padded * cols
	a := f.dense(f.temp(2*half*f.wide.Size()), f.padded, cols)
	a.elems *= 2
	b := a
	b.off += half
	return [2]strided{a, b}
}

// settle appends a copy of the one that was written last: every sweep has an odd
// number of rounds.
func (f *jacobi) settle(to strided, of [2]strided, cols int) {
	size := f.padded * cols
	p := &program{local: gpuLocal, groups: (f.count*size + gpuLocal - 1) / gpuLocal,
		bufs: []buffer{f.buffer(to, Write), f.buffer(of[0], Read), *f.flags(Read)}}
	p.nums = append([]int{f.count * size, size, cols, f.count, of[1].off}, places(to, of[0])...)
	p.key = fmt.Sprintf("settle %v", f.typ)
	p.body = func(e *emitter) error {
		all, size, cols, count, half := e.num(), e.num(), e.num(), e.num(), e.num()
		to, from := e.grid(0), e.grid(1)
		u := e.Add(e.Mul(e.group(), e.int(e.local)), e.invocation())
		e.then(e.below(u, all), func() {
			matrix, at := e.divide(u, size)
			sweeps := e.int(0)
			for s := range mostSweeps {
				sweeps = e.Add(sweeps, e.Load(2, e.Add(e.Mul(e.int(s), count), matrix), 1)[0])
			}
			from := from.of(matrix)
			from.off = e.Add(from.off, e.Mul(e.And(sweeps, 1), half))
			i, k := e.divide(at, cols)
			to.of(matrix).store(i, k, from.load(i, k))
		})
		return nil
	}
	f.run(p)
}
