package lu

import (
	"math"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// factor eliminates the columns of the panel. Rows stay in the registers where
// they are: the exchanges change their places alone. The columns of a row go around, as
// those of factor.PanelRows do, so that a kernel has one copy of the step.
func (l *luPart) factor(s luState) luState {
	out := l.Loop(l.Index(0), l.Index(l.Wide), l.Index(1), s.values(), func(k kernel.Value, v []kernel.Value) []kernel.Value {
		next := l.eliminate(l.state(v), k, l.Add(l.first, k))
		for r, row := range next.a {
			next.a[r] = append(row[1:len(row):len(row)], row[0])
		}
		return next.values()
	})
	return l.state(out)
}

// eliminate is the panel without what its k-th column, column c of the block and the first
// in the registers, makes of those to its right. A column without a pivot is left as it is.
func (l *luPart) eliminate(s luState, k, c kernel.Value) luState {
	place := l.findPivot(s, c)
	for r, row := range s.a {
		l.IfThen(l.And2(l.inside[r], l.IsEqual(s.at[r], place)), func() {
			for i, v := range row {
				l.StoreShared(l.pivot, l.Index(i), v)
			}
		})
	}
	l.Barrier()
	pivot, right := make([]kernel.Value, l.Wide), make([]kernel.Value, l.Wide)
	for i := range pivot {
		pivot[i] = l.LoadShared(l.pivot, l.Index(i))
		right[i] = l.IsLess(l.Add(k, l.Index(i)), l.Index(l.Wide))
	}
	solvable := l.Not(l.Zero(pivot[0]))
	next := luState{sign: l.Select(l.IsEqual(place, c), s.sign, l.Neg(s.sign))}
	for r, row := range s.a {
		at := l.Select(l.IsEqual(s.at[r], place), c, l.Select(l.IsEqual(s.at[r], c), place, s.at[r]))
		next.a = append(next.a, l.If(l.And2(solvable, l.IsLess(c, at)), func() []kernel.Value {
			q := l.Over(row[0], pivot[0])
			els := []kernel.Value{q}
			for i := 1; i < l.Wide; i++ {
				els = append(els, l.Select(right[i], l.Less(q, pivot[i], row[i]), row[i]))
			}
			return els
		}, func() []kernel.Value { return row }))
		next.at = append(next.at, at)
	}
	return next
}

// share declares the shared arrays of the search.
func (l *luPart) share() {
	l.sizes, l.places = l.Shared(l.Panel.T.Part(), 2*l.Local), l.Shared(scalar.U32, 2*l.Local)
}

// findPivot is the place of the element of the first column in the registers, from the
// diagonal, c, on, of the largest magnitude, the first of equals; c where the column is beyond
// the matrix. As on the host, NaN is a pivot where it is on the diagonal, and none
// elsewhere. Candidates are compared in shared memory, some at a time: NVIDIA's driver
// made wrong code of a search by maxima of subgroups in large workgroups.
func (l *luPart) findPivot(s luState, c kernel.Value) kernel.Value {
	best := l.candidate(s, c)
	l.keep(l.me, best)
	n, from := l.Local, 0
	for ; n > luLast; n, from = n/luLast, from+n {
		part := n / luLast
		l.Barrier()
		l.IfThen(l.IsLess(l.me, l.Index(part)), func() {
			l.keep(l.Add(l.me, l.Index(from+n)), l.best(l.Add(l.me, l.Index(from)), luLast, part))
		})
	}
	l.Barrier()
	return l.best(l.Index(from), n, 1).place
}

// candidate is the best of the rows of the invocation.
func (l *luPart) candidate(s luState, c kernel.Value) luBest {
	best := luBest{l.Real(-1), c}
	for r, row := range s.a {
		size, at := l.Abs(row[0]), s.at[r]
		isNaN := l.Compare(scalar.Ne, size, size)
		first := l.IsEqual(at, c)
		eligible := l.And2(l.And2(l.inside[r], l.Compare(scalar.Le, c, at)), l.Or2(first, l.Not(isNaN)))
		size = l.Select(isNaN, l.Real(math.Inf(1)), size)
		best = l.better(best, luBest{l.Select(eligible, size, l.Real(-1)), l.Select(eligible, at, c)})
	}
	return best
}

// luLast is how many candidates an invocation looks at.
const luLast = 8

// luBest is a candidate for the pivot.
type luBest struct{ size, place kernel.Value }

// better is the larger of two, or the first of equals.
func (l *luPart) better(x, y luBest) luBest {
	larger := l.Or2(l.Compare(scalar.Lt, x.size, y.size),
		l.And2(l.Compare(scalar.Eq, x.size, y.size), l.IsLess(y.place, x.place)))
	return luBest{l.Select(larger, y.size, x.size), l.Select(larger, y.place, x.place)}
}

// keep writes a candidate to shared memory, and best is the best of n there, which
// lie some elements apart.
func (l *luPart) keep(at kernel.Value, b luBest) {
	l.StoreShared(l.sizes, at, b.size)
	l.StoreShared(l.places, at, b.place)
}

func (l *luPart) best(first kernel.Value, n, apart int) luBest {
	var list []luBest
	for i := range n {
		at := l.Add(first, l.Index(i*apart))
		list = append(list, luBest{l.LoadShared(l.sizes, at), l.LoadShared(l.places, at)})
	}
	for ; len(list) > 1; list = list[:(len(list)+1)/2] {
		half := (len(list) + 1) / 2
		for i := range len(list) / 2 {
			list[i] = l.better(list[i], list[half+i])
		}
	}
	return list[0]
}
