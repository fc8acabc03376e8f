package partition_test

import (
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// Every elementwise row of the table, on every type that it has code for, is fused
// with the producers of its operands and with the reader of its result.
func TestTableFuses(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for op := range ops.Count {
			if op.Info().Kind != ops.Pointwise {
				continue
			}
			for _, d := range ops.DTypes() {
				in, types := synthtest.Sample(op, d)
				if in == nil {
					continue
				}
				if _, err := synth.Lower(in, types, target); err != nil {
					continue // TestEveryRow says which may
				}
				g := synthtest.NewSketch(t)
				var args []any
				for _, typ := range types {
					x := g.Param(typ.DType, typ.Shape...)
					args = append(args, g.Do(ops.Add, typ.DType, x, g.Param(typ.DType, typ.Shape...)))
				}
				out := in.Outs[0].Type
				y := g.Do(op, out.DType, args...)
				g.Return(g.Do(ops.Equal, ops.U8, y, g.Param(out.DType, out.Shape...)))
				if fusions := synth.Explain(&g.Graph, target); len(fusions) != 1 {
					t.Errorf("%v of %v:\n%s%s", op, d, story(fusions), synthtest.Show(fusions))
				}
			}
		}
	})
}

// Bits that are read as another type are part of the kernel, also where an element is
// less than a byte.
func TestFuseBitcast(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for from, to := range map[ops.DType]ops.DType{ops.U4: ops.S4, ops.S4: ops.U4, ops.S2: ops.U2, ops.F32: ops.U32,
			ops.BF16: ops.S16, ops.S64: ops.F64, ops.U8: ops.F8} {
			g := synthtest.NewSketch(t)
			x := g.Do(ops.Multiply, from, g.Param(from, 70), g.Param(from, 70))
			y := g.Do(ops.Bitcast, to, x)
			g.Return(g.Do(ops.Subtract, to, y, g.Do(ops.AsType, to, x)), y)
			wantFusions(t, g.Check(target, 2), 1)
		}
	})
}
