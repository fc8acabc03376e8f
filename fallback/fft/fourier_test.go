package fft

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// slowTransform is the sum that a transform is, of a few of its elements.
func slowTransform(x []complex128, ks []int) []complex128 {
	out := make([]complex128, len(ks))
	for i, k := range ks {
		for j, v := range x {
			at := uint64(j) * uint64(k) % uint64(len(x))
			sin, cos := math.Sincos(-2 * math.Pi * float64(at) / float64(len(x)))
			out[i] += v * complex(cos, sin)
		}
	}
	return out
}

// Lengths of all kinds are transformed: small ones, products of small primes, primes, and
// products of a large prime.
func TestForward(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	lengths := []int{1, 2, 3, 64, 509, 521, 1009, 4096, 8192, 8193, 16384, 3 << 13, 10007, 2 * 10007, 65537, 1 << 17, 100_000, 3 * 50021}
	for range 12 {
		lengths = append(lengths, 1+r.IntN(40_000))
	}
	for _, n := range lengths {
		x := make([]complex128, n)
		norm := 0.0
		for i := range x {
			x[i] = complex(r.NormFloat64(), r.NormFloat64())
			norm += real(x[i])*real(x[i]) + imag(x[i])*imag(x[i])
		}
		ks := []int{0, n - 1, n / 2, r.IntN(n), r.IntN(n)}
		want := slowTransform(x, ks)
		got := make([]complex128, n)
		forward(nil, got, x)
		for i, k := range ks {
			if off := cmplx.Abs(got[k] - want[i]); off > 1e-12*math.Sqrt(norm)*math.Log2(float64(n)+2) {
				t.Errorf("length %d, element %d: %v, want %v (off by %g)", n, k, got[k], want[i], off)
			}
		}
	}
}

// No length takes gonum the square of it.
func TestSplitLength(t *testing.T) {
	for n := 1; n < 1<<15; n++ {
		switch rows := splitLength(n); {
		case rows == n && n > shortLine, rows != 1 && n%rows != 0:
			t.Fatalf("length %d has %d rows", n, rows)
		}
	}
	if rows := splitLength(1_000_003); rows != 1 {
		t.Errorf("a prime has %d rows", rows)
	}
}
