package conformance

import (
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
)

// TestFewIntegers: functions of a few integers, which are converted on the way. A kernel computes so few one by one, and drivers
// compile that otherwise than vectors.
func TestFewIntegers(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for op := range ops.Count {
			f := op.Info()
			if f.Kind != ops.Pointwise || f.Arity != 1 || f.Result != ops.FloatType || f.Code.For(ops.Float) == "" {
				continue
			}
			for _, in := range []ops.DType{ops.S8, ops.S16, ops.S32, ops.S64, ops.U8, ops.U32} {
				for _, size := range []int{1, 3, 5} {
					c := instr{op: op, types: []ops.Type{{DType: in, Shape: ops.Shape{size}}}}
					c.infer(t, ops.F32)
					if !rarely(4, &c) {
						continue
					}
					s := newSampler(seed(op, in, size))
					c.data = [][]byte{s.representable(c.types[0], f.Domain, false)}
					n.near(t, d, host, &c, tolerances(f, ops.F32))
				}
			}
		}
		n.report(t)
	})
}
