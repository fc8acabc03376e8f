package linalg_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/synthtest"
)

// extreme draws a number of any magnitude, or one that is not finite, zero or subnormal.
func extreme(r *rand.Rand, d ops.DType) float64 {
	least, digits := -126, 23
	if d == ops.F64 {
		least, digits = -1022, 52
	}
	x := math.Ldexp(1+r.Float64(), least-digits+r.IntN(2*-least+digits))
	switch r.IntN(8) {
	case 0:
		x = []float64{0, math.Inf(1), math.NaN(), math.Ldexp(1, least), math.Ldexp(1, least-digits), math.Ldexp(1, -least+1)}[r.IntN(6)]
	case 1, 2, 3:
		x = r.NormFloat64()
	}
	if r.IntN(2) == 0 {
		x = -x
	}
	return x
}

// sameQuotient fails unless x is the quotient of b and d. If the remainder is below the normal numbers it may be
// off by two units in the last place.
func sameQuotient(t *testing.T, typ ops.DType, x, b, d float64) {
	t.Helper()
	least, digits, want := -126, 23, float64(float32(b/d))
	if typ == ops.F64 {
		least, digits, want = -1022, 52, b/d
	}
	if x == want && math.Signbit(x) == math.Signbit(want) || x != x && want != want {
		return
	}
	off := max(math.Ldexp(math.Abs(want), -digits), math.Ldexp(1, least-digits))
	if tiny := math.Abs(b) < math.Ldexp(1, least+digits+2); !tiny || !(math.Abs(x-want) <= 2*off) {
		t.Fatalf("%v: %g by %g is %g, want %g", typ, b, d, x, want)
	}
}

// A quotient by an element of the diagonal is that of a division, whatever the numbers are, with rows dealt out
// and with a right-hand side an invocation. The quotients are those of the last rows, on which no other depends.
func TestTriangularQuotients(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 8))
	for _, d := range []ops.DType{ops.F32, ops.F64} {
		for _, s := range []struct{ count, n, sides int }{{300, 40, 1}, {20, 20, 64}} {
			a := synthtest.Tensor{Typ: synthtest.Type(d, s.count, s.n, s.n), F: make([]float64, s.count*s.n*s.n)}
			b := synthtest.Tensor{Typ: synthtest.Type(d, s.count, s.n, s.sides), F: make([]float64, s.count*s.n*s.sides)}
			for i := range s.count * s.n {
				a.F[i*s.n+i%s.n] = 1
				if i%s.n == s.n-1 {
					a.F[i*s.n+i%s.n] = extreme(r, d)
					for k := range s.sides {
						b.F[i*s.sides+k] = extreme(r, d)
					}
				}
			}
			a, b = rounded(a), rounded(b)
			got := factorize(t, synthtest.GPU, ops.TriangularSolve, []ops.Type{b.Typ}, [][]int{{1}, {1}, {0}}, a, b)[0]
			for i := range s.count * s.n {
				for k := range s.sides {
					sameQuotient(t, d, got.F[i*s.sides+k], b.F[i*s.sides+k], a.F[i*s.n+i%s.n])
				}
			}
		}
	}
}

// Workgroups have several small matrices, in every form and at the end of the batch.
func TestSmallTriangles(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 9))
	for range 30 {
		d := []ops.DType{ops.F32, ops.F64}[r.IntN(2)]
		n, sides := 1+r.IntN(17), 1+r.IntN(1+r.IntN(32))
		at := ops.Type{DType: d, Shape: ops.Shape{1 + r.IntN(70), n, n}}
		bt := ops.Type{DType: d, Shape: ops.Shape{at.Shape[0], n, sides}}
		form := r.IntN(8)
		if form>>1&1 == 0 {
			bt.Shape[1], bt.Shape[2] = sides, n
		}
		solveTriangles(t, synthtest.GPU, at, bt, r.Uint64(), form)
	}
}
