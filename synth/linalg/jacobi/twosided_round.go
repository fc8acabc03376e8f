package jacobi

import (
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/scalar"
)

// twoSidedWriter writes the kernels of twoSided: a workgroup has a square of a pair
// of blocks of rows and one of columns, an invocation a square of its elements.
type twoSidedWriter struct {
	t    scalar.Type
	side int // rows of a pair of blocks
}

// twoSidedStep is what a kernel works on. Shared squares are by the index that is
// summed over and then along the tile.
type twoSidedStep struct {
	factor.Arith
	side         int  // rows of a pair of blocks
	dense        bool // an invocation has neighbours, and moves four at a time
	a, b         int  // shared squares
	row, column  kernel.Value
	count, pairs kernel.Value
	size         kernel.Value // of a matrix
	from, to     kernel.Value // parities
	ends         kernel.Value // whether a sweep does
	r            *rotation
}

// step takes the first numbers. In f64 neighbours of an invocation would meet
// those of others in a bank.
func (w *twoSidedWriter) step(e *codegen.Emitter) *twoSidedStep {
	x := &twoSidedStep{Arith: factor.Arith{Emitter: e, T: w.t}, side: w.side, dense: w.t == scalar.F32, count: e.NextNumber(), pairs: e.NextNumber()}
	x.a, x.b = e.Shared(w.t, x.side*x.line()), e.Shared(w.t, x.side*x.line())
	x.row, x.column = e.DivMod(e.Invocation(), e.Index(factor.UpdateSide))
	x.size = e.Mul(x.pairs, e.Index(x.side))
	x.r = &rotation{Arith: x.Arith, side: x.side, s: x.b, w: x.a}
	x.r.share()
	return x
}

// per is how many elements an invocation has in a row and in a column of a square.
func (x *twoSidedStep) per() int { return x.side / factor.UpdateSide }

// line is how far rows of a shared square lie apart.
func (x *twoSidedStep) line() int {
	if x.dense {
		return x.side + 4
	}
	return x.side + 1
}

// round writes the kernel of a round. Workgroups that find rotations, which take
// longest, come first; then those of X and those of V.
func (w *twoSidedWriter) round(e *codegen.Emitter) error {
	x := w.step(e)
	first := e.NextNumber()
	x.from = e.NextNumber()
	x.to = e.Sub(e.Index(1), x.from)
	x.ends = e.IsEqual(e.NextNumber(), e.Index(1))
	goes := e.NextNumber()
	one, pairs := e.Index(1), x.pairs
	above := e.Shr(e.Mul(pairs, e.Sub(pairs, one)), 1)
	words := e.Add(pairs, above)
	matrix, at := e.DivMod(e.Group(), e.Add(words, e.Mul(pairs, pairs)))
	there := e.IsLess(matrix, x.count)
	verdict := e.Load(verdicts, e.Select(there, e.Add(first, matrix), first), 1)[0]
	active := e.And2(there, e.Not(e.IsEqual(verdict, e.Index(0))))
	turning, ofX := e.IsLess(at, pairs), e.IsLess(at, words)
	word := e.Add(e.Mul(matrix, words), at)
	e.When(e.And2(active, turning), func() { x.findRotations(matrix, at, goes, word) })
	e.When(e.And2(active, e.Not(turning)), func() {
		p, q := x.square(e.Sub(at, pairs))
		i, k := e.DivMod(e.Sub(at, words), pairs)
		p, q = e.Select(ofX, p, i), e.Select(ofX, q, k)
		sums, next := x.left(matrix, p, q, ofX)
		e.When(ofX, func() { x.right(matrix, p, q, word, sums, next) })
		e.When(e.Not(ofX), func() { x.storeV(matrix, p, q, sums) })
	})
	return nil
}

// square numbers the squares above the diagonal. A row from above and one from
// below have together as many as the first.
func (x *twoSidedStep) square(at kernel.Value) (p, q kernel.Value) {
	one := x.Index(1)
	line := x.Sub(x.pairs, one)
	i, k := x.DivMod(at, x.Select(x.IsEqual(line, x.Index(0)), one, line)) // of one pair there is none
	short := x.Sub(line, i)
	upper := x.IsLess(k, short)
	return x.Select(upper, i, short), x.Add(x.Select(upper, x.Add(i, k), k), one)
}

// turnsAt is where the rotations of a pair are; a square further is what the pair
// has become.
func (x *twoSidedStep) turnsAt(parity, matrix, pair kernel.Value) kernel.Value {
	before := x.Add(x.Mul(x.Add(x.Mul(parity, x.count), matrix), x.pairs), pair)
	return x.Mul(before, x.Index(2*x.side*x.side))
}

// start is where a matrix X or V begins.
func (x *twoSidedStep) start(parity, matrix kernel.Value) kernel.Value {
	return x.Mul(x.Add(x.Mul(parity, x.count), matrix), x.Mul(x.size, x.size))
}

