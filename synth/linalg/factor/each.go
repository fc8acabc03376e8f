package factor

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// Elementwise makes each element of m by n matrices of those at the same place
// of others.
type Elementwise struct {
	Name string // of the function
	To   Matrices
	From []Matrices
	M, N int
	F    func(x Arith, i, k kernel.Value, from []kernel.Value) kernel.Value
}

// Each appends an elementwise step.
func (j *Job) Each(s Elementwise) {
	size := s.M * s.N
	if size == 0 {
		return
	}
	p := &codegen.Program{Local: codegen.GPULocal, Groups: (j.Count*size + codegen.GPULocal - 1) / codegen.GPULocal, Flops: int64(j.Count * size),
		Buffers: []codegen.Buffer{j.Buffer(s.To, lowering.Write)}}
	for _, f := range s.From {
		p.Buffers = append(p.Buffers, j.Buffer(f, lowering.Read))
	}
	p.Numbers = append([]int{j.Count * size, size, s.N}, Places(append([]Matrices{s.To}, s.From...)...)...)
	p.Key = fmt.Sprintf("matrices %s %v of %d", s.Name, j.Typ, len(s.From))
	t := j.Typ
	p.Body = func(e *codegen.Emitter) error {
		x := Arith{e, t}
		all, size, n := e.NextNumber(), e.NextNumber(), e.NextNumber()
		to := GridOf(e, 0)
		var from []Grid
		for i := range s.From {
			from = append(from, GridOf(e, 1+i))
		}
		u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
		e.IfThen(e.IsLess(u, all), func() {
			b, at := e.DivMod(u, size)
			i, k := e.DivMod(at, n)
			var vs []kernel.Value
			for _, g := range from {
				vs = append(vs, g.Of(b).Load(i, k))
			}
			to.Of(b).Store(i, k, s.F(x, i, k, vs))
		})
		return nil
	}
	j.Run(p)
}

// Copy appends a copy of m by n matrices.
func (j *Job) Copy(to, from Matrices, m, n int) {
	j.Each(Elementwise{"copy", to, []Matrices{from}, m, n,
		func(_ Arith, _, _ kernel.Value, from []kernel.Value) kernel.Value { return from[0] }})
}

// LowerUnit and Upper are the triangles of factors that share a matrix.
func LowerUnit(x Arith, i, k kernel.Value, from []kernel.Value) kernel.Value {
	return x.Select(x.IsEqual(i, k), x.Number(1), x.Select(x.IsLess(k, i), from[0], x.Number(0)))
}

func Upper(x Arith, i, k kernel.Value, from []kernel.Value) kernel.Value {
	return x.Select(x.IsLess(k, i), x.Number(0), from[0])
}

// RowNumber is the number of the row.
func RowNumber(x Arith, i, _ kernel.Value, _ []kernel.Value) kernel.Value { return x.Convert(i, x.T) }

// UnitAt has 1 where the row is that of a number, and 0 elsewhere.
func UnitAt(x Arith, i, _ kernel.Value, from []kernel.Value) kernel.Value {
	return x.Select(x.Compare(scalar.Eq, x.Convert(i, x.T), from[0]), x.Number(1), x.Number(0))
}

// Zeros appends a matrix of zeros, unit one with a diagonal of ones.
func (j *Job) Zeros(to Matrices, m, n int) {
	j.Each(Elementwise{"zeros", to, nil, m, n, func(x Arith, _, _ kernel.Value, _ []kernel.Value) kernel.Value { return x.Number(0) }})
}

func (j *Job) Unit(to Matrices, m, n int) {
	j.Each(Elementwise{"identity", to, nil, m, n, func(x Arith, i, k kernel.Value, _ []kernel.Value) kernel.Value {
		return x.Select(x.IsEqual(i, k), x.Number(1), x.Number(0))
	}})
}

func Minus(x Arith, _, _ kernel.Value, from []kernel.Value) kernel.Value {
	return x.Sub(from[0], from[1])
}
