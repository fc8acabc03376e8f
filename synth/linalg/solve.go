package linalg

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/linalg/lu"
	"nxvk/synth/linalg/triangular"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// eliminate appends the elimination of operand 0 with more columns beside it,
// which fill puts there.
func eliminate(j *factor.Job, more int, fill func(beside factor.Matrices)) *lu.LU {
	n := j.Side()
	lines := (n + lu.LuLine - 1) / lu.LuLine * lu.LuLine
	a := j.Fresh(n+more, lines).Transposed()
	j.Copy(a, j.Operand(0, n, n), n, n)
	if more > 0 {
		fill(a.From(0, n))
	}
	return lu.Factor(j, a, n, n+more)
}

// lowerLU plans the factors. A column of row numbers takes part in the exchanges: it
// says where each row was.
func lowerLU(j *factor.Job) {
	n := j.Side()
	if lu.IsSmall(j, n) {
		lu.Parted(j, j.Operand(0, n, n), j.Result(0, n, n), j.Result(1, n, n), j.Result(2, n, n), n)
		return
	}
	f := eliminate(j, 1, func(beside factor.Matrices) {
		j.Each(factor.Elementwise{Name: "row numbers", To: beside, From: nil, M: n, N: 1, F: factor.RowNumber})
	})
	j.Each(factor.Elementwise{Name: "lower", To: j.Result(1, n, n), From: []factor.Matrices{f.A}, M: n, N: n, F: factor.LowerUnit})
	j.Each(factor.Elementwise{Name: "upper", To: j.Result(2, n, n), From: []factor.Matrices{f.A}, M: n, N: n, F: factor.Upper})
	// Column k of the permutation has a 1 in the row where row k was.
	was := f.A.From(0, n).Transposed()
	was.Row = 0
	j.Each(factor.Elementwise{Name: "unit at", To: j.Result(0, n, n), From: []factor.Matrices{was}, M: n, N: n, F: factor.UnitAt})
}

// solve plans the x with a x = b, by elimination of a and b beside each other.
func solve(j *factor.Job) {
	n := j.Side()
	sides := j.Types[1].Shape.Size() / (j.Count * n)
	b, x := j.Operand(1, n, sides), j.Result(0, n, sides)
	if lu.IsSmall(j, n) {
		solveSmall(j, b, x, n, sides)
		return
	}
	f := eliminate(j, sides, func(beside factor.Matrices) { j.Copy(beside, b, n, sides) })
	j.Solvable(f.A, n, factor.TheMatrix)
	right := f.A.From(0, n)
	triangular.Substitute(j, triangular.Triangle{T: f.A, N: n, Unit: true}, right, right, sides)
	to, short := right, triangular.OneStep(j, n)
	if short {
		to = x
	}
	triangular.Substitute(j, triangular.Triangle{T: f.A.Backward(n, n), N: n, Unit: false},
		triangular.UpsideDown(right, n), triangular.UpsideDown(to, n), sides)
	if !short {
		j.Copy(x, right, n, sides)
	}
}

// solveSmall plans the solution of small systems.
func solveSmall(j *factor.Job, b, x factor.Matrices, n, sides int) {
	f := lu.FactorSmall(j, j.Operand(0, n, n), n)
	j.Solvable(f.A, n, factor.TheMatrix)
	right := j.Fresh(n, sides)
	f.Permute(right, b, sides)
	triangular.Substitute(j, triangular.Triangle{T: f.A, N: n, Unit: true}, right, right, sides)
	triangular.Substitute(j, triangular.Triangle{T: f.A.Backward(n, n), N: n, Unit: false},
		triangular.UpsideDown(right, n), triangular.UpsideDown(x, n), sides)
}

