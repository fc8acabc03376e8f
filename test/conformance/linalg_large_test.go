package conformance

import (
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/fewtest"
)

// A matrix of several blocks of panels: p (l (u w)) is a w for a vector w, and no
// element of l is larger than 1.
func TestLULarge(t *testing.T) {
	onGPU(t, func(t *testing.T, d, _ *exectest.Driver) {
		n := fewtest.Of(2100, 1100)       // blocks have 512 columns
		if target.SharedMemory < 48<<10 { // whose blocks are narrow
			n = 520
		}
		r := rand.New(rand.NewPCG(4, 8))
		for _, dt := range []ops.DType{ops.F32, ops.F64} {
			of := ops.Type{DType: dt, Shape: ops.Shape{n, n}}
			x := normal(r, of)
			f := new(tally).factors(t, d, ops.LU, []ops.Type{of, of, of}, nil, x)
			for i, v := range f[1].v {
				if math.Abs(v) > 1 {
					t.Fatalf("%v: l has %v in row %d and column %d", of, v, i/n, i%n)
				}
			}
			w := normal(r, with(of, n, 1)).matrices()
			p, l, u := f[0].matrices(), f[1].matrices(), f[2].matrices()
			residual(t, "p l u w", dt, p.times(l.times(u.times(w))), x.matrices().times(w), x.matrices())
		}
	})
}
