package dot

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/elementwise"
	"nxvk/synth/gemm"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// A product of complex matrices is one of real matrices of twice the size. The left
// one is taken as it lies in memory, the parts of an element side by side along
// the sum. An element b of the right one becomes
//
//	[  re b   im b ]
//	[ -im b   re b ]
//
// and so the parts of the result lie as they should. There are as many
// multiplications as the four of each complex one.

// lowerComplexDot plans a dot whose result is complex.
func lowerComplexDot(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	out := in.Outs[0].Type
	d := &Builder{Plan: &lowering.Plan{Alias: -1}, Target: t, Wide: out.DType}
	left, right, k := pairAxes(types[0].Shape, types[1].Shape, in.Attrs)
	a, err := d.AddOperand(in, types, 0, left)
	if err != nil {
		return nil, err
	}
	if k > 1 && a.Contract != 1 {
		if a, err = d.ordered(a.Ref, left); err != nil {
			return nil, err
		}
	}
	b, err := d.AddOperand(in, types, 1, right)
	if err != nil {
		return nil, err
	}
	n, batch := right.free(), left.batches()
	twice, err := d.expand(b, batch, k, n)
	if err != nil {
		return nil, err
	}
	p := gemm.Problem{Type: out.DType.Real(), M: left.free(), N: 2 * n, K: 2 * k, Batch: batch}
	p.A = gemm.Strides{Row: 2 * a.Free, Col: 1, Batch: 2 * a.Batch}
	p.B = gemm.Strides{Row: 2 * n, Col: 1, Batch: 4 * k * n}
	return d.Plan, d.AddProduct(p, a.Ref, twice, lowering.Ref{Kind: lowering.Result, Index: 0})
}

// ordered transposes an operand to a dense batch of matrices.
func (d *Builder) ordered(from lowering.Ref, ax Axes) (matrix, error) {
	typ := ops.Type{DType: d.Wide, Shape: ax.Shape}
	to := d.NewTemp(typ.Bytes())
	err := d.AddTranspose(typ, ax.order(), from, to)
	m := ax.ordered()
	m.Ref = to
	return m, err
}

// expand makes the right matrix: a batch of matrices of 2k rows and n complex
// columns, where an element is above what it is times i.
func (d *Builder) expand(b matrix, batch, k, n int) (lowering.Ref, error) {
	to := codegen.BufferOf(d.NewTemp(2*batch*k*n*d.Wide.Size()), d.Wide)
	for row, times := range []string{"1", "i"} {
		j := &elementwise.Job{Key: fmt.Sprintf("%v times %s", d.Wide, times), Dims: []int{batch, k, n}, Result: to,
			Sources: []codegen.Source{{View: strided.View{Strides: []int{b.Batch, b.Contract, b.Free}}, Buffer: codegen.BufferOf(b.Ref, d.Wide)}},
			Out:     strided.View{Offset: row * n, Strides: []int{2 * k * n, 2 * n, 1}}}
		j.Bodies = func(e *codegen.Emitter, xs []kernel.Value) ([]kernel.Value, error) {
			if row == 0 {
				return xs, nil
			}
			return []kernel.Value{e.Prim(scalar.Neg, codegen.WideType(d.Wide), xs[1]), xs[0]}, nil
		}
		if err := d.Append(j); err != nil {
			return lowering.Ref{}, err
		}
	}
	return to.Ref, nil
}
