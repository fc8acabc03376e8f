package lu

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// The shape of a workgroup that has several small matrices: an invocation has a row of one, in registers.
const (
	smallSide  = 32 // most rows, half of it for c128
	smallLocal = 64
	smallAhead = 4 // elements that an invocation loads before it stores them
)

// Small are factors of matrices of up to 32 rows, each by a part of a workgroup: one dispatch reads the matrices
// and writes what is wanted of the factors. The blocked factorization would take several, of matrices whose columns
// are padded to whole lines.
type Small struct {
	*factor.Job
	N int

	A     factor.Matrices // l and u, which share a matrix
	Signs factor.Matrices // the sign of the exchanges, and ones
	Was   lowering.Ref    // by matrix, the row that a row of the factors was
}

// IsSmall reports whether matrices of n rows are.
func IsSmall(j *factor.Job, n int) bool { return n <= smallSide/max(1, j.Words()/2) }

// FactorSmall appends the factorization of matrices.
func FactorSmall(j *factor.Job, from factor.Matrices, n int) *Small {
	f := &Small{Job: j, N: n, A: j.Fresh(n, n), Signs: j.Fresh(1, n), Was: j.NewTemp(4 * j.Count * n)}
	w := newSmallWriter(j, n)
	w.run(f.Job, n, from, j.Buffer(f.A, lowering.Write), j.Buffer(f.Signs, lowering.Write), factor.Words(f.Was, j.Count*n, lowering.Write))
	return f
}

// Parted appends the factors p, l and u of matrices, each a result of its own.
func Parted(j *factor.Job, from, p, l, u factor.Matrices, n int) {
	w := newSmallWriter(j, n)
	w.parted = true
	w.run(j, n, from, j.Buffer(p, lowering.Write), j.Buffer(l, lowering.Write), j.Buffer(u, lowering.Write))
}

// smallWriter writes the kernel.
type smallWriter struct {
	t          scalar.Type
	side, pack int // rows of a matrix, a power of two; matrices of a workgroup
	parted     bool
}

func newSmallWriter(j *factor.Job, n int) *smallWriter {
	w := &smallWriter{t: j.Typ, side: factor.PanelWidth(n, smallSide)}
	w.pack = smallLocal / w.side
	return w
}

// run appends the step. The matrices of to are dense.
func (w *smallWriter) run(j *factor.Job, n int, from factor.Matrices, to ...codegen.Buffer) {
	p := &codegen.Program{Local: smallLocal, Groups: (j.Count + w.pack - 1) / w.pack, Body: w.write,
		Flops: int64(j.Count) * int64(n*n*n), Buffers: append([]codegen.Buffer{j.Buffer(from, lowering.Read)}, to...)}
	p.Numbers = append([]int{j.Count, n}, factor.Places(from)...)
	p.Key = fmt.Sprintf("small lu %v side=%d parted=%v", w.t, w.side, w.parted)
	j.Run(p)
}

// smallPart is what an invocation works on: row `row` of matrix `mine` of the workgroup.
type smallPart struct {
	luPart
	*smallWriter
	from         factor.Grid
	count, n     kernel.Value
	group        kernel.Value // first matrix of the workgroup
	mine, row    kernel.Value
	tile, places int // shared: the matrices, row by row; which row took a place
}

func (w *smallWriter) write(e *codegen.Emitter) error {
	s := &smallPart{smallWriter: w, luPart: luPart{Arith: factor.Arith{Emitter: e, T: w.t}, me: e.Invocation()}}
	s.count, s.n = e.NextNumber(), e.NextNumber()
	s.from = factor.GridOf(e, 0)
	s.group = e.Mul(e.Group(), e.Index(w.pack))
	s.mine, s.row = e.DivMod(s.me, e.Index(w.side))
	s.tile, s.places = e.Shared(w.t, smallLocal*(w.side+1)), e.Shared(scalar.U32, smallLocal)
	s.pivot = e.Shared(w.t, smallLocal)
	s.luPart.sizes, s.luPart.places = e.Shared(w.t.Part(), smallLocal), e.Shared(scalar.U32, smallLocal)
	e.When(e.IsLess(s.group, s.count), func() {
		s.fill()
		at, sign := s.eliminate()
		e.IfThen(e.IsLess(s.row, s.n), func() {
			e.StoreShared(s.places, e.Add(e.Mul(s.mine, e.Index(w.side)), at), s.row)
		})
		e.Barrier()
		if w.parted {
			s.storeParts()
		} else {
			s.storePacked(sign)
		}
	})
	return nil
}

