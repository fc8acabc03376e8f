package cholesky

import (
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
)

// factor finds the columns of a panel, one after the other, and takes each off
// those to its right. When half of the columns of an invocation are done, another
// loop goes on with the others alone; that of complex numbers, whose code is four
// times as long, goes on with all.
func (x *choleskyTile) factor(a []kernel.Value, own kernel.Value) {
	done := x.Index(0)
	for left := x.cols(); left > 0; {
		rounds := left
		if left == x.cols() && left > 1 && !x.T.Complex() {
			rounds = left / 2
		}
		end := x.Add(done, x.Index(rounds))
		a = x.Loop(done, end, x.Index(1), a, func(round kernel.Value, a []kernel.Value) []kernel.Value {
			a = x.Loop(x.Index(0), x.Index(choleskyAcross), x.Index(1), a, func(q kernel.Value, a []kernel.Value) []kernel.Value {
				return x.pivot(a, left, round, q)
			})
			x.publish(round, own)
			return x.rotate(a, left)
		})
		a = x.drop(a, left, left-rounds)
		done, left = end, left-rounds
	}
}

// rotate moves the columns of an invocation up by one; the first, which is done,
// comes last.
func (x *choleskyTile) rotate(a []kernel.Value, left int) (next []kernel.Value) {
	for ; len(a) > 0; a = a[left:] {
		next = append(append(next, a[1:left]...), a[0])
	}
	return next
}

// drop keeps so many columns of those that are left.
func (x *choleskyTile) drop(a []kernel.Value, left, keep int) (next []kernel.Value) {
	for ; len(a) > 0; a = a[left:] {
		next = append(next, a[:keep]...)
	}
	return next
}

// shared is where the columns of a round are in shared memory, before they are
// divided. Two rounds take turns, so that one barrier a column suffices.
func (x *choleskyTile) shared(round, q kernel.Value) kernel.Value {
	return x.Mul(x.Add(x.Mul(x.And(round, 1), x.Index(choleskyAcross)), q), x.Index(2*x.wide))
}

// pivot finds the column of the panel that is the first of invocations q, and
// takes it off the columns that are left, where those before it are of no use any
// more. Under a negative pivot there is NaN; under one that is 0, zeros stay, as
// on the host.
func (x *choleskyTile) pivot(a []kernel.Value, left int, round, q kernel.Value) []kernel.Value {
	from := x.shared(round, q)
	x.IfThen(x.IsEqual(x.column, q), func() {
		for r := range choleskyPer {
			x.StoreShared(x.as, x.Add(from, x.Add(x.row, x.Index(r*x.down()))), a[r*left])
		}
	})
	x.Barrier()
	first := x.Add(from, x.Mul(round, x.Index(choleskyAcross)))
	d := x.LoadShared(x.as, x.Add(first, q))
	none, inverse := x.Zero(d), x.InversePivotRoot(d)
	finite := x.Select(none, x.Number(1), inverse)
	cols := make([]kernel.Value, left)
	for k := range cols {
		v := x.LoadShared(x.as, x.Add(first, x.Add(x.column, x.Index(k*choleskyAcross))))
		cols[k] = factor.Conj(x.Arith.Emitter, x.Mul(v, finite))
	}
	rows := make([]kernel.Value, choleskyPer)
	for r := range rows {
		v := x.LoadShared(x.as, x.Add(from, x.Add(x.row, x.Index(r*x.down()))))
		rows[r] = x.divided(v, none, inverse)
	}
	return x.outer(rows, cols, a)
}

// divided is an element of l, where none says that the pivot is 0.
func (x *choleskyTile) divided(v, none, inverse kernel.Value) kernel.Value {
	return x.Select(x.And2(none, x.Zero(v)), v, x.Mul(v, inverse))
}

// publish writes the columns of a round to l, neighbours by neighbours.
func (x *choleskyTile) publish(round, own kernel.Value) {
	from := x.shared(round, x.column)
	c := x.Add(x.Mul(round, x.Index(choleskyAcross)), x.column)
	d := x.LoadShared(x.as, x.Add(from, c))
	none, inverse, root := x.Zero(d), x.InversePivotRoot(d), x.PivotRoot(d)
	square, col := x.IsEqual(own, x.top), x.Add(x.top, c)
	half := choleskyPer / 2
	for r := range half {
		at := x.Add(x.row, x.Index(r*x.down()))
		row := x.place(half + r)
		v := x.divided(x.LoadShared(x.as, x.Add(from, x.Add(at, x.Index(x.wide)))), none, inverse)
		on := x.Select(x.IsLess(at, c), x.Number(0), x.Select(x.IsEqual(at, c), root, v))
		v = x.Select(square, on, v)
		x.IfThen(x.And2(x.IsLess(row, x.n), x.IsLess(col, x.n)), func() { x.l.Store(row, col, v) })
	}
}
