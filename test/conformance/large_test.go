package conformance

import (
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/draw"
)

// The remainder is exact however large the quotient is.
func TestLargeQuotients(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		x := []float64{3, 1 << 12, 108329343, 1<<31 - 1, -1943794987, 1e12, 1e17, 1e20, -0x1p100, 0x1.fffffep127}
		y := []float64{1, 3, -7, 10, 1e-5, 3.3079042434692383, -1.5248899459838867, 0x1p-120, 0x1.8p-126}
		for _, in := range [][3]ops.DType{{ops.F64, ops.F64, ops.F64}, {ops.F32, ops.F32, ops.F32}, {ops.S64, ops.F32, ops.F32}} {
			c := instr{op: ops.Remainder, types: []ops.Type{{DType: in[0], Shape: ops.Shape{len(x), 1}}, {DType: in[1], Shape: ops.Shape{len(y)}}}}
			c.infer(t, in[2])
			xs := x
			if in[0] == ops.S64 {
				xs = append(x[:6:6], 1e15, -1e16, 1<<53-1, 77)
			}
			c.data = [][]byte{draw.Encode(xs, c.types[0]), draw.Encode(y, c.types[1])}
			n.near(t, d, host, &c, tolerance{})
		}
		n.report(t)
	})
}

// Large numbers that are not whole are rounded too.
func TestLargeRounding(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		x := []float64{0.5, 1<<22 + 0.5, 1<<23 - 0.5, 1<<24 + 0.5, 1<<30 + 0.75, 1<<31 + 0.5, 1<<40 + 0.5, 1<<51 + 0.5, 1<<52 - 0.5, 1<<52 + 1}
		for _, v := range x {
			x = append(x, -v)
		}
		for _, dt := range []ops.DType{ops.F32, ops.F64} {
			for _, op := range []ops.Op{ops.Floor, ops.Ceil, ops.Round} {
				c := instr{op: op, types: []ops.Type{{DType: dt, Shape: ops.Shape{len(x)}}}}
				c.infer(t, dt)
				c.data = [][]byte{draw.Encode(x, c.types[0])}
				n.same(t, d, host, &c)
			}
		}
		n.report(t)
	})
}
