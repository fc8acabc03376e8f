package triangular

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// sidesLocal is how many right-hand sides a workgroup has: few, so that there are many workgroups.
const (
	sidesLocal = 32
	sidesStep  = 4 // unknowns of a step of the loop, which the others move up by

	packedWide  = 16   // most unknowns of matrices of which a workgroup has several
	packedElems = 4096 // most words of their triangles
)

// bySides is the kernel of a block where an invocation solves for one right-hand side, in registers.
type bySides struct {
	t    scalar.Type
	wide int // most unknowns
	pack int // matrices of a workgroup: more than one if all their right-hand sides have an invocation
	step int // unknowns between which right-hand sides do not move
	unit bool
}

// newBySides returns the kernel for blocks of n unknowns.
func newBySides(j *factor.Job, n, sides int, unit bool) *bySides {
	w := &bySides{t: j.Typ, wide: factor.PanelWidth(n, triangularWide), pack: 1, step: sidesStep, unit: unit}
	for w.wide <= packedWide && w.pack < j.Count && 2*w.pack*sides <= sidesLocal && 2*w.pack*w.triangle()*j.Words() <= packedElems {
		w.pack *= 2
	}
	return w
}

// triangle is how many elements of a shared array a triangle has, with the columns that are read beyond it.
func (w *bySides) triangle() int { return w.wide * (w.wide + w.step) }

// run appends the step that finds the n unknowns x of a triangle and right-hand sides b.
func (w *bySides) run(j *factor.Job, t, b, x factor.Matrices, n, sides int) {
	groups := (sides + sidesLocal - 1) / sidesLocal
	p := &codegen.Program{Local: sidesLocal, Groups: (j.Count + w.pack - 1) / w.pack * groups, Body: w.write,
		Flops:   int64(j.Count) * int64(sides*n*n),
		Buffers: []codegen.Buffer{j.Buffer(t, lowering.Read), j.Buffer(b, lowering.Read), j.Buffer(x, lowering.Write)}}
	p.Numbers = append([]int{j.Count, groups, n, sides}, factor.Places(t, b, x)...)
	p.Key = fmt.Sprintf("substitute %v wide=%d pack=%d unit=%v", w.t, w.wide, w.pack, w.unit)
	j.Run(p)
}

// sidesWriter has the values of the kernel.
type sidesWriter struct {
	*bySides
	factor.Arith
	t              factor.Grid
	count, n       kernel.Value
	first          kernel.Value // matrix of the workgroup
	mine           kernel.Value // which matrix of the workgroup the invocation has
	block, inverse int          // shared arrays: the triangle by columns, and the reciprocals of its diagonal
}

func (w *bySides) write(e *codegen.Emitter) error {
	k := &sidesWriter{bySides: w, Arith: factor.Arith{Emitter: e, T: w.t}}
	count, groups := e.NextNumber(), e.NextNumber()
	k.count, k.n = count, e.NextNumber()
	sides := e.NextNumber()
	t, from, to := factor.GridOf(e, 0), factor.GridOf(e, 1), factor.GridOf(e, 2)
	group, part := e.DivMod(e.Group(), groups)
	k.t, k.first = t, e.Mul(group, e.Index(w.pack))
	side := e.Add(e.Mul(part, e.Index(e.Local)), e.Invocation())
	k.mine = e.Index(0)
	if w.pack > 1 {
		k.mine, side = e.DivMod(e.Invocation(), sides)
	}
	matrix := e.Add(k.first, k.mine)
	from, to = from.Of(matrix), to.Of(matrix)
	k.block = e.Shared(w.t, w.pack*w.triangle())
	if k.inverts() {
		k.inverse = e.Shared(w.t, w.pack*w.wide)
	}
	e.When(e.IsLess(k.first, count), func() {
		k.fill()
		active := e.IsLess(side, sides)
		if w.pack > 1 {
			active = e.And2(e.IsLess(k.mine, e.Index(w.pack)), e.IsLess(matrix, count))
		}
		e.IfThen(active, func() {
			// Beyond the matrix, the last right-hand side is read again, so that loads do not wait for each
			// other. Nothing comes of it: the unknowns there are not stored.
			b, last := make([]kernel.Value, w.wide), e.Sub(k.n, e.Index(1))
			for i := range b {
				b[i] = from.Load(e.Min(e.Index(i), last), side)
			}
			e.Loop(e.Index(0), k.n, e.Index(w.step), b, func(at kernel.Value, b []kernel.Value) []kernel.Value {
				x, rest := k.next(at, b)
				for i, v := range x {
					row := e.Add(at, e.Index(i))
					e.IfThen(e.IsLess(row, k.n), func() { to.Store(row, side, v) })
				}
				return rest
			})
		})
	})
	return nil
}

