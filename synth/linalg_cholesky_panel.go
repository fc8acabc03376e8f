package synth

import "nxvk/synth/kernel"

// factor finds the columns of a panel, one after the other, and takes each off
// those to its right. When half of the columns of an invocation are done, another
// loop goes on with the others alone.
func (x *choleskyTile) factor(a []kernel.Value, own kernel.Value) {
	done := x.int(0)
	for left := x.cols(); left > 0; {
		rounds := max(1, left/2)
		end := x.Add(done, x.int(rounds))
		a = x.Loop(done, end, x.int(1), a, func(round kernel.Value, a []kernel.Value) []kernel.Value {
			a = x.Loop(x.int(0), x.int(choleskyAcross), x.int(1), a, func(q kernel.Value, a []kernel.Value) []kernel.Value {
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
	return x.Mul(x.Add(x.Mul(x.And(round, 1), x.int(choleskyAcross)), q), x.int(2*x.wide))
}

// pivot finds the column of the panel that is the first of invocations q, and
// takes it off the columns that are left, where those before it are of no use any
// more. Under a negative pivot there is NaN; under one that is 0, zeros stay, as
// on the host.
func (x *choleskyTile) pivot(a []kernel.Value, left int, round, q kernel.Value) []kernel.Value {
	from := x.shared(round, q)
	x.then(x.same(x.column, q), func() {
		for r := range choleskyPer {
			x.StoreShared(x.as, x.Add(from, x.Add(x.row, x.int(r*x.down()))), a[r*left])
		}
	})
	x.Barrier()
	first := x.Add(from, x.Mul(round, x.int(choleskyAcross)))
	d := x.LoadShared(x.as, x.Add(first, q))
	none, inverse := x.zero(d), x.inversePivotRoot(d)
	finite := x.Select(none, x.number(1), inverse)
	cols := make([]kernel.Value, left)
	for k := range cols {
		v := x.LoadShared(x.as, x.Add(first, x.Add(x.column, x.int(k*choleskyAcross))))
		cols[k] = x.conj(x.Mul(v, finite))
	}
	rows := make([]kernel.Value, choleskyPer)
	for r := range rows {
		v := x.LoadShared(x.as, x.Add(from, x.Add(x.row, x.int(r*x.down()))))
		rows[r] = x.divided(v, none, inverse)
	}
	return x.outer(rows, cols, a)
}

// divided is an element of l, where none says that the pivot is 0.
func (x *choleskyTile) divided(v, none, inverse kernel.Value) kernel.Value {
	return x.Select(x.both(none, x.zero(v)), v, x.Mul(v, inverse))
}

// publish writes the columns of a round to l, neighbours by neighbours.
func (x *choleskyTile) publish(round, own kernel.Value) {
	from := x.shared(round, x.column)
	c := x.Add(x.Mul(round, x.int(choleskyAcross)), x.column)
	d := x.LoadShared(x.as, x.Add(from, c))
	none, inverse, root := x.zero(d), x.inversePivotRoot(d), x.pivotRoot(d)
	square, col := x.same(own, x.top), x.Add(x.top, c)
	half := choleskyPer / 2
	for r := range half {
		at := x.Add(x.row, x.int(r*x.down()))
		row := x.place(half + r)
		v := x.divided(x.LoadShared(x.as, x.Add(from, x.Add(at, x.int(x.wide)))), none, inverse)
		on := x.Select(x.below(at, c), x.number(0), x.Select(x.same(at, c), root, v))
		v = x.Select(square, on, v)
		x.then(x.both(x.below(row, x.n), x.below(col, x.n)), func() { x.l.store(row, col, v) })
	}
}
