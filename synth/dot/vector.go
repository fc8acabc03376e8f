package dot

import (
	"nxvk/ops"
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
)

// Vector is a product of one vector and one matrix, whose results lie in memory as the rows of the matrix do.
type Vector struct {
	gemm.Wide
	Operands ops.DType // type of their elements in memory
	Of       int       // the operand that is the vector; the other one is the matrix
	Results  int
	K        int
	Lead     int // elements of the matrix between neighbours in k
	Stride   int // elements of the vector between them
}

// VectorOf finds a product of one vector that gemm carries out in one kernel whose invocations share out the results,
// and whose operands are loaded as they are. Sums are of f32.
func VectorOf(in *ops.Instr, types []ops.Type, t *lowering.Target) (v Vector, ok bool) {
	typ := types[0].DType
	if in.Op != ops.Dot || in.Ins[0].Lit != nil || in.Ins[1].Lit != nil || t.CPU || in.Outs[0].Type.DType.Wide() != ops.F32 ||
		types[1].DType != typ || typ.Wide() != ops.F32 || typ != ops.F32 && !loads(typ, t) {
		return v, false
	}
	left, right, k := pairAxes(types[0].Shape, types[1].Shape, in.Attrs)
	a, okA := left.collapse()
	b, okB := right.collapse()
	if !okA || !okB || k == 0 || in.Outs[0].Type.Size() == 0 {
		return v, false
	}
	p, g := problem(ops.F32, &left, &right, k, a, b), GEMMTarget(t)
	if typ != ops.F32 {
		if _, hardware := g.MatrixProduct(typ, p.M, p.N, p.K, p.Batch); hardware {
			return v, false
		}
		p.Operands = typ
	}
	w, flip, ok := p.WideVector(g)
	if !ok || typ != ops.F32 && !t.Addresses {
		return v, false
	}
	v = Vector{Wide: w, Operands: typ, Of: 1, Results: p.M, K: k, Lead: p.A.Col, Stride: p.B.Row}
	if flip {
		v.Of, v.Results, v.Lead, v.Stride = 0, p.N, p.B.Row, p.A.Col
	}
	return v, true
}
