// Package matrixtest draws matrices that are hard to factor: of low rank, with equal,
// close or graded singular values, of equal columns, and of zeros. The tests of all paths
// factor the same kinds.
package matrixtest

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
)

// Matrix has m rows of n elements.
type Matrix struct {
	Kind string // with what was drawn of it
	M, N int
	A    []complex128
}

// Shape draws the sides of a matrix, up to most: square, tall, wide, and very much so.
func Shape(r *rand.Rand, most int) (m, n int) {
	m, n = 1+r.IntN(most), 1+r.IntN(most)
	switch r.IntN(4) {
	case 0:
		return m, m
	case 1:
		return m, min(m+r.IntN(3), most)
	}
	return m, n
}

// Draw draws a matrix of any kind. Its elements are complex if field is 2, else real.
func Draw(r *rand.Rand, m, n, field int) Matrix {
	x := Matrix{M: m, N: n}
	d := drawer{r, field}
	switch r.IntN(6) {
	case 0:
		x.Kind, x.A = d.dependent(m, n)
	case 1:
		x.Kind, x.A = d.graded(m, n)
	default:
		kind, values := d.spectrum(min(m, n))
		x.Kind, x.A = kind, d.with(values, m, n)
	}
	return x.scaled(r)
}

// Hermitian draws an n by n matrix that equals its adjoint, with eigenvalues of both signs.
func Hermitian(r *rand.Rand, n, field int) Matrix {
	d := drawer{r, field}
	x := Matrix{M: n, N: n}
	if r.IntN(4) == 0 {
		kind, a := d.dependent(n, n)
		x.Kind, x.A = kind+", squared", times(a, adjoint(a, n, n), n, n, n)
		return x.scaled(r)
	}
	kind, values := d.spectrum(n)
	for i := range values {
		if r.IntN(3) == 0 {
			values[i] = -values[i]
		}
	}
	q := d.orthonormal(n, n)
	scaled := make([]complex128, n*n)
	for i, v := range q {
		scaled[i] = v * complex(values[i%n], 0)
	}
	x.Kind, x.A = kind, times(scaled, adjoint(q, n, n), n, n, n)
	for i := range n { // but for rounding
		for k := range i {
			x.A[k*n+i] = cmplx.Conj(x.A[i*n+k])
		}
		x.A[i*n+i] = complex(real(x.A[i*n+i]), 0)
	}
	return x.scaled(r)
}

// scaled is the matrix times a power of two, which f32 has room for.
func (x Matrix) scaled(r *rand.Rand) Matrix {
	if r.IntN(3) > 0 {
		return x
	}
	e := r.IntN(161) - 80
	x.Kind = fmt.Sprintf("%s, times 2^%d", x.Kind, e)
	for i := range x.A {
		x.A[i] *= complex(math.Ldexp(1, e), 0)
	}
	return x
}

type drawer struct {
	*rand.Rand
	field int
}

// number draws a normal one.
func (d drawer) number() complex128 {
	if d.field == 2 {
		return complex(d.NormFloat64(), d.NormFloat64())
	}
	return complex(d.NormFloat64(), 0)
}

func (d drawer) numbers(n int) []complex128 {
	a := make([]complex128, n)
	for i := range a {
		a[i] = d.number()
	}
	return a
}

// spectrum draws k singular values.
func (d drawer) spectrum(k int) (kind string, values []float64) {
	values = make([]float64, k)
	each := func(f func(i int) float64) {
		for i := range values {
			values[i] = f(i)
		}
	}
	switch d.IntN(6) {
	case 0:
		rank := d.IntN(k + 1)
		each(func(i int) float64 { return d.ExpFloat64() })
		clear(values[rank:])
		return fmt.Sprintf("rank %d", rank), values
	case 1:
		few := 1 + d.IntN(3)
		each(func(int) float64 { return float64(d.IntN(few + 1)) })
		return "few values", values
	case 2:
		close := math.Exp(-d.Float64() * 40)
		each(func(int) float64 { return 1 - float64(d.IntN(2))*(1-close)*d.Float64() })
		each(func(i int) float64 { return values[i] * math.Pow(close, float64(d.IntN(2))) })
		return fmt.Sprintf("two clusters, %.2g apart", close), values
	case 3:
		each(func(int) float64 { return math.Exp(-d.Float64() * 20) })
		return "any magnitude", values
	case 4:
		ratio := math.Exp(-d.Float64() * 80 / float64(k))
		each(func(i int) float64 { return math.Pow(ratio, float64(i)) })
		return fmt.Sprintf("powers of %.2g", ratio), values
	}
	close := math.Exp(-d.Float64() * 40)
	each(func(int) float64 { return 1 + close*d.Float64() })
	return fmt.Sprintf("one cluster of %.2g", close), values
}

