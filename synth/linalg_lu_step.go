package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// The shape of a workgroup of a step: how many invocations there are at most, the
// rows of one where there may be more of them, the most columns of a panel, and
// its elements of 32 bits in the registers of an invocation.
const (
	luLocal     = 512
	luRows      = 2
	luWide      = 8
	luRegisters = 64
)

// luPanel is the widest panel of m rows. A few rows of an invocation share what it
// reads of the pivot's, and few invocations wait less for each other.
func (j *linalg) luPanel(m int) panel {
	p := panel{t: j.typ, local: 64, rows: 1}
	for p.local < min(luLocal, j.t.MaxInvocations) && luRows*p.local < m {
		p.local *= 2
	}
	for p.local*p.rows < m {
		p.rows *= 2
	}
	if p.rows > luRegisters {
		j.try(unsupported("matrices of %d rows", m))
	}
	most := luWide
	if m <= p.local {
		most *= 4 // small matrices are one panel
	}
	most = min(most/j.words(), luRegisters/(j.words()*p.rows))
	p.wide = panelWidth(m, max(1, j.narrow(most)))
	return p
}

// luStep is a step of a block that begins at lo: it factors columns at to hi, and
// takes the panel before, as wide, off them and those up to end. It reads one list
// of places and writes the other.
type luStep struct{ lo, at, hi, end, turn int }

// step appends a step. The first workgroup of a matrix has the panel, the others
// as many columns to the right of it, which do not wait for it.
func (f *elimination) step(p panel, s luStep) {
	w := &luWriter{p}
	parts := 1
	if s.at > s.lo {
		parts = (s.end - s.at + p.wide - 1) / p.wide
	}
	m, all := f.n-s.lo, f.count*f.n
	q := &program{local: uint32(p.local), groups: f.count * parts, body: w.write,
		flops: int64(f.count) * int64(m*p.wide*(s.hi-s.at+2*min(s.at-s.lo, s.end-s.at))),
		bufs: []buffer{f.buffer(f.a, Read|Write), words(f.places[s.turn], all, Read), words(f.places[s.turn^1], all, Write),
			words(f.pivots, all, Read|Write), f.buffer(f.signs, Write)}}
	q.nums = append([]int{f.count, parts, m, s.at - s.lo, s.hi - s.at, s.end - s.lo, f.n, s.lo}, places(f.a.from(s.lo, s.lo))...)
	q.key = fmt.Sprintf("lu step %v rows=%d wide=%d", w.t, w.rows, w.wide)
	f.run(q)
}

// luWriter writes the kernel of a step.
type luWriter struct{ panel }

// luPart is the columns that a workgroup works on, from left on.
type luPart struct {
	arith
	panel
	g                     grid
	m, first, cols, limit kernel.Value // rows of the block; columns: of the panel, and the end of all
	left, base            kernel.Value // base of the matrix in lists of rows
	me                    kernel.Value
	inside, active        []kernel.Value // whether a row is one of the matrix, and not of a pivot before the panel
	triangle, top         int            // shared: of the panel before; rows of its pivots, as they become
	pivot                 int            // shared: the row of the pivot
	sizes, places         int            // shared: what has been found of the pivot
}

// luState is what changes from column to column: elements by row and column, the
// places of rows, and the sign of the exchanges.
type luState struct {
	a    [][]kernel.Value
	at   []kernel.Value
	sign kernel.Value
}

