package conformance

import (
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/draw"
)

// Functions of rows of any length give the bits of their instructions, one after another.
func TestDrawnRows(t *testing.T) {
	modes(t, func(t *testing.T, d, _ *exectest.Driver, gpu bool) {
		fused := 0
		for seed := range seedCount(20, 400) {
			r := rand.New(rand.NewPCG(seed, 1))
			n := []int{1 + r.IntN(20), 1 + r.IntN(300), 1 + r.IntN(5000), 16000 + r.IntN(50000)}[seed%4]
			if r.IntN(2) == 0 {
				n = (n + 3) / 4 * 4
			}
			typ := ops.Type{DType: []ops.DType{ops.F32, ops.F32, ops.BF16, ops.F16}[r.IntN(4)],
				Shape: ops.Shape{1 + r.IntN(min(300, 1+200000/n)), n}}
			c := instr{op: ops.Sum, attrs: [][]int{{1}, {1}}, types: []ops.Type{typ}}
			c.infer(t, typ.DType)
			fused += inFusions(t, d, seed, &c, rows(&c))
		}
		if fused == 0 {
			t.Error("no function of rows took fewer dispatches in fusions")
		}
	})
}

// rows is a softmax of weighted elements, and the extremes of its rows.
func rows(c *instr) *ops.Region {
	p, typ := draw.NewBuilder(), c.types[0]
	x := p.Do(ops.Multiply, typ, nil, p.Param(typ), p.Param(ops.Type{DType: typ.DType, Shape: typ.Shape[1:]}))
	e := p.Do(ops.Exp, typ, nil, p.Do(ops.Subtract, typ, nil, x, p.Do(ops.ReduceMax, c.out, c.attrs, x)))
	y := p.Do(ops.Divide, typ, nil, e, p.Do(ops.Sum, c.out, c.attrs, e))
	return p.Region(y, p.Do(ops.ReduceMax, c.out, c.attrs, y))
}

// Reductions of tensors that are transposed give the bits of the transposition and the reduction, one after the other,
// although fusions load the tensor as it lies.
func TestTransposedReductions(t *testing.T) {
	modes(t, func(t *testing.T, d, _ *exectest.Driver, gpu bool) {
		fused := 0
		for seed := range seedCount(40, 400) {
			r := rand.New(rand.NewPCG(seed, 3))
			rank := 2 + r.IntN(3)
			typ := ops.Type{DType: []ops.DType{ops.F32, ops.F32, ops.BF16, ops.F64, ops.S32}[r.IntN(5)], Shape: make(ops.Shape, rank)}
			for i, left := 0, 400000; i < rank; i++ {
				typ.Shape[i] = 1 + int(r.Float64()*r.Float64()*float64(left))
				left = max(1, left/typ.Shape[i])
			}
			axes, reduced := r.Perm(rank), r.Perm(rank)[:1+r.IntN(rank-1)]
			slices.Sort(reduced)
			moved := ops.Type{DType: typ.DType, Shape: make(ops.Shape, rank)}
			for i, a := range axes {
				moved.Shape[i] = typ.Shape[a]
			}
			c := instr{op: []ops.Op{ops.Sum, ops.Sum, ops.ReduceMax}[r.IntN(3)], attrs: [][]int{reduced, {0}}, types: []ops.Type{moved}}
			c.infer(t, typ.DType)
			p := draw.NewBuilder()
			x := p.Do(ops.Transpose, moved, [][]int{axes}, p.Param(typ))
			fused += inFusions(t, d, seed, &c, p.Region(p.Do(c.op, c.out, c.attrs, x)))
		}
		if gpu && fused == 0 {
			t.Error("no reduction took fewer dispatches in fusions")
		}
	})
}
