package linalg

import (
	"math"
	"math/cmplx"

	"nxvk/fallback/dense"
)

// blockedMin is the least number of rows for which the blocked factorization pays. Where it
// fails, the matrix is copied again for the other one.
const blockedMin = 32

// choleskyIn computes l with l l^H = a row by row, from the lower triangle.
//
// Where a is not positive definite, the root of a negative number is NaN, and so are the
// elements that depend on it. A column of zeros under a zero stays zero, so that factors of
// some singular matrices are right. Nx computes the same.
func choleskyIn[C field](p *problem[C]) error {
	n, l := p.n, p.outs[0]
	copyLower(l, p.args[0], n)
	if x, ok := any(l).([]float64); ok && n >= blockedMin {
		if factorCholesky(p.in.Worker, n, x) {
			for i := range n {
				clear(x[i*n+i+1 : (i+1)*n])
			}
			return nil
		}
		copyLower(l, p.args[0], n)
	}
	pace := dense.Pacer{Worker: p.in.Worker}
	for i := range n {
		pace.Step(i * i)
		row := l[i*n : i*n+i+1]
		for j := range i {
			over := l[j*n : j*n+j+1]
			sum := row[j]
			for k, x := range over[:j] {
				sum -= row[k] * conj(x)
			}
			if over[j] != 0 || sum != 0 {
				sum /= over[j]
			}
			row[j] = sum
		}
		sum := row[i]
		for _, x := range row[:i] {
			sum -= number[C](square(x))
		}
		row[i] = root(sum)
	}
	return nil
}

func copyLower[C field](dst, src []C, n int) {
	clear(dst)
	for i := range n {
		copy(dst[i*n:i*n+i+1], src[i*n:])
	}
}

func root[C field](x C) C {
	if z, ok := any(x).(complex128); ok {
		return any(cmplx.Sqrt(z)).(C)
	}
	return number[C](math.Sqrt(realOf(x)))
}