func (w *luWriter) write(e *emitter) error {
	l := &luPart{arith: arith{e, w.t}, panel: w.panel, me: e.invocation()}
	count, parts := e.num(), e.num()
	l.m, l.first, l.cols, l.limit = e.num(), e.num(), e.num(), e.num()
	n, lo := e.num(), e.num()
	g := e.grid(0)
	l.triangle, l.top = e.Shared(w.t, w.wide*w.wide), e.Shared(w.t, w.wide*w.wide)
	l.pivot = e.Shared(w.t, w.wide)
	l.share()
	matrix, part := e.divide(e.group(), parts)
	l.left = e.Add(l.first, e.Mul(part, e.int(w.wide)))
	factored := e.both(e.same(part, e.int(0)), e.below(e.int(0), l.cols))
	e.when(e.below(matrix, count), func() {
		l.g, l.base = g.of(matrix), e.Mul(matrix, n)
		s := l.load()
		s = l.once(e.below(e.int(0), l.first), s, l.update)
		s = l.once(factored, s, l.factor)
		l.store(s)
		e.then(factored, func() { l.note(s, lo) })
	})
	return nil
}

// once changes the state where a condition holds for the whole workgroup.
func (l *luPart) once(c kernel.Value, s luState, change func(luState) luState) luState {
	all := append(append(flatten(s.a), s.at...), s.sign)
	all = l.Loop(l.int(0), l.Select(c, l.int(1), l.int(0)), l.int(1), all, func(_ kernel.Value, v []kernel.Value) []kernel.Value {
		s := change(l.state(v))
		return append(append(flatten(s.a), s.at...), s.sign)
	})
	return l.state(all)
}

func (l *luPart) state(v []kernel.Value) (s luState) {
	s.a, v = l.matrix(v)
	s.at, s.sign = v[:l.rows:l.rows], v[l.rows]
	return s
}

// matrix takes the elements of the part off a list.
func (l *luPart) matrix(v []kernel.Value) (a [][]kernel.Value, rest []kernel.Value) {
	for range l.rows {
		a, v = append(a, v[:l.wide:l.wide]), v[l.wide:]
	}
	return a, v
}

func flatten(rows [][]kernel.Value) (all []kernel.Value) {
	for _, row := range rows {
		all = append(all, row...)
	}
	return all
}

// row is the number of the r-th row of the invocation, and there is one that is
// within the matrix.
func (l *luPart) row(r int) kernel.Value { return l.Add(l.me, l.int(r*l.local)) }

func (l *luPart) there(r int) kernel.Value { return l.least(l.row(r), l.Sub(l.m, l.int(1))) }

// column is the number of the k-th column, or the last there is.
func (l *luPart) column(k kernel.Value) kernel.Value {
	return l.least(l.Add(l.left, k), l.Sub(l.limit, l.int(1)))
}

// load reads the part and the places of rows. What is beyond it is some element,
// which does no harm.
func (l *luPart) load() luState {
	s := luState{sign: l.number(1)}
	for r := range l.rows {
		els := make([]kernel.Value, l.wide)
		for k := range els {
			els[k] = l.g.load(l.there(r), l.column(l.int(k)))
		}
		at := l.If(l.same(l.first, l.int(0)), func() []kernel.Value { return []kernel.Value{l.row(r)} },
			func() []kernel.Value { return l.Load(1, l.Add(l.base, l.there(r)), 1) })[0]
		s.a, s.at = append(s.a, els), append(s.at, at)
		l.inside = append(l.inside, l.below(l.row(r), l.m))
		l.active = append(l.active, l.both(l.inside[r], l.Compare(scalar.Le, l.first, at)))
	}
	return s
}

// luAhead is how many columns of the panel before are read while those before them
// are used.
const luAhead = 1

// update takes the panel before off the part. Rows of pivots are left alone: those
// of that panel are solved for first.
func (l *luPart) update(s luState) luState {
	before := l.Sub(l.first, l.int(l.wide))
	fetch := func(k kernel.Value) (vs []kernel.Value) {
		for d := range min(luAhead, l.wide) {
			col := l.Add(before, l.least(l.Add(k, l.int(d)), l.int(l.wide-1)))
			for r := range l.rows {
				vs = append(vs, l.g.load(l.there(r), col))
			}
		}
		return vs
	}
	init := fetch(l.int(0))
	fetched := len(init)
	l.solve(before)
	out := l.Loop(l.int(0), l.int(l.wide), l.int(min(luAhead, l.wide)), append(init, flatten(s.a)...), func(k kernel.Value, v []kernel.Value) []kernel.Value {
		next := fetch(l.Add(k, l.int(luAhead)))
		a, _ := l.matrix(v[fetched:])
		for d := range min(luAhead, l.wide) {
			a = l.outer(v[d*l.rows:], l.Mul(l.Add(k, l.int(d)), l.int(l.wide)), a)
		}
		return append(next, flatten(a)...)
	})
	s.a, _ = l.matrix(out[fetched:])
	return s
}

