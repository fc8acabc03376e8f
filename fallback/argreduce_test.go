package fallback

import (
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
)

// The extreme of one long line, which is searched in parts, is that of a loop.
func TestLongArgReduce(t *testing.T) {
	const block = 32 << 10 // how much is searched at a time
	r := rand.New(rand.NewPCG(5, 1))
	for _, n := range []int{block - 1, block, 3*block + 17} {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = math.Round(r.NormFloat64() * 1e3)
		}
		xs[n/3], xs[n/2], xs[n-2], xs[5] = 1e300, 1e300, 1e300, -1e300
		v := vec(ops.F64, xs...)
		out := func(op ops.Op, last int) float64 {
			return numbers(run(t, op, [][]int{{-1}, {0}, {last}}, typ(ops.S64), v))[0]
		}
		for _, c := range []struct{ got, want float64 }{
			{out(ops.ArgMax, 0), float64(n / 3)}, {out(ops.ArgMax, 1), float64(n - 2)},
			{out(ops.ArgMin, 0), 5}, {out(ops.ArgMin, 1), 5},
		} {
			if c.got != c.want {
				t.Errorf("%d elements: got %v, want %v", n, c.got, c.want)
			}
		}
		v = vec(ops.F64, append(xs[:n-3:n-3], NaN, 1, 2)...)
		if got := out(ops.ArgMin, 0); got != float64(n-3) {
			t.Errorf("the last NaN of %d elements: got %v, want %d", n, got, n-3)
		}
	}
}

// One element a place, in every width and with rows around it.
func TestTakeSingle(t *testing.T) {
	for _, d := range ops.DTypes() {
		m := tensor(d, ops.Shape{2, 3}, 0, 1, 2, 3, 2, 1)
		idx, n := vec(ops.S32, 2, 0, 0, 1), numbers(m)
		want(t, run(t, ops.Take, [][]int{{1}}, typ(d, 2, 4), m, idx), n[2], n[0], n[0], n[1], n[5], n[3], n[3], n[4])
		pairs := tensor(ops.S64, ops.Shape{3, 2}, 1, 0, 0, 2, 1, 2)
		want(t, run(t, ops.Gather, [][]int{{0, 1}}, typ(d, 3), m, pairs), n[3], n[2], n[5])
	}
}
