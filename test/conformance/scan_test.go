package conformance

import (
	"math/rand/v2"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
)

// drawLines draws a tensor and an axis: short lines and long ones, few and many, whose elements are
// neighbours or lie apart.
func drawLines(r *rand.Rand) (s ops.Shape, axis int) {
	n := 2 + r.IntN([]int{7, 60, 300, 1100, 5000}[r.IntN(5)])
	if r.IntN(3) == 0 {
		n = (n + 3) / 4 * 4
	}
	lines := 1 + r.IntN(max(2, 1<<15/n))
	switch r.IntN(5) {
	case 0: // walked by a workgroup each
		return ops.Shape{256 + r.IntN(20), 4097 + r.IntN(1500)}, 1
	case 1:
		return ops.Shape{n, lines}, 0
	case 2:
		outer := 1 + r.IntN(8)
		return ops.Shape{outer, n, max(1, lines/outer)}, 1
	}
	return ops.Shape{lines, n}, 1
}

// Running folds of drawn lines, whose results are exact in any order.
func TestDrawnScans(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		const seed = 77
		r := rand.New(rand.NewPCG(seed, 1))
		cases := 20
		if gpu {
			cases = 30
		}
		types := []ops.DType{ops.F32, ops.F32, ops.F64, ops.BF16, ops.F16, ops.S32, ops.S64, ops.U8, ops.S16}
		all := []ops.Op{ops.CumulativeSum, ops.CumulativeProduct, ops.CumulativeMax, ops.CumulativeMin}
		var n tally
		for range cases {
			s, axis := drawLines(r)
			op, dt := all[r.IntN(len(all))], types[r.IntN(len(types))]
			c := instr{op: op, attrs: [][]int{{axis}, {r.IntN(2)}}, types: []ops.Type{{DType: dt, Shape: s}}}
			c.infer(t, dt)
			c.data = [][]byte{foldable(&c, accumulations[op])}
			n.near(t, d, host, &c, tolerance{})
		}
		n.report(t)
	})
}
