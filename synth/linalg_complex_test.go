package synth

import (
	"fmt"
	"math"
	"testing"

	"nxvk/ops"
)

// blocks is matrix k of complex m by n matrices as a real one of twice the size, an
// element a block [re -im; im re]: products are those of the complex matrices, and
// transposes the adjoints.
func (x tensor) blocks(k, m, n int) mat {
	z := newMat(2*m, 2*n)
	for i := range m {
		for c := range n {
			v := x.number((k*m+i)*n + c)
			z.set(2*i, 2*c, re(v))
			z.set(2*i+1, 2*c+1, re(v))
			z.set(2*i+1, 2*c, imag(v))
			z.set(2*i, 2*c+1, -imag(v))
		}
	}
	return z
}

// setBlocks makes matrix k of such a matrix.
func (x tensor) setBlocks(k int, z mat) {
	m, n := z.m/2, z.n/2
	for i := range m {
		for c := range n {
			at := 2 * ((k*m+i)*n + c)
			x.f[at], x.f[at+1] = z.at(2*i, 2*c), z.at(2*i+1, 2*c)
		}
	}
}

// gaussComplex is a tensor of complex numbers whose parts are normal.
func gaussComplex(t ops.Type, seed uint64) tensor {
	return tensor{t, gauss(realType(t), seed).f, nil, false}.rounded()
}

// eachComplex calls f for types, batches and sizes of complex square matrices, on
// devices of both sizes.
func eachComplex(t *testing.T, f func(t *testing.T, target *Target, x tensor, n int)) {
	for name, target := range map[string]*Target{"gpu": gpu, "small": small} {
		for i, s := range []ops.Shape{{1, 1}, {2, 3, 3}, {20, 20}, {2, 33, 33}, {70, 70}} {
			d := []ops.DType{ops.C64, ops.C128}[i%2]
			t.Run(fmt.Sprintf("%s %v%v", name, d, s), func(t *testing.T) {
				f(t, target, gaussComplex(ops.Type{DType: d, Shape: s}, uint64(i)), s[len(s)-1])
			})
		}
	}
}

func TestComplexCholesky(t *testing.T) {
	eachComplex(t, func(t *testing.T, target *Target, x tensor, n int) {
		count := x.typ.Size() / (n * n)
		for k := range count {
			a := x.blocks(k, n, n)
			a = a.times(a.transposed())
			for i := range a.m {
				a.set(i, i, a.at(i, i)+1)
			}
			x.setBlocks(k, a)
		}
		x = x.rounded()
		l := factor(t, target, ops.Cholesky, []ops.Type{x.typ}, nil, x)[0]
		for k := range count {
			a, b := x.blocks(k, n, n), l.blocks(k, n, n)
			near(t, "l l^H", x.typ.DType.Real(), b.times(b.transposed()), a, a.norm())
			for i := range n * n {
				if l.number(k*n*n+i) != 0 && i/n < i%n {
					t.Fatalf("%v above the diagonal", l.number(k*n*n+i))
				}
			}
		}
	})
}

// The roots of negative pivots are imaginary, as on the host.
func TestComplexCholeskyIndefinite(t *testing.T) {
	x := numbers(typ(ops.C64, 2, 2, 2), 4, 0, 2i, -3, 0, 0, 0, 1)
	want := numbers(x.typ, 2, 0, 1i, 2i, 0, 0, 0, 1)
	same(t, "cholesky", factor(t, gpu, ops.Cholesky, []ops.Type{x.typ}, nil, x)[0], want)
}

// Every form of a triangular system.
func TestComplexTriangularSolve(t *testing.T) {
	eachComplex(t, func(t *testing.T, target *Target, x tensor, n int) {
		if n > 40 && target == small {
			return
		}
		for i := range x.typ.Size() {
			x.f[2*i] /= float64(n)
			if x.f[2*i+1] /= float64(n); i/n%n == i%n {
				x.f[2*i] += 2
			}
		}
		x = x.rounded()
		b := gaussComplex(x.typ, 9)
		for form := range 12 {
			lower, left, transform := form&1, form>>1&1, form>>2
			y := factor(t, target, ops.TriangularSolve, []ops.Type{b.typ}, [][]int{{lower}, {left}, {transform}}, x, b)[0]
			for k := range x.typ.Size() / (n * n) {
				f := triangleIn(x, k, n, lower == 1, transform)
				bk, yk := b.blocks(k, n, n), y.blocks(k, n, n)
				got := f.times(yk)
				if left == 0 {
					got = yk.times(f)
				}
				near(t, fmt.Sprintf("form %d: f(a) x", form), b.typ.DType.Real(), got, bk, bk.norm())
			}
		}
	})
}

// triangleIn is a transform of a triangle of matrix k.
func triangleIn(x tensor, k, n int, lower bool, transform int) mat {
	z := tensor{typ: typ(x.typ.DType, n, n), f: make([]float64, 2*n*n)}
	for i := range n * n {
		if row, col := i/n, i%n; row == col || row > col == lower {
			z.f[2*i] = x.f[2*(k*n*n+i)]
			if z.f[2*i+1] = x.f[2*(k*n*n+i)+1]; transform > 0 {
				z.f[2*i+1] = -z.f[2*i+1]
			}
		}
	}
	f := z.blocks(0, n, n)
	if transform == 1 { // the transpose is the adjoint of conjugates
		return f.transposed()
	}
	return f
}

