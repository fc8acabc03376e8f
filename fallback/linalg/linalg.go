package linalg

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"

	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
	"nxvk/ops"
)

// ErrSingular is returned where a system has no solution.
var ErrSingular = errors.New("can't solve for singular matrix")

// Kernels has the operations of linear algebra. A matrix has many factorizations; the results
// are these:
//
//   - qr: the diagonal of r is not negative, as Nx's reflectors leave it. A diagonal element
//     keeps its sign in the last row, and where only rounding errors are beneath it. The
//     diagonal of a complex r has the opposite phase of the element that was there;
//   - eigh: greatest magnitude first. Of each vector, the first component of
//     the largest magnitude is real and positive. The lower triangle counts;
//   - svd: the columns of v obey that rule, and so do columns of u that belong
//     to no singular value;
//   - lu: the pivot is the first element of the largest magnitude.
//
// Eigenvalues and singular values of the size of rounding errors are 0. A
// matrix that holds NaN or an infinity has NaN for factors in qr, eigh and svd;
// cholesky, lu and determinant carry it through. The options eps and max_iter of Nx have no
// effect here. Rotations that have not converged after sweepsMax sweeps (about ten suffice)
// end without an error, as Nx's do at max_iter.
var Kernels = map[ops.Op]dense.Kernel{
	ops.TriangularSolve: triangularSolve,
	ops.Cholesky:        factorization(choleskyIn[float64], choleskyIn[complex128]),
	ops.Solve:           factorization(solveBatch[float64], solveBatch[complex128]),
	ops.LU:              factorization(luIn[float64], luIn[complex128]),
	ops.Determinant:     factorization(determinantIn[float64], determinantIn[complex128]),
	ops.QR:              factorization(qrIn[float64], qrIn[complex128]),
	ops.Eigh:            factorization(eighIn[float64], eighIn[complex128]),
	ops.SVD:             factorization(svdIn[float64], svdIn[complex128]),
}

// field is a type of matrix elements.
type field interface{ float64 | complex128 }

// epsilon is the distance from 1 to the next float64.
const epsilon = 0x1p-52

// problem is one factorization of a batch: operands and results of matrix k,
// dense and row-major.
type problem[C field] struct {
	in   *dense.Call // by the worker of the problem
	m, n int         // of the first operand
	args [][]C
	outs [][]C
}

// factorization returns the kernel of a factorization in both fields.
func factorization(re func(*problem[float64]) error, cplx func(*problem[complex128]) error) dense.Kernel {
	return func(in *dense.Call, args, outs []dense.Value) error {
		for _, v := range args {
			if v.Type.DType.IsComplex() {
				return eachMatrix(in, args, outs, cplx)
			}
		}
		return eachMatrix(in, args, outs, re)
	}
}

// eachMatrix solves the problems of a batch, many at a time. It returns the error of the first
// matrix that has one.
func eachMatrix[C field](in *dense.Call, args, outs []dense.Value, f func(*problem[C]) error) error {
	s := args[0].Type.Shape
	m, n := s[len(s)-2], s[len(s)-1]
	count := s.Size() / (m * n)
	srcs, dsts := make([][]C, len(args)), make([][]C, len(outs))
	for i, v := range args {
		srcs[i] = dense.LoadAll[C](in.Worker, v)
	}
	for i, v := range outs {
		dsts[i] = make([]C, v.Type.Size())
	}
	errs := make([]error, count)
	dense.ParallelOn(in.Worker, count, m*n*min(m, n)*4, func(w *sched.Worker, lo, hi int) {
		in := in.On(w)
		for k := lo; k < hi; k++ {
			errs[k] = f(&problem[C]{in, m, n, parts(srcs, k, count), parts(dsts, k, count)})
		}
	})
	for k, err := range errs {
		if err != nil {
			return fmt.Errorf("matrix %d: %w", k, err)
		}
	}
	for i, v := range outs {
		dense.StoreAll(in.Worker, v, dsts[i])
	}
	return nil
}

// parts cuts the k-th of count equal parts out of each tensor.
func parts[C field](xs [][]C, k, count int) [][]C {
	out := make([][]C, len(xs))
	for i, x := range xs {
		n := len(x) / count
		out[i] = x[k*n : (k+1)*n : (k+1)*n]
	}
	return out
}

// fillNaN fills the results with NaN.
func (p *problem[C]) fillNaN() {
	for _, out := range p.outs {
		for i := range out {
			out[i] = number[C](math.NaN())
		}
	}
}

// number is a real number of a field.
func number[C field](x float64) C {
	var c C
	if _, ok := any(c).(complex128); ok {
		return any(complex(x, 0)).(C)
	}
	return any(x).(C)
}

// magnitude is the absolute value.
func magnitude[C field](x C) float64 {
	switch x := any(x).(type) {
	case complex128:
		return cmplx.Abs(x)
	case float64:
		return math.Abs(x)
	}
	panic("BUG: a field of other numbers")
}

// square is the squared magnitude.
func square[C field](x C) float64 {
	switch x := any(x).(type) {
	case complex128:
		return real(x)*real(x) + imag(x)*imag(x)
	case float64:
		return x * x
	}
	panic("BUG: a field of other numbers")
}

// conj is the complex conjugate.
func conj[C field](x C) C {
	if z, ok := any(x).(complex128); ok {
		return any(cmplx.Conj(z)).(C)
	}
	return x
}

// realOf is the real part.
func realOf[C field](x C) float64 {
	switch x := any(x).(type) {
	case complex128:
		return real(x)
	case float64:
		return x
	}
	panic("BUG: a field of other numbers")
}

// roundingLevel is the size, relative to the greatest, below which an eigenvalue or singular
// value may be nothing but the rounding of elements to the type. Such values are given as 0:
// a rank, a root or a pseudo-inverse must not be computed from rounding errors. Types narrower
// than f32 count as f32, in which Nx computes them.
func roundingLevel(d ops.DType) float64 {
	if d.Real() == ops.F64 {
		return 8 * epsilon
	}
	return 8 * 0x1p-23
}

// isFinite reports whether x is neither NaN nor infinite.
func isFinite[C field](x C) bool { return x-x == 0 }

// scaleToOne returns a copy of a matrix times a power of two, whose largest element is about
// 1, so that squares neither overflow nor vanish. back is the factor that undoes it. It
// reports false where an element is not finite.
func scaleToOne[C field](a []C) (b []C, back float64, ok bool) {
	top := 0.0
	for _, x := range a {
		if !isFinite(x) {
			return nil, 0, false
		}
		top = max(top, magnitude(x))
	}
	b = append(b, a...)
	if math.IsInf(top, 0) { // the modulus of finite parts
		top = math.MaxFloat64
	}
	if top == 0 {
		return b, 1, true
	}
	_, e := math.Frexp(top)
	e = min(e, 1023)
	// Two factors, since 2^-e may be out of range.
	down, rest := number[C](math.Ldexp(1, -e/2)), number[C](math.Ldexp(1, -(e-e/2)))
	for i := range b {
		b[i] = b[i] * down * rest
	}
	return b, math.Ldexp(1, e), true
}