// each calls f for the elements of the matrices of the workgroup: the number of the matrix there, row and column, and
// the place in a dense batch. Those of the invocation are some apart: load gives what of each is read before the first
// is stored.
func (s *smallPart) each(load func(matrix, i, c kernel.Value) []kernel.Value, store func(at, matrix, i, c kernel.Value, vs []kernel.Value)) {
	square := s.Mul(s.n, s.n)
	all := s.Mul(s.Min(s.Index(s.pack), s.Sub(s.count, s.group)), square)
	last := s.Sub(all, s.Index(1))
	s.For(s.me, all, s.Index(smallAhead*smallLocal), func(first kernel.Value) {
		type element struct {
			u, matrix, i, c kernel.Value
			vs              []kernel.Value
		}
		var list []element
		for k := range smallAhead {
			el := element{u: s.Add(first, s.Index(k*smallLocal))}
			var in kernel.Value
			el.matrix, in = s.DivMod(s.Min(el.u, last), square)
			el.i, el.c = s.DivMod(in, s.n)
			el.vs = load(el.matrix, el.i, el.c)
			list = append(list, el)
		}
		for _, el := range list {
			s.IfThen(s.IsLess(el.u, all), func() {
				store(s.Add(s.Mul(s.group, square), el.u), el.matrix, el.i, el.c, el.vs)
			})
		}
	})
}

// in is where an element of a matrix of the workgroup lies in its tile.
func (s *smallPart) in(matrix, i, c kernel.Value) kernel.Value {
	return s.Add(s.Mul(s.Add(s.Mul(matrix, s.Index(s.side)), i), s.Index(s.side+1)), c)
}

// fill copies the matrices to shared memory.
func (s *smallPart) fill() {
	s.each(func(matrix, i, c kernel.Value) []kernel.Value {
		return []kernel.Value{s.from.Of(s.Add(s.group, matrix)).Load(i, c)}
	}, func(_, matrix, i, c kernel.Value, vs []kernel.Value) {
		s.StoreShared(s.tile, s.in(matrix, i, c), vs[0])
	})
	s.Barrier()
}

// eliminate factors the matrices in their tiles, where rows stay, and gives the place of the row of the invocation
// and the sign of the exchanges. The columns of a row that are left move up by one; what is done of it is stored.
func (s *smallPart) eliminate() (at, sign kernel.Value) {
	zero := s.Number(0)
	init := make([]kernel.Value, s.side)
	for c := range init {
		inside := s.And2(s.IsLess(s.row, s.n), s.IsLess(s.Index(c), s.n))
		init[c] = s.Select(inside, s.LoadShared(s.tile, s.in(s.mine, s.row, s.Index(c))), zero)
	}
	s.inside = []kernel.Value{s.IsLess(s.row, s.n)}
	out := s.Loop(s.Index(0), s.n, s.Index(1), append(init, s.row, s.Number(1)), func(k kernel.Value, v []kernel.Value) []kernel.Value {
		return s.column(k, v[:s.side], v[s.side], v[s.side+1])
	})
	return out[s.side], out[s.side+1]
}

