package linalg

import (
	"math"

	"nxvk/fallback/dense"
	"nxvk/fallback/matmul"
	"nxvk/fallback/sched"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	lapackgo "gonum.org/v1/gonum/lapack/gonum"
)

// The machine parameters of LAPACK: half the distance from 1 to the next number, and the
// least number whose inverse does not overflow.
const (
	lapackEps  = 0x1p-53
	lapackSafe = 0x1p-1022
)

// qrIterations bounds the implicit QR iterations of a singular value.
const qrIterations = 6

// bidiagonal is the singular value decomposition of a bidiagonal matrix by implicit QR
// iterations with shifts (Demmel and Kahan, Accurate Singular Values of Bidiagonal
// Matrices, 1990). It is gonum's dbdsqr operation by operation, so the bits are the same. gonum
// makes thousands of iterations, of a millisecond each for a large matrix, without a chance to
// yield. Here each iteration yields, and all processors share the rotations of vectors, which
// are most of the work.
type bidiagonal struct {
	w         *sched.Worker
	n         int
	d, e      []float64 // the diagonal, which becomes the values, and the one beside it
	vt        []float64 // n rows of columns
	columns   int
	u         []float64 // rows of n, ldu apart
	rows, ldu int

	thresh    float64   // the bound below which an element beside the diagonal counts as 0
	lo, hi    int       // the block under way: rows lo to hi - 1
	down      bool      // whether bulges are chased from its top
	least     float64   // a lower bound of its singular values
	most      float64   // its largest element
	right     rotations // of rows of vt
	left      rotations // of columns of u
	pace      dense.Pacer
	impl      lapackgo.Implementation
	iteration int
}

// rotations has the cosines and sines of plane rotations of neighbouring rows or columns: entry
// i rotates i and i + 1.
type rotations struct{ c, s []float64 }

func newRotations(n int) rotations { return rotations{make([]float64, n), make([]float64, n)} }

// bidiagonalTol is the relative accuracy of the values.
var bidiagonalTol = math.Max(10, math.Min(100, math.Pow(lapackEps, -1.0/8))) * lapackEps

// solve reports whether all values converged. lower says that the matrix is a lower
// bidiagonal one.
func (b *bidiagonal) solve(lower bool) bool {
	b.pace.Worker = b.w
	b.right, b.left = newRotations(b.n-1), newRotations(b.n-1)
	if b.n > 1 {
		if lower {
			b.makeUpper()
		}
		b.setThreshold()
		if !b.iterate() {
			return b.converged()
		}
	}
	for i, x := range b.d {
		if x < 0 {
			b.d[i] = -x
			b.negate(i)
		}
	}
	b.order()
	return b.converged()
}

func (b *bidiagonal) converged() bool {
	for _, x := range b.e[:b.n-1] {
		if x != 0 {
			return false
		}
	}
	return true
}

// makeUpper turns a lower bidiagonal matrix into an upper one from the left.
func (b *bidiagonal) makeUpper() {
	for i := range b.n - 1 {
		c, s, r := b.impl.Dlartg(b.d[i], b.e[i])
		b.d[i] = r
		b.e[i] = s * b.d[i+1]
		b.d[i+1] *= c
		b.left.c[i], b.left.s[i] = c, s
	}
	b.rotateColumns(b.left, 0, b.n, lapack.Forward)
}

func (b *bidiagonal) setThreshold() {
	least := math.Abs(b.d[0])
	if least != 0 {
		mu := least
		for i := 1; i < b.n; i++ {
			mu = math.Abs(b.d[i]) * (mu / (mu + math.Abs(b.e[i-1])))
			least = math.Min(least, mu)
			if least == 0 {
				break
			}
		}
	}
	least /= math.Sqrt(float64(b.n))
	b.thresh = math.Max(bidiagonalTol*least, float64(qrIterations*b.n*b.n)*lapackSafe)
}

// iterate brings the elements beside the diagonal to 0, the last one first. It reports false
// where that takes too many iterations.
func (b *bidiagonal) iterate() bool {
	oldLo, oldHi := -1, -1
	b.hi = b.n
	for b.hi > 1 {
		b.pace.Step(4 * b.n)
		if b.iteration > qrIterations*b.n*b.n {
			return false
		}
		if !b.findBlock() {
			b.hi-- // the last value has converged
			continue
		}
		if b.lo == b.hi-2 {
			b.solvePair(b.lo)
			b.hi -= 2
			continue
		}
		if b.lo > oldHi-1 || b.hi-1 < oldLo {
			b.down = math.Abs(b.d[b.lo]) >= math.Abs(b.d[b.hi-1])
		}
		if b.splits() {
			continue
		}
		oldLo, oldHi = b.lo, b.hi
		shift := b.shift()
		b.iteration += b.hi - b.lo + 1
		b.sweep(shift)
	}
	return true
}

