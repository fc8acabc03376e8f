package lu

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
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
func luPanel(j *factor.Job, m int) factor.Panel {
	p := factor.Panel{T: j.Typ, Local: 64, Rows: 1}
	for p.Local < min(luLocal, j.Target.MaxInvocations) && luRows*p.Local < m {
		p.Local *= 2
	}
	for p.Local*p.Rows < m {
		p.Rows *= 2
	}
	if p.Rows > luRegisters {
		j.Try(lowering.Unsupported("matrices of %d rows", m))
	}
	most := luWide
	if m <= p.Local {
		most *= 4 // small matrices are one panel
	}
	most = min(most/j.Words(), luRegisters/(j.Words()*p.Rows))
	p.Wide = factor.PanelWidth(m, max(1, j.Narrow(most)))
	return p
}

// luStep is a step of a block that begins at lo: it factors columns at to hi, and
// takes the panel before, as wide, off them and those up to end. It reads one list
// of places and writes the other.
type luStep struct{ lo, at, hi, end, width int }

// step appends a step. The first workgroup of a matrix has the panel, the others
// as many columns to the right of it, which do not wait for it.
func (f *LU) step(p factor.Panel, s luStep) {
	w := &luWriter{p}
	parts := 1
	if s.at > s.lo {
		parts = (s.end - s.at + p.Wide - 1) / p.Wide
	}
	m, all := f.n-s.lo, f.Count*f.n
	q := &codegen.Program{Local: uint32(p.Local), Groups: f.Count * parts, Body: w.write,
		Flops: int64(f.Count) * int64(m*p.Wide*(s.hi-s.at+2*min(s.at-s.lo, s.end-s.at))),
		Buffers: []codegen.Buffer{f.Buffer(f.A, lowering.Read|lowering.Write), factor.Words(f.places[s.width], all, lowering.Read), factor.Words(f.places[s.width^1], all, lowering.Write),
			factor.Words(f.pivots, all, lowering.Read|lowering.Write), f.Buffer(f.Signs, lowering.Write)}}
	q.Numbers = append([]int{f.Count, parts, m, s.at - s.lo, s.hi - s.at, s.end - s.lo, f.n, s.lo}, factor.Places(f.A.From(s.lo, s.lo))...)
	q.Key = fmt.Sprintf("lu step %v rows=%d wide=%d", w.T, w.Rows, w.Wide)
	f.Run(q)
}

// luWriter writes the kernel of a step.
type luWriter struct{ factor.Panel }

