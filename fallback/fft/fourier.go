package fft

import (
	"math"
	"math/bits"
	"math/cmplx"

	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
)

// gonum transforms a line whose length is small and has small factors alone. A longer line is
// split into rows and columns (Bailey, FFTs in External or Hierarchical Memory, 1990): its
// parts take turns with other sessions and use all processors. A line whose length has a large
// prime factor becomes a convolution of a power of two (Bluestein, 1970), since gonum's time
// for a prime grows with its square.

const (
	// shortLine is the longest line that gonum transforms.
	shortLine = 1 << 13
	// shortWork bounds the length times its largest prime factor: gonum's time grows with
	// this product.
	shortWork = 1 << 18
)

// forward computes the transform of src in dst, without a scale. It overwrites src.
func forward(w *sched.Worker, dst, src []complex128) {
	n := len(src)
	rows := splitLength(n)
	switch {
	case n == 0:
	case rows == n:
		pool := fourierPlans.of(n)
		t := pool.Get().(*transform)
		t.plan.Coefficients(dst, src)
		pool.Put(t)
	case rows == 1:
		bluestein(w, dst, src)
	default:
		rowsAndColumns(w, dst, src, rows, n/rows)
	}
}

// LineCost estimates the time to transform a line of n elements, in ns.
func LineCost(n int) int {
	const line, element = 400, 8 // and for each element the sum of its factors, which are at least the logarithm
	if n > shortLine {
		return line + n*(element+2*bits.Len(uint(n)))
	}
	return line + n*(element+max(2*bits.Len(uint(n)), min(largestFactor(n), shortWork/n)))
}

// largestFactor is the largest prime factor of n, or 1.
func largestFactor(n int) int {
	largest := 1
	for p := 2; p*p <= n; p++ {
		for n%p == 0 {
			n, largest = n/p, p
		}
	}
	return max(largest, n)
}

// splitLength returns the number of rows that a line of n elements is split into. It returns n
// for a line that gonum transforms, and 1 for one that becomes a convolution.
func splitLength(n int) int {
	largest, rows := largestFactor(n), 1
	switch {
	case n <= shortLine && n*largest <= shortWork:
		return n
	case n == largest:
		return 1
	}
	for p := 2; p*p <= n; p++ { // the divisor next to the root: all parts are short
		if n%p == 0 {
			rows = p
		}
	}
	return rows
}

// rowsAndColumns computes a transform of length m·n: it transforms each column of an n by m
// matrix, multiplies by twiddle factors, and transforms each row.
func rowsAndColumns(w *sched.Worker, dst, src []complex128, m, n int) {
	twist := newRoots(m * n)
	between := make([]complex128, m*n)
	dense.ParallelOn(w, m, n*32, func(w *sched.Worker, lo, hi int) {
		x, y := make([]complex128, n), make([]complex128, n)
		for j := lo; j < hi; j++ {
			for i := range x {
				x[i] = src[i*m+j]
			}
			forward(w, y, x)
			for k, v := range y {
				between[k*m+j] = v * twist.at(j*k)
			}
		}
	})
	dense.ParallelOn(w, n, m*32, func(w *sched.Worker, lo, hi int) {
		y := make([]complex128, m)
		for k := lo; k < hi; k++ {
			forward(w, y, between[k*m:(k+1)*m])
			for i, v := range y {
				dst[i*n+k] = v
			}
		}
	})
}

// bluestein computes a transform as the convolution with a chirp.
func bluestein(w *sched.Worker, dst, src []complex128) {
	n := len(src)
	size := 1
	for size < 2*n-1 {
		size *= 2
	}
	// The chirp is exp(-iπk²/n); k² is taken modulo 2n, where it is exact.
	half := newRoots(2 * n)
	chirp := make([]complex128, n)
	dense.Parallel(w, n, 32, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			chirp[k] = half.at(int(uint64(k) * uint64(k) % uint64(2*n)))
		}
	})
	a, b := make([]complex128, size), make([]complex128, size)
	dense.Parallel(w, n, 4, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			a[k], b[k] = src[k]*chirp[k], cmplx.Conj(chirp[k])
			if k > 0 {
				b[size-k] = b[k]
			}
		}
	})
	fa, fb := make([]complex128, size), make([]complex128, size)
	forward(w, fa, a)
	forward(w, fb, b)
	dense.Parallel(w, size, 4, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			fa[k] = cmplx.Conj(fa[k] * fb[k]) // so that the forward transform inverts
		}
	})
	forward(w, a, fa)
	scale := complex(1/float64(size), 0)
	dense.Parallel(w, n, 4, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			dst[k] = cmplx.Conj(a[k]) * scale * chirp[k]
		}
	})
}

// roots has exp(-2πik/n) for all k below n, as the product of a coarse and a fine root.
type roots struct {
	step         int
	coarse, fine []complex128
}

func newRoots(n int) roots {
	step := 1
	for step*step < n {
		step *= 2
	}
	r := roots{step: step, coarse: make([]complex128, (n+step-1)/step), fine: make([]complex128, min(step, n))}
	root := func(k int) complex128 {
		sin, cos := math.Sincos(-2 * math.Pi * float64(k) / float64(n))
		return complex(cos, sin)
	}
	for i := range r.coarse {
		r.coarse[i] = root(i * step)
	}
	for i := range r.fine {
		r.fine[i] = root(i)
	}
	return r
}

// at returns the root for k.
func (r *roots) at(k int) complex128 { return r.coarse[k/r.step] * r.fine[k%r.step] }
