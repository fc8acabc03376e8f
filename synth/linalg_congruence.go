package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// congruence appends W X W^H and W V for the rotations W of a round, block by
// block: a workgroup has a square of a pair of blocks of rows and one of columns.
// Rows, and the columns of X, take the seats of the next round. X and V are square
// and alternate between the halves of their buffers.
func (f *jacobi) congruence(x, v [2]strided, last, sweep int) {
	w := f.w
	w.batch = f.pairs * pairSide * pairSide
	c := &congruenceWriter{t: f.typ}
	p := &program{local: updateLocal, groups: 2 * f.count * f.pairs * f.pairs, body: c.write,
		flops: 6 * int64(f.count) * int64(f.padded*f.padded*pairSide),
		bufs: []buffer{f.buffer(w, Read), f.buffer(x[0], Read), f.buffer(x[0], Write),
			f.buffer(v[0], Read), f.buffer(v[0], Write), *f.flags(Read)}}
	p.nums = []int{f.count, f.pairs, sweep * f.count, x[last].off, x[1-last].off}
	p.key = fmt.Sprintf("congruence %v", f.typ)
	f.run(p)
}

// congruenceWriter writes the kernel. An invocation has four by four elements of
// a square, every eighth row and column.
type congruenceWriter struct{ t scalar.Type }

const congruencePer = pairSide / updateSide

// congruenceSquare is what is known of the square of a workgroup.
type congruenceSquare struct {
	arith
	rotations, square int // shared, with rows of one more
	row, column       kernel.Value
	pairs             kernel.Value
}

func (c *congruenceWriter) write(e *emitter) error {
	s := &congruenceSquare{arith: arith{e, c.t}}
	count, pairs, first, from, to := e.num(), e.num(), e.num(), e.num(), e.num()
	s.pairs = pairs
	s.rotations, s.square = e.Shared(c.t, pairSide*(pairSide+1)), e.Shared(c.t, pairSide*(pairSide+1))
	s.row, s.column = e.divide(e.invocation(), e.int(updateSide))
	matrix, at := e.divide(e.group(), e.Shl(e.Mul(pairs, pairs), 1))
	side, at := e.divide(at, e.Mul(pairs, pairs)) // 0 is X, 1 is V
	p, q := e.divide(at, pairs)
	active := e.below(matrix, count)
	word := e.Load(5, e.Select(active, e.Add(first, matrix), first), 1)[0]
	size := e.Mul(pairs, e.int(pairSide))
	base := e.Mul(matrix, e.Mul(size, size))
	both := e.same(side, e.int(0))
	e.when(e.both(active, e.not(e.same(word, e.int(0)))), func() {
		at := e.Add(from, e.Add(base, e.Mul(e.Add(e.Mul(p, size), q), e.int(pairSide))))
		element := func(buf int) func() []kernel.Value {
			return func() []kernel.Value {
				return s.each(func(i, k kernel.Value) kernel.Value {
					return e.loadElement(buf, e.Add(at, e.Add(e.Mul(i, size), k)))
				})
			}
		}
		s.put(s.square, e.If(both, element(1), element(3)))
		s.put(s.rotations, s.load(e.Add(e.Mul(matrix, pairs), p)))
		e.Barrier()
		sums := s.product(func(d, i kernel.Value) kernel.Value { return s.at(s.rotations, i, d) },
			func(d, k kernel.Value) kernel.Value { return s.at(s.square, d, k) })
		e.then(e.not(both), func() { s.store(4, e.Add(to, base), size, p, q, sums, false) })
		e.when(both, func() {
			next := s.load(e.Add(e.Mul(matrix, pairs), q))
			e.Barrier()
			s.put(s.square, sums)
			s.put(s.rotations, next)
			e.Barrier()
			sums := s.product(func(d, i kernel.Value) kernel.Value { return s.at(s.square, i, d) },
				func(d, k kernel.Value) kernel.Value { return s.conj(s.at(s.rotations, k, d)) })
			s.store(2, e.Add(to, base), size, p, q, sums, true)
		})
	})
	return nil
}

// each gives a value for every element of the invocation.
func (s *congruenceSquare) each(f func(i, k kernel.Value) kernel.Value) (vs []kernel.Value) {
	for u := range congruencePer * congruencePer {
		vs = append(vs, f(s.Add(s.row, s.int(u/congruencePer*updateSide)), s.Add(s.column, s.int(u%congruencePer*updateSide))))
	}
	return vs
}

// load reads rotations, of which those before take so many squares.
func (s *congruenceSquare) load(before kernel.Value) []kernel.Value {
	first := s.Mul(before, s.int(pairSide*pairSide))
	return s.each(func(i, k kernel.Value) kernel.Value {
		return s.loadElement(0, s.Add(first, s.Add(s.Mul(i, s.int(pairSide)), k)))
	})
}

// put writes elements to a shared square, at reads one of it.
func (s *congruenceSquare) put(array int, vs []kernel.Value) {
	s.each(func(i, k kernel.Value) kernel.Value {
		s.StoreShared(array, s.Add(s.Mul(i, s.int(pairSide+1)), k), vs[0])
		vs = vs[1:]
		return 0
	})
}

func (s *congruenceSquare) at(array int, i, k kernel.Value) kernel.Value {
	return s.LoadShared(array, s.Add(s.Mul(i, s.int(pairSide+1)), k))
}

// product sums, in order of d, products of what the two give for the rows and the
// columns of the invocation.
func (s *congruenceSquare) product(left, right func(d, i kernel.Value) kernel.Value) []kernel.Value {
	zeros := make([]kernel.Value, congruencePer*congruencePer)
	for u := range zeros {
		zeros[u] = s.number(0)
	}
	return s.Loop(s.int(0), s.int(pairSide), s.int(1), zeros, func(d kernel.Value, sums []kernel.Value) []kernel.Value {
		var as, bs, next []kernel.Value
		for i := range congruencePer {
			as = append(as, left(d, s.Add(s.row, s.int(i*updateSide))))
			bs = append(bs, right(d, s.Add(s.column, s.int(i*updateSide))))
		}
		for u, sum := range sums {
			next = append(next, s.fma(as[u/congruencePer], bs[u%congruencePer], sum))
		}
		return next
	})
}

// store writes the elements of square (p, q), rows to their seats, and where both
// is true columns as well.
func (s *congruenceSquare) store(buf int, first, size, p, q kernel.Value, vs []kernel.Value, both bool) {
	top, left := s.Mul(p, s.int(pairSide)), s.Mul(q, s.int(pairSide))
	rows, columns := seats{s.emitter, p, s.pairs, pairSide}, seats{s.emitter, q, s.pairs, pairSide}
	s.each(func(i, k kernel.Value) kernel.Value {
		i = s.Add(top, rows.of(i))
		if both {
			k = columns.of(k)
		}
		s.storeElement(buf, s.Add(first, s.Add(s.Mul(i, size), s.Add(left, k))), vs[0])
		vs = vs[1:]
		return 0
	})
}