// inverts reports whether the kernel multiplies by reciprocals of the diagonal.
func (w *bySides) inverts() bool { return !w.unit && !w.t.Complex() }

// next finds the unknowns from at on, as many as a step has, which are the first of what is left, and takes
// them off the others, which move up. What comes in at the end is of no use.
func (k *sidesWriter) next(at kernel.Value, b []kernel.Value) (x, rest []kernel.Value) {
	corner := k.Add(k.Mul(k.mine, k.Index(k.triangle())), k.Mul(at, k.Index(k.wide+1)))
	element := func(i, c int) kernel.Value {
		return k.LoadShared(k.block, k.Add(corner, k.Index(c*k.wide+i)))
	}
	d := diagonal{Arith: k.Arith, unit: k.unit}
	t := make([][]kernel.Value, k.step)
	for c := range t {
		if !k.unit {
			d.d = append(d.d, element(c, c))
		}
		if k.inverts() {
			d.r = append(d.r, k.LoadShared(k.inverse, k.Add(k.Add(k.Mul(k.mine, k.Index(k.wide)), at), k.Index(c))))
		}
		t[c] = make([]kernel.Value, k.step)
		for i := c + 1; i < k.step; i++ {
			t[c][i] = k.Neg(element(i, c))
		}
	}
	x = d.solve(t, b[:k.step])
	minus := make([]kernel.Value, k.step)
	for c, v := range x {
		minus[c] = k.Neg(v)
	}
	rest = append(rest, b[k.step:]...)
	for c := range k.step {
		for i := range rest {
			rest[i] = k.Fma(minus[c], element(k.step+i, c), rest[i])
		}
	}
	for range k.step {
		rest = append(rest, k.Number(0))
	}
	return x, rest
}

// fillAhead is how many elements of the triangle an invocation reads before it writes
// them.
const fillAhead = 16

// fill copies the triangles to shared memory, column by column, with ones on the diagonal beyond the matrix.
func (k *sidesWriter) fill() {
	all := k.pack * k.wide * k.wide
	part := min(all, fillAhead*sidesLocal)
	place := func(u kernel.Value) (matrix, i, c kernel.Value) {
		matrix, u = k.DivMod(u, k.Index(k.wide*k.wide))
		i, c = k.DivMod(u, k.Index(k.wide))
		return matrix, i, c
	}
	k.For(k.Index(0), k.Index(all), k.Index(part), func(at kernel.Value) {
		k.DealOut(part, func(u kernel.Value) kernel.Value {
			matrix, i, c := place(k.Add(at, u))
			matrix = k.Add(k.first, matrix)
			inside := k.And2(k.IsLess(i, k.n), k.Compare(scalar.Le, c, i))
			if k.pack > 1 {
				inside = k.And2(inside, k.IsLess(matrix, k.count))
			}
			return k.t.Of(matrix).LoadOr(inside, i, c, k.Select(k.IsEqual(i, c), k.Number(1), k.Number(0)))
		}, func(u, v kernel.Value) {
			matrix, i, c := place(k.Add(at, u))
			k.StoreShared(k.block, k.Add(k.Mul(matrix, k.Index(k.triangle())), k.Add(k.Mul(c, k.Index(k.wide)), i)), v)
		})
	})
	k.Barrier()
	if k.inverts() {
		k.DealOut(k.pack*k.wide, func(u kernel.Value) kernel.Value {
			matrix, i := k.DivMod(u, k.Index(k.wide))
			return reciprocal(k.Arith, k.LoadShared(k.block, k.Add(k.Mul(matrix, k.Index(k.triangle())), k.Mul(i, k.Index(k.wide+1)))))
		}, func(u, v kernel.Value) { k.StoreShared(k.inverse, u, v) })
		k.Barrier()
	}
}