// along is the r-th of so many elements of an invocation in a direction.
func (x *twoSidedStep) along(me kernel.Value, r, of int) kernel.Value {
	if x.dense {
		return x.Add(x.Mul(me, x.Index(of)), x.Index(r))
	}
	return x.Add(me, x.Index(r*factor.UpdateSide))
}

// each calls f for the elements of the invocation in rows by columns of a square.
func (x *twoSidedStep) each(rows, columns int, f func(i, k kernel.Value)) {
	rows, columns = rows/factor.UpdateSide, columns/factor.UpdateSide
	for r := range rows {
		for c := range columns {
			f(x.along(x.row, r, rows), x.along(x.column, c, columns))
		}
	}
}

// load reads the elements of a square; at is where element (i, k) is.
func (x *twoSidedStep) load(buf int, at func(i, k kernel.Value) kernel.Value) (vs []kernel.Value) {
	if !x.dense {
		x.each(x.side, x.side, func(i, k kernel.Value) { vs = append(vs, factor.LoadElement(x.Arith.Emitter, buf, at(i, k))) })
		return vs
	}
	for r := range x.per() {
		first := at(x.along(x.row, r, x.per()), x.along(x.column, 0, x.per()))
		vs = append(vs, x.Load(buf, x.Shr(first, 2), x.per())...)
	}
	return vs
}

// store writes them.
func (x *twoSidedStep) store(buf int, vs []kernel.Value, at func(i, k kernel.Value) kernel.Value) {
	if !x.dense {
		x.each(x.side, x.side, func(i, k kernel.Value) {
			factor.StoreElement(x.Arith.Emitter, buf, at(i, k), vs[0])
			vs = vs[1:]
		})
		return
	}
	for r := range x.per() {
		first := at(x.along(x.row, r, x.per()), x.along(x.column, 0, x.per()))
		x.Store(buf, x.Shr(first, 2), vs[r*x.per():(r+1)*x.per()]...)
	}
}

// part reads square (p, q) of the matrix that begins at start, rotations those of a pair.
func (x *twoSidedStep) part(buf int, start, p, q kernel.Value) []kernel.Value {
	first := x.Add(start, x.Mul(x.Add(x.Mul(p, x.size), q), x.Index(x.side)))
	return x.load(buf, func(i, k kernel.Value) kernel.Value { return x.Add(first, x.Add(x.Mul(i, x.size), k)) })
}

func (x *twoSidedStep) rotations(matrix, p kernel.Value) []kernel.Value {
	first := x.turnsAt(x.from, matrix, p)
	return x.load(oldTurns, func(i, k kernel.Value) kernel.Value { return x.Add(first, x.Add(x.Mul(i, x.Index(x.side)), k)) })
}

// put writes so many rows of a square to a shared one, flip transposed.
func (x *twoSidedStep) put(array, rows int, vs []kernel.Value) {
	x.each(rows, x.side, func(i, k kernel.Value) {
		x.StoreShared(array, x.Add(x.Mul(i, x.Index(x.line())), k), vs[0])
		vs = vs[1:]
	})
}

func (x *twoSidedStep) flip(array, rows int, vs []kernel.Value) {
	x.each(rows, x.side, func(i, k kernel.Value) {
		x.StoreShared(array, x.Add(x.Mul(k, x.Index(x.line())), i), vs[0])
		vs = vs[1:]
	})
}

// multiplier is a shared square of a product: columns of it from one on, or of its
// conjugates.
type multiplier struct {
	array, columns, from int
	conj                 bool
}

// product sums, in order, products of rows of a transposed square and of columns.
func (x *twoSidedStep) product(left, rows int, right multiplier) []kernel.Value {
	rows, columns := rows/factor.UpdateSide, right.columns/factor.UpdateSide
	zeros := make([]kernel.Value, rows*columns)
	for u := range zeros {
		zeros[u] = x.Number(0)
	}
	return x.Loop(x.Index(0), x.Index(x.side*x.line()), x.Index(x.line()), zeros, func(at kernel.Value, sums []kernel.Value) []kernel.Value {
		var as, bs, next []kernel.Value
		for r := range rows {
			as = append(as, x.LoadShared(left, x.Add(at, x.along(x.row, r, rows))))
		}
		for c := range columns {
			b := x.LoadShared(right.array, x.Add(at, x.Add(x.Index(right.from), x.along(x.column, c, columns))))
			if right.conj {
				b = factor.Conj(x.Arith.Emitter, b)
			}
			bs = append(bs, b)
		}
		for u, sum := range sums {
			next = append(next, x.Fma(as[u/columns], bs[u%columns], sum))
		}
		return next
	})
}

