package synth

import (
	"testing"

	"nxvk/ops"
)

// Every row of the table that computes an element from those at its place, on every
// type that it has code for, comes into one kernel with what makes its operands and
// with what takes its result.
func TestTableFuses(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for op := range ops.Count {
			if op.Info().Kind != ops.Pointwise {
				continue
			}
			for _, d := range ops.DTypes() {
				in, types := sample(op, d)
				if in == nil {
					continue
				}
				if _, err := Lower(in, types, target); err != nil {
					continue // TestEveryRow says which may
				}
				g := newSketch(t)
				var args []any
				for _, typ := range types {
					x := g.param(typ.DType, typ.Shape...)
					args = append(args, g.do(ops.Add, typ.DType, x, g.param(typ.DType, typ.Shape...)))
				}
				out := in.Outs[0].Type
				y := g.do(op, out.DType, args...)
				g.keep(g.do(ops.Equal, ops.U8, y, g.param(out.DType, out.Shape...)))
				if units := Explain(&g.Graph, target); len(units) != 1 {
					t.Errorf("%v of %v:\n%s%s", op, d, story(units), show(units))
				}
			}
		}
	})
}

// Bits that are read as another type are part of the kernel, also where an element is
// less than a byte.
func TestFuseBitcast(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for from, to := range map[ops.DType]ops.DType{ops.U4: ops.S4, ops.S4: ops.U4, ops.S2: ops.U2, ops.F32: ops.U32,
			ops.BF16: ops.S16, ops.S64: ops.F64, ops.U8: ops.F8} {
			g := newSketch(t)
			x := g.do(ops.Multiply, from, g.param(from, 70), g.param(from, 70))
			y := g.do(ops.Bitcast, to, x)
			g.keep(g.do(ops.Subtract, to, y, g.do(ops.AsType, to, x)), y)
			wantUnits(t, g.check(target, 2), 1)
		}
	})
}
