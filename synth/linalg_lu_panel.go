package synth

import (
	"math"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// factor eliminates the columns of the panel. Rows stay in the registers where
// they are: the exchanges change their places alone.
func (l *luPart) factor(s luState) luState {
	for k := range l.wide {
		s = l.eliminated(s, k, l.Add(l.first, l.int(k)))
	}
	return s
}

// eliminated is the panel without what its k-th column, column c of the block,
// makes of those to its right. A column without a pivot is left as it is.
func (l *luPart) eliminated(s luState, k int, c kernel.Value) luState {
	place := l.findPivot(s, k, c)
	for r, row := range s.a {
		l.then(l.both(l.inside[r], l.same(s.at[r], place)), func() {
			for i := k; i < l.wide; i++ {
				l.StoreShared(l.pivot, l.int(i), row[i])
			}
		})
	}
	l.Barrier()
	pivot := make([]kernel.Value, l.wide)
	for i := k; i < l.wide; i++ {
		pivot[i] = l.LoadShared(l.pivot, l.int(i))
	}
	solvable := l.not(l.zero(pivot[k]))
	next := luState{sign: l.Select(l.same(place, c), s.sign, l.neg(s.sign))}
	for r, row := range s.a {
		at := l.Select(l.same(s.at[r], place), c, l.Select(l.same(s.at[r], c), place, s.at[r]))
		rest := l.If(l.both(solvable, l.below(c, at)), func() []kernel.Value {
			q := l.over(row[k], pivot[k])
			els := []kernel.Value{q}
			for i := k + 1; i < l.wide; i++ {
				els = append(els, l.less(q, pivot[i], row[i]))
			}
			return els
		}, func() []kernel.Value { return row[k:] })
		next.a = append(next.a, append(row[:k:k], rest...))
		next.at = append(next.at, at)
	}
	return next
}

// share declares the shared arrays of the search.
func (l *luPart) share() {
	if l.lanes > 0 {
		l.Lanes(l.lanes)
		l.candidates = l.Shared(scalar.U32, 3*l.local/l.lanes)
		return
	}
	l.sizes, l.places = l.Shared(l.panel.t.Part(), 2*l.local), l.Shared(scalar.U32, 2*l.local)
}

// findPivot is the place of the element of the k-th column, from the diagonal, c,
// on, of the largest magnitude, the first of equals; c where the column is beyond
// the matrix. As on the host, NaN is a pivot where it is on the diagonal, and none
// elsewhere.
func (l *luPart) findPivot(s luState, k int, c kernel.Value) kernel.Value {
	sizes, eligible := make([]kernel.Value, l.rows), make([]kernel.Value, l.rows)
	for r, row := range s.a {
		size, at := l.size(row[k]), s.at[r]
		isNaN := l.Compare(scalar.Ne, size, size)
		first := l.same(at, c)
		sizes[r] = l.Select(isNaN, l.real(math.Inf(1)), size)
		eligible[r] = l.both(l.both(l.inside[r], l.Compare(scalar.Le, c, at)), l.either(first, l.not(isNaN)))
	}
	if l.lanes > 0 {
		return l.findByLanes(sizes, eligible, s.at, c)
	}
	return l.findByTree(sizes, eligible, s.at, c)
}

// size is a number that is as large as the magnitude, but for the sign.
func (l *luPart) size(x kernel.Value) kernel.Value {
	if kernel.IsPair(x) {
		return l.abs(x)
	}
	return x
}

// findByLanes compares the bits of magnitudes, then those of places, which the
// first of equals has least: by subgroup, and then what the subgroups have found.
func (l *luPart) findByLanes(sizes, eligible, at []kernel.Value, c kernel.Value) kernel.Value {
	keys := make([][]kernel.Value, len(sizes))
	for r, size := range sizes {
		keys[r] = append(l.bits(size), l.complement(at[r]))
	}
	best := l.greatest(keys, eligible)
	words, groups := len(best), l.local/l.lanes
	l.then(l.same(l.Builtin(kernel.Lane), l.int(0)), func() {
		for i, v := range best {
			l.StoreShared(l.candidates, l.Add(l.Builtin(kernel.Subgroup), l.int(i*groups)), v)
		}
	})
	l.Barrier()
	keys, eligible = nil, nil
	for g := 0; g < groups; g += l.lanes {
		key := make([]kernel.Value, words)
		group := l.least(l.Add(l.Builtin(kernel.Lane), l.int(g)), l.int(groups-1))
		for i := range key {
			key[i] = l.LoadShared(l.candidates, l.Add(group, l.int(i*groups)))
		}
		keys, eligible = append(keys, key), append(eligible, l.same(l.int(0), l.int(0)))
	}
	place := l.greatest(keys, eligible)[words-1]
	return l.Select(l.same(place, l.int(0)), c, l.complement(place))
}

// greatest is the greatest of the keys of all lanes, word by word, the first the
// most significant; zeros where none is eligible.
func (l *luPart) greatest(keys [][]kernel.Value, eligible []kernel.Value) (best []kernel.Value) {
	eligible = append([]kernel.Value(nil), eligible...)
	for i := range keys[0] {
		most := l.int(0)
		for r, key := range keys {
			word := l.Select(eligible[r], key[i], l.int(0))
			most = l.Select(l.below(most, word), word, most)
		}
		most = l.LaneMax(most)
		for r, key := range keys {
			eligible[r] = l.both(eligible[r], l.same(key[i], most))
		}
		best = append(best, most)
	}
	return best
}

// bits are the words of the magnitude of a real number, which order numbers.
func (l *luPart) bits(x kernel.Value) []kernel.Value {
	const sign = 1 << 31
	if l.panel.t.Part() == scalar.F64 {
		return []kernel.Value{l.And(l.Prim(scalar.Hi, scalar.U32, x), sign-1), l.Prim(scalar.Lo, scalar.U32, x)}
	}
	return []kernel.Value{l.And(l.Bitcast(x, scalar.U32), sign-1)}
}

func (l *luPart) complement(x kernel.Value) kernel.Value { return l.Prim(scalar.Not, l.Type(x), x) }

// findByTree compares candidates in shared memory, some at a time.
func (l *luPart) findByTree(sizes, eligible, at []kernel.Value, c kernel.Value) kernel.Value {
	best := luBest{l.real(-1), c}
	for r, size := range sizes {
		best = l.better(best, luBest{l.Select(eligible[r], l.abs(size), l.real(-1)), l.Select(eligible[r], at[r], c)})
	}
	l.keep(l.me, best)
	n, from := l.local, 0
	for ; n > luLast; n, from = n/luLast, from+n {
		part := n / luLast
		l.Barrier()
		l.then(l.below(l.me, l.int(part)), func() {
			l.keep(l.Add(l.me, l.int(from+n)), l.best(l.Add(l.me, l.int(from)), luLast, part))
		})
	}
	l.Barrier()
	return l.best(l.int(from), n, 1).place
}

// luLast is how many candidates an invocation looks at.
const luLast = 8

// luBest is a candidate for the pivot.
type luBest struct{ size, place kernel.Value }

// better is the larger of two, or the first of equals.
func (l *luPart) better(x, y luBest) luBest {
	larger := l.either(l.Compare(scalar.Lt, x.size, y.size),
		l.both(l.Compare(scalar.Eq, x.size, y.size), l.below(y.place, x.place)))
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
		at := l.Add(first, l.int(i*apart))
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
