package jacobi

import (
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
)

// begin writes the kernel that finds the rotations of the first round, of X as it is.
func (w *twoSidedWriter) begin(e *codegen.Emitter) error {
	x := w.step(e)
	x.from, x.to = e.Index(0), e.Index(0)
	matrix, p := e.DivMod(e.Group(), x.pairs)
	e.When(e.IsLess(matrix, x.count), func() {
		x.startRotation(x.part(oldX, x.start(x.from, matrix), p, p))
		x.rotate(matrix, p, e.Index(1), e.IsEqual(e.Index(0), e.Index(0)))
	})
	return nil
}

// startRotation puts a square where it is rotated, and the identity beside it.
func (x *twoSidedStep) startRotation(square []kernel.Value) {
	x.each(x.side, x.side, func(i, k kernel.Value) {
		x.StoreShared(x.r.s, x.r.at(i, k), square[0])
		x.StoreShared(x.r.w, x.r.at(i, k), x.Select(x.IsEqual(i, k), x.Number(1), x.Number(0)))
		square = square[1:]
	})
}

// rotate finds the rotations of pair p, for some sweeps, and writes them and what
// they make of the square. The first round of a sweep meets all rows, the others
// those of one block with those of the other.
func (x *twoSidedStep) rotate(matrix, p, sweeps, first kernel.Value) {
	r := x.r
	r.cross, r.rounds = x.Not(first), x.Select(first, x.Index(x.side-1), x.Index(x.side/2))
	r.bound = x.Re(factor.LoadElement(x.Arith.Emitter, nothing, matrix))
	r.sweepAll(sweeps)
	to := x.turnsAt(x.to, matrix, p)
	for e, array := range []int{r.w, r.s} {
		var vs []kernel.Value
		x.each(x.side, x.side, func(i, k kernel.Value) { vs = append(vs, x.LoadShared(array, r.at(i, k))) })
		x.store(newTurns, vs, func(i, k kernel.Value) kernel.Value {
			return x.Add(to, x.Add(x.Index(e*x.side*x.side), x.Add(x.Mul(i, x.Index(x.side)), k)))
		})
	}
	x.IfThen(x.IsLess(x.Invocation(), x.Index(x.side)), func() {
		at := x.Add(x.Mul(matrix, x.size), x.Add(x.Mul(p, x.Index(x.side)), x.Invocation()))
		factor.StoreElement(x.Arith.Emitter, diagonal, at, x.Re(x.LoadShared(r.s, r.at(x.Invocation(), x.Invocation()))))
	})
}

// half is which rows of a square of the last round are a block of a pair now: of
// pair table, from row on.
type half struct{ table, row kernel.Value }

// halves are those that pair p meets, after which blocks have taken their seats.
func (x *twoSidedStep) halves(p kernel.Value) (top, bottom half) {
	zero, one, middle := x.Index(0), x.Index(1), x.Index(x.side/2)
	start, last := x.IsLess(p, x.Index(2)), x.IsEqual(x.Add(p, one), x.pairs)
	// The upper block of the second table was below in the first.
	top = half{x.Select(start, zero, x.Sub(p, one)), x.Select(x.IsEqual(p, one), middle, zero)}
	bottom = half{x.Select(last, p, x.Add(p, one)), x.Select(last, zero, middle)}
	return top, bottom
}

// findRotations finds the rotations of pair p of the next round, whose square is
//
//	[ A   C ]   A, B of what two pairs have become
//	[ C^H B ]   C = W_a X_ab W_b^H of the rows that meet
func (x *twoSidedStep) findRotations(matrix, p, goes, word kernel.Value) {
	middle := x.side / 2
	top, bottom := x.halves(p)
	a, b := x.turnsAt(x.from, matrix, top.table), x.turnsAt(x.from, matrix, bottom.table)
	home := func(i kernel.Value) (at, row kernel.Value) { // where row i comes from
		upper := x.IsLess(i, x.Index(middle))
		return x.Select(upper, a, b), x.Select(upper, x.Add(top.row, i), x.Add(bottom.row, x.Sub(i, x.Index(middle))))
	}
	square := x.part(oldX, x.start(x.from, matrix), top.table, bottom.table)
	w := x.load(oldTurns, func(i, k kernel.Value) kernel.Value {
		at, row := home(i)
		return x.Add(at, x.Add(x.Mul(row, x.Index(x.side)), k))
	})
	// Of A and B; what lies beside them is not used.
	stays := x.load(oldTurns, func(i, k kernel.Value) kernel.Value {
		at, row := home(i)
		_, column := home(k)
		return x.Add(x.Add(at, x.Index(x.side*x.side)), x.Add(x.Mul(row, x.Index(x.side)), column))
	})
	parted := x.parted(matrix, p)
	x.put(x.b, x.side, square)
	x.flip(x.a, x.side, w)
	x.Barrier()
	sums := x.product(x.a, middle, multiplier{array: x.b, columns: x.side})
	x.Barrier()
	x.flip(x.b, middle, sums)
	x.Barrier()
	sums = x.product(x.b, middle, multiplier{array: x.a, columns: middle, from: middle, conj: true})
	x.Barrier()
	x.startRotation(stays)
	x.Barrier() // C takes the place of what was not used
	x.each(middle, middle, func(i, k kernel.Value) {
		k = x.Add(k, x.Index(middle))
		x.StoreShared(x.r.s, x.r.at(i, k), sums[0])
		x.StoreShared(x.r.s, x.r.at(k, i), factor.Conj(x.Arith.Emitter, sums[0]))
		sums = sums[1:]
	})
	x.rotate(matrix, p, goes, x.ends)
	x.When(x.ends, func() { x.report(matrix, word, parted) })
}

// parted writes, and gives, what of the square that pair p has become is not on
// the diagonal in the next round: the products of its blocks, which part.
func (x *twoSidedStep) parted(matrix, p kernel.Value) (vs []kernel.Value) {
	middle := x.side / 2
	at := x.Add(x.turnsAt(x.from, matrix, p), x.Index(x.side*x.side+middle))
	start, seat := x.start(x.to, matrix), x.seats(p)
	x.each(middle, middle, func(i, k kernel.Value) {
		vs = append(vs, factor.LoadElement(x.Arith.Emitter, oldTurns, x.Add(at, x.Add(x.Mul(i, x.Index(x.side)), k))))
	})
	rest := vs
	x.each(middle, middle, func(i, k kernel.Value) {
		x.storeElementAbove(start, seat(i), seat(x.Add(k, x.Index(middle))), rest[0])
		rest = rest[1:]
	})
	return vs
}
