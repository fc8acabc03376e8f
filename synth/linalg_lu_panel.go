package synth

import (
	"math"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// luShape is the widest panel of m rows. A few rows of an invocation share what it
// reads of the pivot's, and few invocations wait less for each other.
func (j *linalg) luShape(m int) panel {
	p := panel{t: j.typ, local: 64, rows: 1}
	for p.local < min(512, j.t.MaxInvocations) && luRows*p.local < m {
		p.local *= 2
	}
	for p.local*p.rows < m {
		p.rows *= 2
	}
	if p.rows > 64 {
		j.try(unsupported("matrices of %d rows", m))
	}
	most := min(32/j.words(), luElements/(j.words()*p.local*p.rows))
	p.wide = panelWidth(m, max(1, j.narrow(most)))
	return p
}

// The rows of an invocation where there are enough invocations for all, and the
// elements of a panel, of 32 bits, that the registers of a workgroup hold.
const (
	luRows     = 4
	luElements = 32 << 10
)

// luWriter writes the kernel of a panel.
type luWriter struct{ panel }

// luPanel is what the kernel works on. Rows stay in the registers where they are:
// the exchanges change their places alone, at which they are written in the end.
type luPanel struct {
	arith
	panel
	me            kernel.Value
	inside        []kernel.Value // whether a row is one of the matrix
	sizes, places int            // shared: the largest magnitudes, and where they are
	pivot         int            // shared: the row of the pivot
}

// luState is what changes from column to column. A row of elements begins with the
// present column; those to the left of it come last.
type luState struct {
	a    [][]kernel.Value // by row and column
	at   []kernel.Value   // the places of rows
	sign kernel.Value     // of the exchanges
}

func (w *luWriter) write(e *emitter) error {
	count, m, cols, n, lo := e.num(), e.num(), e.num(), e.num(), e.num()
	g := e.grid(0)
	l := &luPanel{arith: arith{e, w.t}, panel: w.panel, me: e.invocation(), pivot: e.Shared(w.t, w.wide),
		sizes: e.Shared(w.t.Part(), 2*w.local), places: e.Shared(scalar.U32, 2*w.local)}
	matrix := e.group()
	e.when(e.below(matrix, count), func() {
		g := g.of(matrix)
		s := l.factor(l.load(g, m, cols))
		first := e.Mul(matrix, n)
		for r, row := range s.a {
			was, at := l.row(r), s.at[r]
			e.then(l.inside[r], func() {
				for k, v := range row {
					e.then(e.below(e.int(k), cols), func() { g.store(at, e.int(k), v) })
				}
				e.then(e.below(at, cols), func() { e.Store(1, e.Add(first, at), was) })
				e.then(e.below(was, cols), func() { e.Store(2, e.Add(first, was), at) })
			})
		}
		e.then(e.below(l.me, cols), func() {
			sign := e.Select(e.same(l.me, e.int(0)), s.sign, l.number(1))
			e.storeElement(3, e.Add(first, e.Add(lo, l.me)), sign)
		})
	})
	return nil
}

// row is the number of the r-th row of the invocation.
func (l *luPanel) row(r int) kernel.Value { return l.Add(l.me, l.int(r*l.local)) }

// load reads the panel, zeros beyond it.
func (l *luPanel) load(g grid, m, cols kernel.Value) luState {
	s := luState{sign: l.number(1)}
	one := l.int(1)
	for r := range l.rows {
		row, els := l.row(r), make([]kernel.Value, l.wide)
		l.inside = append(l.inside, l.below(row, m))
		for k := range els {
			col := l.int(k)
			v := g.load(l.least(row, l.Sub(m, one)), l.least(col, l.Sub(cols, one)))
			els[k] = l.Select(l.both(l.inside[r], l.below(col, cols)), v, l.number(0))
		}
		s.a, s.at = append(s.a, els), append(s.at, row)
	}
	return s
}

// factor eliminates the columns. When half of them are done another loop goes on
// with the others alone; columns of zeros beyond the matrix do no harm.
func (l *luPanel) factor(s luState) luState {
	done := make([][]kernel.Value, l.rows)
	for c := 0; c < l.wide; {
		left := l.wide - c
		rounds := max(1, left/2)
		s = l.rounds(s, c, rounds)
		for r, row := range s.a {
			done[r] = append(done[r], row[left-rounds:]...)
			s.a[r] = row[:left-rounds]
		}
		c += rounds
	}
	s.a = done
	return s
}

// rounds eliminates columns from c on. Each comes last when it is done.
func (l *luPanel) rounds(s luState, c, rounds int) luState {
	left := len(s.a[0])
	init := append(append(flatten(s.a), s.at...), s.sign)
	state := func(v []kernel.Value) (s luState) {
		for range l.rows {
			s.a, v = append(s.a, v[:left:left]), v[left:]
		}
		s.at, s.sign = v[:l.rows:l.rows], v[l.rows]
		return s
	}
	return state(l.Loop(l.int(c), l.int(c+rounds), l.int(1), init, func(at kernel.Value, v []kernel.Value) []kernel.Value {
		// So many of the last columns may be done.
		s := l.step(at, l.Sub(at, l.int(c)), rounds-1, state(v))
		return append(append(flatten(s.a), s.at...), s.sign)
	}))
}

func flatten(rows [][]kernel.Value) (all []kernel.Value) {
	for _, row := range rows {
		all = append(all, row...)
	}
	return all
}

// step eliminates column c, the first of what is left, of whose last columns some
// are done. A column without a pivot is left as it is.
func (l *luPanel) step(c, done kernel.Value, most int, s luState) luState {
	place := l.findPivot(c, s)
	left := len(s.a[0])
	for r, row := range s.a {
		l.then(l.both(l.inside[r], l.same(s.at[r], place)), func() {
			for k, v := range row {
				l.StoreShared(l.pivot, l.int(k), v)
			}
		})
	}
	l.Barrier()
	pivot := make([]kernel.Value, left)
	for k := range pivot {
		pivot[k] = l.LoadShared(l.pivot, l.int(k))
	}
	solvable := l.not(l.zero(pivot[0]))
	next := luState{sign: l.Select(l.same(place, c), s.sign, l.neg(s.sign))}
	for r, row := range s.a {
		at := l.Select(l.same(s.at[r], place), c, l.Select(l.same(s.at[r], c), place, s.at[r]))
		under := l.both(solvable, l.below(c, at))
		q := l.over(row[0], pivot[0])
		var els []kernel.Value
		for k := 1; k < left; k++ {
			taken := under
			if k >= left-most { // unless it is done
				taken = l.both(under, l.below(l.Add(done, l.int(k)), l.int(left)))
			}
			els = append(els, l.Select(taken, l.less(q, pivot[k], row[k]), row[k]))
		}
		next.a = append(next.a, append(els, l.Select(under, q, row[0])))
		next.at = append(next.at, at)
	}
	return next
}

// findPivot is the place of the element of column c, from the diagonal on, of the
// largest magnitude. As on the host, NaN is a pivot where it is on the diagonal,
// and none elsewhere.
func (l *luPanel) findPivot(c kernel.Value, s luState) kernel.Value {
	best := luBest{l.real(-1), c}
	for r, row := range s.a {
		size, at := l.abs(row[0]), s.at[r]
		first := l.both(l.same(at, c), l.Compare(scalar.Ne, size, size))
		size = l.Select(first, l.real(math.Inf(1)), size)
		eligible := l.both(l.inside[r], l.Compare(scalar.Le, c, at))
		best = l.better(best, luBest{l.Select(eligible, size, l.real(-1)), l.Select(eligible, at, c)})
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

// better is the larger of two, or the first of equals. The second may be NaN,
// which is not larger.
func (l *luPanel) better(x, y luBest) luBest {
	larger := l.either(l.Compare(scalar.Lt, x.size, y.size),
		l.both(l.Compare(scalar.Eq, x.size, y.size), l.below(y.place, x.place)))
	return luBest{l.Select(larger, y.size, x.size), l.Select(larger, y.place, x.place)}
}

// keep writes a candidate to shared memory, and best is the best of n there, which
// lie some elements apart.
func (l *luPanel) keep(at kernel.Value, b luBest) {
	l.StoreShared(l.sizes, at, b.size)
	l.StoreShared(l.places, at, b.place)
}

func (l *luPanel) best(first kernel.Value, n, apart int) luBest {
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