// left is W X of square (p, q), or W V: a kernel has one copy of the product. It
// also gives the rotations of q, which X is to be multiplied by next.
func (x *twoSidedStep) left(matrix, p, q, ofX kernel.Value) (sums, next []kernel.Value) {
	start, n := x.start(x.from, matrix), x.per()*x.per()
	both := x.If(ofX, func() []kernel.Value { return append(x.part(oldX, start, p, q), x.rotations(matrix, q)...) },
		func() []kernel.Value {
			vs := x.part(oldV, start, p, q)
			for range n {
				vs = append(vs, x.Number(0))
			}
			return vs
		})
	square, w := both[:n:n], x.rotations(matrix, p)
	x.put(x.b, x.side, square)
	x.flip(x.a, x.side, w)
	x.Barrier()
	return x.product(x.a, x.side, multiplier{array: x.b, columns: x.side}), both[n:]
}

// right computes square (p, q) of X, W X W^H, of the sums W X and the rotations of q.
func (x *twoSidedStep) right(matrix, p, q, word kernel.Value, sums, next []kernel.Value) {
	x.Barrier()
	x.flip(x.a, x.side, sums)
	x.flip(x.b, x.side, next)
	x.Barrier()
	sums = x.product(x.a, x.side, multiplier{array: x.b, columns: x.side, conj: true})
	rows, columns := x.seats(p), x.seats(q)
	x.storeAbove(x.start(x.to, matrix), sums, rows, columns)
	x.When(x.ends, func() { x.report(matrix, word, sums) })
}

// storeV writes square (p, q) of V.
func (x *twoSidedStep) storeV(matrix, p, q kernel.Value, sums []kernel.Value) {
	to, rows := x.Add(x.start(x.to, matrix), x.Mul(q, x.Index(x.side))), x.seats(p)
	x.store(newV, sums, func(i, k kernel.Value) kernel.Value { return x.Add(to, x.Add(x.Mul(rows(i), x.size), k)) })
}

// seats gives the row in the next round of row r of a pair.
func (x *twoSidedStep) seats(p kernel.Value) func(r kernel.Value) kernel.Value {
	s, first := factor.Seats{Emitter: x.Emitter, Table: p, Players: x.pairs, Side: x.side}, x.Mul(p, x.Index(x.side))
	return func(r kernel.Value) kernel.Value { return x.Add(first, s.Of(r)) }
}

// storeAbove writes a square of Hermitian X to its seats above the diagonal.
func (x *twoSidedStep) storeAbove(start kernel.Value, vs []kernel.Value, rows, columns func(r kernel.Value) kernel.Value) {
	if !x.dense {
		x.each(x.side, x.side, func(i, k kernel.Value) {
			x.storeElementAbove(start, rows(i), columns(k), vs[0])
			vs = vs[1:]
		})
		return
	}
	i, k := rows(x.along(x.row, 0, x.per())), columns(x.along(x.column, 0, x.per()))
	upper := x.IsLess(i, k) // all of it: neighbours stay neighbours
	low := x.Min(i, k)
	high := x.Sub(x.Add(i, k), low)
	for r := range x.per() {
		var line []kernel.Value
		for c := range x.per() {
			line = append(line, x.Select(upper, vs[r*x.per()+c], vs[c*x.per()+r]))
		}
		at := x.Add(start, x.Add(x.Mul(x.Add(low, x.Index(r)), x.size), high))
		x.Store(newX, x.Shr(at, 2), line...)
	}
}

func (x *twoSidedStep) storeElementAbove(start, i, k, v kernel.Value) {
	low := x.Min(i, k)
	high := x.Sub(x.Add(i, k), low)
	factor.StoreElement(x.Arith.Emitter, newX, x.Add(start, x.Add(x.Mul(low, x.size), high)), x.Select(x.IsLess(i, k), v, factor.Conj(x.Arith.Emitter, v)))
}

// report writes whether a workgroup found something to rotate, or has elements off
// the diagonal that are more than nothing.
func (x *twoSidedStep) report(matrix, word kernel.Value, vs []kernel.Value) {
	zero, bound := x.Index(0), x.Re(factor.LoadElement(x.Arith.Emitter, nothing, matrix))
	more := x.IsEqual(zero, x.Index(1))
	is := func(v kernel.Value) kernel.Value { return x.Compare(scalar.Lt, bound, x.Abs(v)) }
	if x.T.Complex() {
		// The magnitude of a complex number is long code: the elements go around.
		all := append([]kernel.Value{zero}, vs...)
		found := x.Loop(zero, x.Index(len(vs)), x.Index(1), all, func(_ kernel.Value, c []kernel.Value) []kernel.Value {
			return append(append([]kernel.Value{x.Select(is(c[1]), x.Index(1), c[0])}, c[2:]...), c[1])
		})[0]
		more, vs = x.IsEqual(found, x.Index(1)), nil
	}
	for _, v := range vs {
		more = x.Or2(more, is(v))
	}
	x.Barrier() // all have read the count of the last sweep
	x.IfThen(more, func() { x.AddShared(x.r.rotated, zero, x.Index(1)) })
	x.Barrier()
	x.IfThen(x.IsEqual(x.Invocation(), zero), func() { x.Store(remains, word, x.LoadShared(x.r.rotated, zero)) })
}