func TestComplexLU(t *testing.T) {
	eachComplex(t, func(t *testing.T, target *Target, x tensor, n int) {
		f := factor(t, target, ops.LU, []ops.Type{x.typ, x.typ, x.typ}, nil, x)
		for k := range x.typ.Size() / (n * n) {
			p, l, u := f[0].blocks(k, n, n), f[1].blocks(k, n, n), f[2].blocks(k, n, n)
			a := x.blocks(k, n, n)
			near(t, "p l u", x.typ.DType.Real(), p.times(l).times(u), a, a.norm())
			near(t, "p p^T", x.typ.DType.Real(), p.times(p.transposed()), identity(2*n), 0)
		}
	})
}

func TestComplexSolve(t *testing.T) {
	eachComplex(t, func(t *testing.T, target *Target, x tensor, n int) {
		b := gaussComplex(x.typ, 3)
		y := factor(t, target, ops.Solve, []ops.Type{b.typ}, nil, x, b)[0]
		for k := range x.typ.Size() / (n * n) {
			a, z := x.blocks(k, n, n), y.blocks(k, n, n)
			near(t, "a x", x.typ.DType.Real(), a.times(z), b.blocks(k, n, n), a.norm()*z.norm())
		}
	})
}

// Determinants of Gaussian integers are exact; products out of range on the way do
// no harm.
func TestComplexDeterminant(t *testing.T) {
	for _, c := range []struct {
		n    int
		a    []complex128
		want complex128
	}{
		{1, []complex128{2 - 3i}, 2 - 3i},
		{2, []complex128{1i, 2, 3, 4i}, -10},
		{3, []complex128{1i, 0, 0, 5, 1 + 1i, 0, 7, 7, 2}, -2 + 2i},
		{4, []complex128{0, 1i, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1i, 0}, -1},
		{4, []complex128{0x1p100i, 0, 0, 0, 0, 0x1p100, 0, 0, 0, 0, 0x1p-100, 0, 0, 0, 0, 0x1p-90}, 0x1p10i},
		{4, make([]complex128, 16), 0},
	} {
		x := numbers(typ(ops.C64, c.n, c.n), c.a...)
		got := factor(t, gpu, ops.Determinant, []ops.Type{typ(ops.C64)}, nil, x)[0]
		if got.number(0) != c.want {
			t.Errorf("determinant of %v: got %v, want %v", c.a, got.number(0), c.want)
		}
	}
}

// Factors of tall and wide matrices, in panels of both kinds; the diagonal of r has
// the opposite phase of what was there, but in the last row.
func TestComplexQR(t *testing.T) {
	for name, target := range map[string]*Target{"gpu": gpu, "small": small} {
		for i, s := range []ops.Shape{{1, 1}, {1, 3}, {3, 1}, {2, 5, 3}, {2, 3, 5}, {33, 20}, {20, 33}, {2, 80, 36}, {200, 10}} {
			for mode := range 2 {
				d := []ops.DType{ops.C64, ops.C128}[(i+mode)%2]
				if mode == 1 && s.Size() > 1000 {
					continue
				}
				t.Run(fmt.Sprintf("%s %v%v mode %d", name, d, s, mode), func(t *testing.T) {
					checkComplexQR(t, target, gaussComplex(ops.Type{DType: d, Shape: s}, uint64(i)), mode)
				})
			}
		}
	}
}

func checkComplexQR(t *testing.T, target *Target, x tensor, mode int) {
	t.Helper()
	f, m, n, k := factorQR(t, target, x, mode)
	d := x.typ.DType.Real()
	for b := range x.typ.Size() / (m * n) {
		q, r, a := f[0].blocks(b, m, k), f[1].blocks(b, k, n), x.blocks(b, m, n)
		near(t, "q r", d, q.times(r), a, a.norm())
		near(t, "q^H q", d, q.transposed().times(q), identity(2*k), 1)
		for i := range k * n {
			if v := f[1].number(b*k*n + i); i/n > i%n && v != 0 {
				t.Fatalf("r has %v in row %d and column %d", v, i/n, i%n)
			}
		}
		was, got := x.number(b*m*n), f[1].number(b*k*n)
		if turned := re(was)*re(got) + imag(was)*imag(got); m > 1 && turned > 0 || m == 1 && turned < 0 {
			t.Fatalf("%v became %v", was, got)
		}
	}
}

// Columns of zeros, and elements of extreme size.
func TestComplexQRExtremes(t *testing.T) {
	checkComplexQR(t, gpu, tensor{typ: typ(ops.C64, 3, 3), f: make([]float64, 18)}, 1)
	for _, by := range []float64{0x1p120, 0x1p-120} {
		x := gaussComplex(typ(ops.C64, 6, 4), 1)
		for i := range x.f {
			if x.f[i] *= by; i/2%4 == 1 {
				x.f[i] = 0
			}
		}
		checkComplexQR(t, gpu, x, 0)
	}
	x := numbers(typ(ops.C64, 2, 2), 1, 2i, 3, 4)
	x.f[7] = math.Inf(1)
	for _, f := range factor(t, gpu, ops.QR, []ops.Type{x.typ, x.typ}, [][]int{{0}}, x) {
		for i, v := range f.f {
			if !math.IsNaN(v) {
				t.Errorf("part %d is %v where the matrix has an infinity", i, v)
			}
		}
	}
}