// determinant plans the product of the pivots, or that of the expansion of small
// matrices, which is exact for small whole numbers.
func determinant(j *factor.Job) {
	n := j.Side()
	w := &determinantWriter{n: n, t: j.Typ}
	a, signs := factor.Matrices{}, factor.Matrices{}
	if n <= 3 {
		a = j.Operand(0, n, n)
		signs = a
	} else if w.n = 0; lu.IsSmall(j, n) {
		f := lu.FactorSmall(j, j.Operand(0, n, n), n)
		a, signs = f.A, f.Signs
	} else {
		f := eliminate(j, 0, nil)
		a, signs = f.A, f.Signs
	}
	p := &codegen.Program{Local: factor.UpdateLocal, Groups: (j.Count + factor.UpdateLocal - 1) / factor.UpdateLocal, Body: w.write,
		Flops:   int64(j.Count * n),
		Buffers: []codegen.Buffer{j.Buffer(a, lowering.Read), j.Buffer(signs, lowering.Read), j.Buffer(j.Result(0, 1, 1), lowering.Write)}}
	p.Numbers = append([]int{j.Count, n}, factor.Places(a, signs)...)
	p.Key = fmt.Sprintf("determinant %v n=%d", w.t, w.n)
	j.Run(p)
}

type determinantWriter struct {
	n int // of small matrices; 0 for others
	t scalar.Type
}

func (w *determinantWriter) write(e *codegen.Emitter) error {
	x := factor.Arith{Emitter: e, T: w.t}
	count, n := e.NextNumber(), e.NextNumber()
	a, signs := factor.GridOf(e, 0), factor.GridOf(e, 1)
	b := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
	e.IfThen(e.IsLess(b, count), func() {
		a, signs := a.Of(b), signs.Of(b)
		if w.n == 0 {
			factor.StoreElement(e, 2, b, w.pivots(x, a, signs, n))
			return
		}
		var m []kernel.Value
		for i := range w.n * w.n {
			m = append(m, a.Load(e.Index(i/w.n), e.Index(i%w.n)))
		}
		factor.StoreElement(e, 2, b, expansion(x, m, w.n))
	})
	return nil
}

// expansion is the determinant of a small matrix by its permutations.
func expansion(x factor.Arith, m []kernel.Value, n int) kernel.Value {
	mul := func(i, k int) kernel.Value { return x.Mul(m[i], m[k]) }
	switch n {
	case 1:
		return m[0]
	case 2:
		return x.Sub(mul(0, 3), mul(1, 2))
	}
	sum := x.Mul(mul(0, 4), m[8])
	sum = x.Add(sum, x.Mul(mul(1, 5), m[6]))
	sum = x.Add(sum, x.Mul(mul(2, 3), m[7]))
	sum = x.Sub(sum, x.Mul(mul(2, 4), m[6]))
	sum = x.Sub(sum, x.Mul(mul(1, 3), m[8]))
	return x.Sub(sum, x.Mul(mul(0, 5), m[7]))
}

// pivots is the product of the pivots and of the signs of the exchanges. Factors
// and product are kept near 1 by powers of a large number, since the product of
// some of the pivots may be out of range where that of all is not.
func (w *determinantWriter) pivots(x factor.Arith, a, signs factor.Grid, n kernel.Value) kernel.Value {
	step := 0x1p48
	if w.t.Part() == scalar.F64 {
		step = 0x1p400
	}
	up, down, one := x.Real(step), x.Real(1/step), x.Index(1)
	c := x.Loop(x.Index(0), n, one, []kernel.Value{x.Number(1), x.Index(0), x.Index(0)},
		func(i kernel.Value, c []kernel.Value) []kernel.Value {
			ups, downs := c[1], c[2]
			near := func(v kernel.Value) kernel.Value {
				for range 2 {
					size := x.Abs(v)
					over := x.Compare(scalar.Lt, up, size)
					under := x.And2(x.Compare(scalar.Lt, size, down), x.Not(x.Zero(v)))
					v = x.Mul(v, x.Select(over, down, x.Select(under, up, x.Real(1))))
					ups, downs = x.Select(over, x.Add(ups, one), ups), x.Select(under, x.Add(downs, one), downs)
				}
				return v
			}
			v := near(x.Mul(a.Load(i, i), signs.Load(x.Index(0), i)))
			return []kernel.Value{near(x.Mul(c[0], v)), ups, downs}
		})
	again := func(p, times, by kernel.Value) kernel.Value {
		return x.Loop(x.Index(0), times, one, []kernel.Value{p}, func(_ kernel.Value, c []kernel.Value) []kernel.Value {
			return []kernel.Value{x.Mul(c[0], by)}
		})[0]
	}
	both := x.Min(c[1], c[2])
	return again(again(c[0], x.Sub(c[1], both), up), x.Sub(c[2], both), down)
}