// luPart is the columns that a workgroup works on, from left on.
type luPart struct {
	factor.Arith
	factor.Panel
	g                     factor.Grid
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

func (w *luWriter) write(e *codegen.Emitter) error {
	l := &luPart{Arith: factor.Arith{Emitter: e, T: w.T}, Panel: w.Panel, me: e.Invocation()}
	count, parts := e.NextNumber(), e.NextNumber()
	l.m, l.first, l.cols, l.limit = e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	n, lo := e.NextNumber(), e.NextNumber()
	g := factor.GridOf(e, 0)
	l.triangle, l.top = e.Shared(w.T, w.Wide*w.Wide), e.Shared(w.T, w.Wide*w.Wide)
	l.pivot = e.Shared(w.T, w.Wide)
	l.share()
	matrix, part := e.DivMod(e.Group(), parts)
	l.left = e.Add(l.first, e.Mul(part, e.Index(w.Wide)))
	factored := e.And2(e.IsEqual(part, e.Index(0)), e.IsLess(e.Index(0), l.cols))
	e.When(e.IsLess(matrix, count), func() {
		l.g, l.base = g.Of(matrix), e.Mul(matrix, n)
		s := l.load()
		s = l.once(e.IsLess(e.Index(0), l.first), s, l.update)
		s = l.once(factored, s, l.factor)
		l.store(s)
		e.IfThen(factored, func() { l.note(s, lo) })
	})
	return nil
}

// once changes the state where a condition holds for the whole workgroup.
func (l *luPart) once(c kernel.Value, s luState, change func(luState) luState) luState {
	all := l.Loop(l.Index(0), l.Select(c, l.Index(1), l.Index(0)), l.Index(1), s.values(), func(_ kernel.Value, v []kernel.Value) []kernel.Value {
		return change(l.state(v)).values()
	})
	return l.state(all)
}

// values lists the state, as state takes it apart.
func (s luState) values() []kernel.Value { return append(append(flatten(s.a), s.at...), s.sign) }

func (l *luPart) state(v []kernel.Value) (s luState) {
	s.a, v = l.matrix(v)
	s.at, s.sign = v[:l.Rows:l.Rows], v[l.Rows]
	return s
}

// matrix takes the elements of the part off a list.
func (l *luPart) matrix(v []kernel.Value) (a [][]kernel.Value, rest []kernel.Value) {
	for range l.Rows {
		a, v = append(a, v[:l.Wide:l.Wide]), v[l.Wide:]
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
func (l *luPart) row(r int) kernel.Value { return l.Add(l.me, l.Index(r*l.Local)) }

func (l *luPart) there(r int) kernel.Value { return l.Min(l.row(r), l.Sub(l.m, l.Index(1))) }

// column is the number of the k-th column, or the last there is.
func (l *luPart) column(k kernel.Value) kernel.Value {
	return l.Min(l.Add(l.left, k), l.Sub(l.limit, l.Index(1)))
}

// load reads the part and the places of rows. Beyond the part it loads some element,
// which does no harm.
func (l *luPart) load() luState {
	s := luState{sign: l.Number(1)}
	for r := range l.Rows {
		els := make([]kernel.Value, l.Wide)
		for k := range els {
			els[k] = l.g.Load(l.there(r), l.column(l.Index(k)))
		}
		at := l.If(l.IsEqual(l.first, l.Index(0)), func() []kernel.Value { return []kernel.Value{l.row(r)} },
			func() []kernel.Value { return l.Load(1, l.Add(l.base, l.there(r)), 1) })[0]
		s.a, s.at = append(s.a, els), append(s.at, at)
		l.inside = append(l.inside, l.IsLess(l.row(r), l.m))
		l.active = append(l.active, l.And2(l.inside[r], l.Compare(scalar.Le, l.first, at)))
	}
	return s
}

// luAhead is how many columns of the panel before are read while those before them
// are used.
const luAhead = 1

// update takes the panel before off the part. Rows of pivots are left alone: those
// of that panel are solved for first.
func (l *luPart) update(s luState) luState {
	before := l.Sub(l.first, l.Index(l.Wide))
	fetch := func(k kernel.Value) (vs []kernel.Value) {
		for d := range min(luAhead, l.Wide) {
			col := l.Add(before, l.Min(l.Add(k, l.Index(d)), l.Index(l.Wide-1)))
			for r := range l.Rows {
				vs = append(vs, l.g.Load(l.there(r), col))
			}
		}
		return vs
	}
	init := fetch(l.Index(0))
	fetched := len(init)
	l.solve(before)
	out := l.Loop(l.Index(0), l.Index(l.Wide), l.Index(min(luAhead, l.Wide)), append(init, flatten(s.a)...), func(k kernel.Value, v []kernel.Value) []kernel.Value {
		next := fetch(l.Add(k, l.Index(luAhead)))
		a, _ := l.matrix(v[fetched:])
		for d := range min(luAhead, l.Wide) {
			a = l.outer(v[d*l.Rows:], l.Mul(l.Add(k, l.Index(d)), l.Index(l.Wide)), a)
		}
		return append(next, flatten(a)...)
	})
	s.a, _ = l.matrix(out[fetched:])
	return s
}

// outer takes the products of a column and a row of top, which begins at a place,
// off elements.
func (l *luPart) outer(column []kernel.Value, top kernel.Value, a [][]kernel.Value) (next [][]kernel.Value) {
	row := make([]kernel.Value, l.Wide)
	for c := range row {
		row[c] = l.LoadShared(l.top, l.Add(top, l.Index(c)))
	}
	for r, els := range a {
		less := make([]kernel.Value, l.Wide)
		for c, v := range els {
			less[c] = l.Less(column[r], row[c], v)
		}
		next = append(next, less)
	}
	return next
}

// solve finds the rows of the pivots of the panel before, whose columns begin at
// before, and writes them. An invocation has a column.
func (l *luPart) solve(before kernel.Value) {
	wide := l.Wide
	pivot := func(i kernel.Value) kernel.Value {
		return l.Load(3, l.Add(l.base, l.Add(before, i)), 1)[0]
	}
	each := func(array int, column func(k kernel.Value) kernel.Value) {
		l.DealOut(wide*wide, func(u kernel.Value) kernel.Value {
			k, i := l.DivMod(u, l.Index(wide))
			return l.g.Load(pivot(i), column(k))
		}, func(u, v kernel.Value) {
			k, i := l.DivMod(u, l.Index(wide))
			l.StoreShared(array, l.Add(l.Mul(i, l.Index(wide)), k), v)
		})
	}
	each(l.top, l.column)
	each(l.triangle, func(k kernel.Value) kernel.Value { return l.Add(before, k) })
	l.Barrier()
	l.IfThen(l.IsLess(l.me, l.Index(wide)), func() {
		at := func(i int) kernel.Value { return l.Add(l.Index(i*wide), l.me) }
		u := make([]kernel.Value, wide)
		for i := range u {
			u[i] = l.LoadShared(l.top, at(i))
		}
		// The rows go around, as columns do in factor: a kernel has one copy of the step.
		u = l.Loop(l.Index(0), l.Index(wide), l.Index(1), u, func(k kernel.Value, u []kernel.Value) []kernel.Value {
			l.StoreShared(l.top, l.Add(l.Mul(k, l.Index(wide)), l.me), u[0])
			var next []kernel.Value
			for i := 1; i < wide; i++ {
				row := l.Add(k, l.Index(i))
				below := l.IsLess(row, l.Index(wide))
				at := l.Select(below, l.Add(l.Mul(row, l.Index(wide)), k), l.Index(0))
				next = append(next, l.Select(below, l.Less(l.LoadShared(l.triangle, at), u[0], u[i]), u[i]))
			}
			return append(next, u[0])
		})
		l.IfThen(l.IsLess(l.Add(l.left, l.me), l.limit), func() {
			for i, v := range u {
				l.g.Store(pivot(l.Index(i)), l.Add(l.left, l.me), v)
			}
		})
	})
	l.Barrier()
}

// store writes the part but for rows of pivots before the panel.
func (l *luPart) store(s luState) {
	for r, row := range s.a {
		l.IfThen(l.active[r], func() {
			for k, v := range row {
				col := l.Add(l.left, l.Index(k))
				l.IfThen(l.IsLess(col, l.limit), func() { l.g.Store(l.row(r), col, v) })
			}
		})
	}
}

// note writes the places of rows, the rows of pivots, and the sign.
func (l *luPart) note(s luState, lo kernel.Value) {
	end := l.Add(l.first, l.cols)
	for r, at := range s.at {
		l.IfThen(l.inside[r], func() { l.Store(2, l.Add(l.base, l.row(r)), at) })
		l.IfThen(l.And2(l.active[r], l.IsLess(at, end)), func() { l.Store(3, l.Add(l.base, at), l.row(r)) })
	}
	l.IfThen(l.IsLess(l.me, l.cols), func() {
		sign := l.Select(l.IsEqual(l.me, l.Index(0)), s.sign, l.Number(1))
		factor.StoreElement(l.Arith.Emitter, 4, l.Add(l.base, l.Add(lo, l.Add(l.first, l.me))), sign)
	})
}