// findBlock finds where the block that ends at hi begins, and reports false where it is a
// single value.
func (b *bidiagonal) findBlock() bool {
	b.most = math.Abs(b.d[b.hi-1])
	for i := b.hi - 2; i >= 0; i-- {
		beside := math.Abs(b.e[i])
		if beside <= b.thresh {
			b.e[i] = 0
			b.lo = i + 1
			return i != b.hi-2
		}
		b.most = math.Max(math.Max(b.most, math.Abs(b.d[i])), beside)
	}
	b.lo = 0
	return true
}

// solvePair solves a block of two.
func (b *bidiagonal) solvePair(i int) {
	var sinr, cosr, sinl, cosl float64
	b.d[i+1], b.d[i], sinr, cosr, sinl, cosl = b.impl.Dlasv2(b.d[i], b.e[i], b.d[i+1])
	b.e[i] = 0
	matmul.BLAS.Drot(b.columns, b.vt[i*b.columns:], 1, b.vt[(i+1)*b.columns:], 1, cosr, sinr)
	matmul.BLAS.Drot(b.rows, b.u[i:], b.ldu, b.u[i+1:], b.ldu, cosl, sinl)
}

// splits reports whether an element of the block is negligible, by the tests of convergence in
// the direction of the chase, and sets it to 0.
func (b *bidiagonal) splits() bool {
	d, e, lo, hi := b.d, b.e, b.lo, b.hi
	if b.down {
		if math.Abs(e[hi-2]) <= bidiagonalTol*math.Abs(d[hi-1]) {
			e[hi-2] = 0
			return true
		}
		mu := math.Abs(d[lo])
		b.least = mu
		for i := lo; i < hi-1; i++ {
			if math.Abs(e[i]) <= bidiagonalTol*mu {
				e[i] = 0
				return true
			}
			mu = math.Abs(d[i+1]) * (mu / (mu + math.Abs(e[i])))
			b.least = math.Min(b.least, mu)
		}
		return false
	}
	if math.Abs(e[lo]) <= bidiagonalTol*math.Abs(d[lo]) {
		e[lo] = 0
		return true
	}
	mu := math.Abs(d[hi-1])
	b.least = mu
	for i := hi - 2; i >= lo; i-- {
		if math.Abs(e[i]) <= bidiagonalTol*mu {
			e[i] = 0
			return true
		}
		mu = math.Abs(d[i]) * (mu / (mu + math.Abs(e[i])))
		b.least = math.Min(b.least, mu)
	}
	return false
}

// shift returns the shift of the next iteration. It is 0 where another one would cost the small
// values their accuracy.
func (b *bidiagonal) shift() float64 {
	d, e, lo, hi := b.d, b.e, b.lo, b.hi
	if float64(b.n)*bidiagonalTol*(b.least/b.most) <= math.Max(lapackEps, (1.0/100)*bidiagonalTol) {
		return 0
	}
	var first, shift float64
	if b.down {
		first = math.Abs(d[lo])
		shift, _ = b.impl.Dlas2(d[hi-2], e[hi-2], d[hi-1])
	} else {
		first = math.Abs(d[hi-1])
		shift, _ = b.impl.Dlas2(d[lo], e[lo], d[lo+1])
	}
	if first > 0 && (shift/first)*(shift/first) < lapackEps {
		return 0
	}
	return shift
}

// negate changes the sign of a right vector.
func (b *bidiagonal) negate(i int) {
	matmul.BLAS.Dscal(b.columns, -1, b.vt[i*b.columns:], 1)
}

// order sorts the values, greatest first, and their vectors.
func (b *bidiagonal) order() {
	for last := b.n - 1; last > 0; last-- {
		least := 0
		for j := 1; j <= last; j++ {
			if b.d[j] <= b.d[least] {
				least = j
			}
		}
		b.d[least], b.d[last] = b.d[last], b.d[least]
		b.pace.Step(b.n + b.columns + 4*b.rows)
		matmul.BLAS.Dswap(b.columns, b.vt[least*b.columns:], 1, b.vt[last*b.columns:], 1)
		matmul.BLAS.Dswap(b.rows, b.u[least:], b.ldu, b.u[last:], b.ldu)
	}
}

// rotateRows rotates rows of vt from the i-th on, n of them.
func (b *bidiagonal) rotateRows(t rotations, i, n int, direct lapack.Direct) {
	dense.Parallel(b.w, b.columns, 6*n, func(lo, hi int) {
		b.impl.Dlasr(blas.Left, lapack.Variable, direct, n, hi-lo, t.c, t.s, b.vt[i*b.columns+lo:], b.columns)
	})
}

// rotateColumns rotates columns of u.
func (b *bidiagonal) rotateColumns(t rotations, i, n int, direct lapack.Direct) {
	dense.Parallel(b.w, b.rows, 6*n, func(lo, hi int) {
		b.impl.Dlasr(blas.Right, lapack.Variable, direct, hi-lo, n, t.c, t.s, b.u[lo*b.ldu+i:], b.ldu)
	})
}