// with is an m by n matrix of these singular values.
func (d drawer) with(values []float64, m, n int) []complex128 {
	k := len(values)
	u, v := d.orthonormal(m, k), d.orthonormal(n, k)
	for i := range u {
		u[i] *= complex(values[i%k], 0)
	}
	return times(u, adjoint(v, n, k), m, k, n)
}

// dependent draws columns that equal each other, or almost do, exactly so in any type; or
// products of few columns and rows of small whole numbers.
func (d drawer) dependent(m, n int) (kind string, a []complex128) {
	a = d.numbers(m * n)
	switch d.IntN(4) {
	case 0:
		close := math.Exp(-d.Float64() * 40)
		for i := range a {
			a[i] = a[i/n*n] + complex(close, 0)*a[i]
		}
		return fmt.Sprintf("equal columns but for %.2g", close), a
	case 1:
		few := 1 + d.IntN(n)
		for i := range a {
			a[i] = a[i/n*n+i%n%few]
		}
		return fmt.Sprintf("%d equal columns", few), a
	case 2:
		rank := 1 + d.IntN(3)
		left, right := d.numbers(m*rank), d.numbers(rank*n)
		whole := func(list []complex128) {
			for i, v := range list {
				list[i] = complex(math.Round(2*real(v)), math.Round(2*imag(v)))
			}
		}
		whole(left)
		whole(right)
		return fmt.Sprintf("rank %d of whole numbers", rank), times(left, right, m, rank, n)
	}
	clear(a)
	some := d.IntN(min(m, n) + 1)
	for range some {
		a[d.IntN(len(a))] = d.number()
	}
	return fmt.Sprintf("%d elements that are not zero", some), a
}

// graded draws rows and columns whose magnitudes are powers of a ratio.
func (d drawer) graded(m, n int) (kind string, a []complex128) {
	rows, cols := math.Exp(-d.Float64()*60/float64(m)), math.Exp(-d.Float64()*60/float64(n))
	way := "downwards"
	a = d.numbers(m * n)
	upwards := d.IntN(2) == 0
	if upwards {
		way = "upwards"
	}
	for i := range a {
		row := i / n
		if upwards {
			row = m - 1 - row
		}
		a[i] *= complex(math.Pow(rows, float64(row))*math.Pow(cols, float64(i%n)), 0)
	}
	return fmt.Sprintf("graded by %.2g %s and %.2g", rows, way, cols), a
}

// orthonormal draws n orthonormal columns of m elements, n ≤ m: normal ones, to which
// Gram and Schmidt's process is applied twice.
func (d drawer) orthonormal(m, n int) []complex128 {
	a := d.numbers(m * n)
	for c := range n {
		for range 2 {
			for before := range c {
				dot := complex128(0)
				for i := range m {
					dot += cmplx.Conj(a[i*n+before]) * a[i*n+c]
				}
				for i := range m {
					a[i*n+c] -= dot * a[i*n+before]
				}
			}
			size := 0.0
			for i := range m {
				size = math.Hypot(size, cmplx.Abs(a[i*n+c]))
			}
			for i := range m {
				a[i*n+c] /= complex(size, 0)
			}
		}
	}
	return a
}

// times is the product of m by k and k by n matrices.
func times(a, b []complex128, m, k, n int) []complex128 {
	c := make([]complex128, m*n)
	for i := range m {
		for l := range k {
			for j := range n {
				c[i*n+j] += a[i*k+l] * b[l*n+j]
			}
		}
	}
	return c
}

// adjoint is that of an m by n matrix.
func adjoint(a []complex128, m, n int) []complex128 {
	b := make([]complex128, m*n)
	for i := range m {
		for j := range n {
			b[j*m+i] = cmplx.Conj(a[i*n+j])
		}
	}
	return b
}