// outer takes the products of a column and a row of top, which begins at a place,
// off elements.
func (l *luPart) outer(column []kernel.Value, top kernel.Value, a [][]kernel.Value) (next [][]kernel.Value) {
	row := make([]kernel.Value, l.wide)
	for c := range row {
		row[c] = l.LoadShared(l.top, l.Add(top, l.int(c)))
	}
	for r, els := range a {
		less := make([]kernel.Value, l.wide)
		for c, v := range els {
			less[c] = l.less(column[r], row[c], v)
		}
		next = append(next, less)
	}
	return next
}

// solve finds the rows of the pivots of the panel before, whose columns begin at
// before, and writes them. An invocation has a column.
func (l *luPart) solve(before kernel.Value) {
	wide := l.wide
	pivot := func(i kernel.Value) kernel.Value {
		return l.Load(3, l.Add(l.base, l.Add(before, i)), 1)[0]
	}
	each := func(array int, column func(k kernel.Value) kernel.Value) {
		l.spread(wide*wide, func(u kernel.Value) kernel.Value {
			k, i := l.divide(u, l.int(wide))
			return l.g.load(pivot(i), column(k))
		}, func(u, v kernel.Value) {
			k, i := l.divide(u, l.int(wide))
			l.StoreShared(array, l.Add(l.Mul(i, l.int(wide)), k), v)
		})
	}
	each(l.top, l.column)
	each(l.triangle, func(k kernel.Value) kernel.Value { return l.Add(before, k) })
	l.Barrier()
	l.then(l.below(l.me, l.int(wide)), func() {
		at := func(i int) kernel.Value { return l.Add(l.int(i*wide), l.me) }
		u := make([]kernel.Value, wide)
		for i := range u {
			u[i] = l.LoadShared(l.top, at(i))
		}
		for k := range u {
			for i := k + 1; i < wide; i++ {
				u[i] = l.less(l.LoadShared(l.triangle, l.int(i*wide+k)), u[k], u[i])
			}
			l.StoreShared(l.top, at(k), u[k])
		}
		l.then(l.below(l.Add(l.left, l.me), l.limit), func() {
			for i, v := range u {
				l.g.store(pivot(l.int(i)), l.Add(l.left, l.me), v)
			}
		})
	})
	l.Barrier()
}

// store writes the part but for rows of pivots before the panel.
func (l *luPart) store(s luState) {
	for r, row := range s.a {
		l.then(l.active[r], func() {
			for k, v := range row {
				col := l.Add(l.left, l.int(k))
				l.then(l.below(col, l.limit), func() { l.g.store(l.row(r), col, v) })
			}
		})
	}
}

// note writes the places of rows, the rows of pivots, and the sign.
func (l *luPart) note(s luState, lo kernel.Value) {
	end := l.Add(l.first, l.cols)
	for r, at := range s.at {
		l.then(l.inside[r], func() { l.Store(2, l.Add(l.base, l.row(r)), at) })
		l.then(l.both(l.active[r], l.below(at, end)), func() { l.Store(3, l.Add(l.base, at), l.row(r)) })
	}
	l.then(l.below(l.me, l.cols), func() {
		sign := l.Select(l.same(l.me, l.int(0)), s.sign, l.number(1))
		l.storeElement(4, l.Add(l.base, l.Add(lo, l.Add(l.first, l.me))), sign)
	})
}
