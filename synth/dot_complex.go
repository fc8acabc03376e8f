package synth

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/gemm"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
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
func lowerComplexDot(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	out := in.Outs[0].Type
	d := &dot{plan: &Plan{Alias: -1}, t: t, wide: out.DType}
	left, right, k := pairAxes(types[0].Shape, types[1].Shape, in.Attrs)
	a, err := d.operand(in, types, 0, left)
	if err != nil {
		return nil, err
	}
	if k > 1 && a.contract != 1 {
		if a, err = d.ordered(a.ref, left); err != nil {
			return nil, err
		}
	}
	b, err := d.operand(in, types, 1, right)
	if err != nil {
		return nil, err
	}
	n, batch := right.free(), left.batches()
	twice, err := d.expand(b, batch, k, n)
	if err != nil {
		return nil, err
	}
	p := gemm.Problem{Type: out.DType.Real(), M: left.free(), N: 2 * n, K: 2 * k, Batch: batch}
	p.A = gemm.Strides{Row: 2 * a.free, Col: 1, Batch: 2 * a.batch}
	p.B = gemm.Strides{Row: 2 * n, Col: 1, Batch: 4 * k * n}
	return d.plan, d.product(p, a.ref, twice, Ref{Result, 0})
}

// ordered transposes an operand to a dense batch of matrices.
func (d *dot) ordered(from Ref, ax axes) (matrix, error) {
	typ := ops.Type{DType: d.wide, Shape: ax.shape}
	to := d.temp(typ.Bytes())
	err := d.transpose(typ, ax.order(), from, to)
	m := ax.ordered()
	m.ref = to
	return m, err
}

// expand makes the right matrix: a batch of matrices of 2k rows and n complex
// columns, where an element is above what it is times i.
func (d *dot) expand(b matrix, batch, k, n int) (Ref, error) {
	to := bufferOf(d.temp(2*batch*k*n*d.wide.Size()), d.wide)
	for row, times := range []string{"1", "i"} {
		j := &mapJob{key: fmt.Sprintf("%v times %s", d.wide, times), dims: []int{batch, k, n}, to: to,
			ins: []source{{view: view{strides: []int{b.batch, b.contract, b.free}}, buffer: bufferOf(b.ref, d.wide)}},
			out: view{offset: row * n, strides: []int{2 * k * n, 2 * n, 1}}}
		j.bodies = func(e *emitter, xs []kernel.Value) ([]kernel.Value, error) {
			if row == 0 {
				return xs, nil
			}
			return []kernel.Value{e.Prim(scalar.Neg, wide(d.wide), xs[1]), xs[0]}, nil
		}
		if err := d.append(j); err != nil {
			return Ref{}, err
		}
	}
	return to.ref, nil
}
