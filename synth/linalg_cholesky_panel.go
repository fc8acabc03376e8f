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
			for q := range choleskyAcross {
				a = x.pivot(a, left, round, q, own)
			}
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

// pivot finds the column of the panel that is the first of invocations q, and
// takes it off the columns that are left, where those before it are of no use any
// more. Under a negative pivot there is NaN; under one that is 0, zeros stay, as
// on the host.
func (x *choleskyTile) pivot(a []kernel.Value, left int, round kernel.Value, q int, own kernel.Value) []kernel.Value {
	// Two columns take turns, so that one barrier suffices.
	buffer := q % 2 * 4 * x.wide
	x.then(x.same(x.column, x.int(q)), func() {
		for r := range choleskyPer {
			x.StoreShared(x.as, x.Add(x.int(buffer+r*x.down()), x.row), a[r*left])
		}
	})
	x.Barrier()
	first := x.Mul(round, x.int(choleskyAcross))
	d := x.LoadShared(x.as, x.Add(first, x.int(buffer+q)))
	cols := make([]kernel.Value, left)
	for k := range cols {
		cols[k] = x.LoadShared(x.as, x.Add(x.Add(first, x.column), x.int(buffer+k*choleskyAcross)))
	}
	root := x.sqrt(d)
	inverse := x.over(x.number(1), root)
	none := x.zero(root)
	finite := x.Select(none, x.number(1), inverse)
	for k := range cols {
		cols[k] = x.Mul(cols[k], finite)
	}
	rows := make([]kernel.Value, choleskyPer)
	for r := range rows {
		v := x.LoadShared(x.as, x.Add(x.int(buffer+r*x.down()), x.row))
		rows[r] = x.Select(x.both(none, x.zero(v)), v, x.Mul(v, inverse))
	}
	x.publish(rows, x.Add(first, x.int(q)), q, root, own)
	return x.outer(rows, cols, a)
}

// publish writes a column of the panel to l, from the invocations that have it.
func (x *choleskyTile) publish(rows []kernel.Value, c kernel.Value, q int, root, own kernel.Value) {
	col := x.Add(x.top, c)
	square := x.same(own, x.top)
	x.then(x.both(x.same(x.column, x.int(q)), x.below(col, x.n)), func() {
		half := choleskyPer / 2
		for r := range half {
			row := x.place(half + r)
			at := x.Sub(row, own)
			v := x.Select(x.below(at, c), x.number(0), x.Select(x.same(at, c), root, rows[r]))
			v = x.Select(square, v, rows[half+r])
			x.then(x.below(row, x.n), func() { x.l.store(row, col, v) })
		}
	})
}