// column eliminates column k, the first of what is left of a row.
func (s *smallPart) column(k kernel.Value, a []kernel.Value, at, sign kernel.Value) []kernel.Value {
	first := s.Mul(s.mine, s.Index(s.side))
	s.keep(s.me, s.candidate(luState{a: [][]kernel.Value{a}, at: []kernel.Value{at}}, k))
	s.Barrier()
	place := s.best(first, s.side, 1).place
	chosen := s.And2(s.inside[0], s.IsEqual(at, place))
	mine := s.in(s.mine, s.row, s.Index(0))
	s.IfThen(chosen, func() {
		for i, v := range a {
			s.StoreShared(s.pivot, s.Add(first, s.Index(i)), v)
			// What is beyond the row goes where nothing is read.
			s.StoreShared(s.tile, s.Add(mine, s.Min(s.Add(k, s.Index(i)), s.Index(s.side))), v)
		}
	})
	s.Barrier()
	head := s.LoadShared(s.pivot, first)
	next := s.Select(chosen, k, s.Select(s.IsEqual(at, k), place, at))
	below := s.IsLess(k, next)
	rest := s.If(s.And2(below, s.Not(s.Zero(head))), func() []kernel.Value {
		q := s.Over(a[0], head)
		s.StoreShared(s.tile, s.Add(mine, k), q)
		var rest []kernel.Value
		for i, v := range a[1:] {
			rest = append(rest, s.Less(q, s.LoadShared(s.pivot, s.Add(first, s.Index(i+1))), v))
		}
		return rest
	}, func() []kernel.Value {
		s.IfThen(below, func() { s.StoreShared(s.tile, s.Add(mine, k), a[0]) })
		return a[1:]
	})
	rest = append(append([]kernel.Value(nil), rest...), s.Number(0), next)
	return append(rest, s.Select(s.IsEqual(place, k), sign, s.Neg(sign)))
}

// took is the row that took place i.
func (s *smallPart) took(matrix, i kernel.Value) kernel.Value {
	return s.LoadShared(s.places, s.Add(s.Mul(matrix, s.Index(s.side)), i))
}

// storeParts writes p, l and u.
func (s *smallPart) storeParts() {
	zero, one := s.Number(0), s.Number(1)
	s.each(func(matrix, i, c kernel.Value) []kernel.Value {
		return []kernel.Value{s.LoadShared(s.tile, s.in(matrix, s.took(matrix, i), c)), s.took(matrix, c)}
	}, func(at, _, i, c kernel.Value, vs []kernel.Value) {
		v, above := vs[0], s.IsLess(c, i)
		factor.StoreElement(s.Emitter, 1, at, s.Select(s.IsEqual(vs[1], i), one, zero))
		factor.StoreElement(s.Emitter, 2, at, s.Select(s.IsEqual(i, c), one, s.Select(above, v, zero)))
		factor.StoreElement(s.Emitter, 3, at, s.Select(above, zero, v))
	})
}

// storePacked writes l and u in one matrix, the signs, and the rows that took places.
func (s *smallPart) storePacked(sign kernel.Value) {
	s.each(func(matrix, i, c kernel.Value) []kernel.Value {
		return []kernel.Value{s.LoadShared(s.tile, s.in(matrix, s.took(matrix, i), c))}
	}, func(at, _, _, _ kernel.Value, vs []kernel.Value) { factor.StoreElement(s.Emitter, 1, at, vs[0]) })
	matrix := s.Add(s.group, s.mine)
	s.IfThen(s.And2(s.inside[0], s.IsLess(matrix, s.count)), func() {
		at := s.Add(s.Mul(matrix, s.n), s.row)
		factor.StoreElement(s.Emitter, 2, at, s.Select(s.IsEqual(s.row, s.Index(0)), sign, s.Number(1)))
		s.Store(3, at, s.took(s.mine, s.row))
	})
}

// Permute appends the rows of matrices of some columns, in the order of those of the factors.
func (f *Small) Permute(to, from factor.Matrices, cols int) {
	all := f.Count * f.N * cols
	p := &codegen.Program{Local: codegen.GPULocal, Groups: (all + codegen.GPULocal - 1) / codegen.GPULocal,
		Buffers: []codegen.Buffer{f.Buffer(to, lowering.Write), f.Buffer(from, lowering.Read), factor.Words(f.Was, f.Count*f.N, lowering.Read)}}
	p.Numbers = append([]int{all, f.N, cols}, factor.Places(to, from)...)
	p.Key = fmt.Sprintf("permute rows %v", f.Typ)
	p.Body = func(e *codegen.Emitter) error {
		all, n, cols := e.NextNumber(), e.NextNumber(), e.NextNumber()
		to, from := factor.GridOf(e, 0), factor.GridOf(e, 1)
		u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
		e.IfThen(e.IsLess(u, all), func() {
			row, c := e.DivMod(u, cols)
			matrix, i := e.DivMod(row, n)
			to.Of(matrix).Store(i, c, from.Of(matrix).Load(e.Load(2, row, 1)[0], c))
		})
		return nil
	}
	f.Run(p)
}
