package linalg_test

import (
	"fmt"
	"math"
	"testing"

	"nxvk/ops"
	"nxvk/synth/dot"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
	"nxvk/test/fewtest"
)

// blocks is matrix k of complex m by n matrices as a real one of twice the size, an
// element a block [re -im; im re]: products are those of the complex matrices, and
// transposes the adjoints.
func blocks(x synthtest.Tensor, k, m, n int) mat {
	z := newMat(2*m, 2*n)
	for i := range m {
		for c := range n {
			v := x.Number((k*m+i)*n + c)
			z.set(2*i, 2*c, synthtest.Re(v))
			z.set(2*i+1, 2*c+1, synthtest.Re(v))
			z.set(2*i+1, 2*c, imag(v))
			z.set(2*i, 2*c+1, -imag(v))
		}
	}
	return z
}

// setBlocks makes matrix k of such a matrix.
func setBlocks(x synthtest.Tensor, k int, z mat) {
	m, n := z.m/2, z.n/2
	for i := range m {
		for c := range n {
			at := 2 * ((k*m+i)*n + c)
			x.F[at], x.F[at+1] = z.at(2*i, 2*c), z.at(2*i+1, 2*c)
		}
	}
}

// gaussComplex is a tensor of complex numbers whose parts are normal.
func gaussComplex(t ops.Type, seed uint64) synthtest.Tensor {
	return rounded(synthtest.Tensor{Typ: t, F: gauss(dot.RealType(t), seed).F, N: nil, Lit: false})
}

// eachComplex calls f for types, batches and sizes of complex square matrices, on
// devices of both sizes.
func eachComplex(t *testing.T, f func(t *testing.T, target *lowering.Target, x synthtest.Tensor, n int)) {
	for name, target := range map[string]*lowering.Target{"gpu": synthtest.GPU, "small": small} {
		for i, s := range []ops.Shape{{1, 1}, {17, 3, 3}, {20, 20}, {2, 33, 33}, {70, 70}} {
			d := []ops.DType{ops.C64, ops.C128}[i%2]
			t.Run(fmt.Sprintf("%s %v%v", name, d, s), func(t *testing.T) {
				f(t, target, gaussComplex(ops.Type{DType: d, Shape: s}, uint64(i)), s[len(s)-1])
			})
		}
	}
}

func TestComplexCholesky(t *testing.T) {
	eachComplex(t, func(t *testing.T, target *lowering.Target, x synthtest.Tensor, n int) {
		count := x.Typ.Size() / (n * n)
		for k := range count {
			a := blocks(x, k, n, n)
			a = a.times(a.transposed())
			for i := range a.m {
				a.set(i, i, a.at(i, i)+1)
			}
			setBlocks(x, k, a)
		}
		x = rounded(x)
		l := factorize(t, target, ops.Cholesky, []ops.Type{x.Typ}, nil, x)[0]
		for k := range count {
			a, b := blocks(x, k, n, n), blocks(l, k, n, n)
			near(t, "l l^H", x.Typ.DType.Real(), b.times(b.transposed()), a, a.norm())
			for i := range n * n {
				if l.Number(k*n*n+i) != 0 && i/n < i%n {
					t.Fatalf("%v above the diagonal", l.Number(k*n*n+i))
				}
			}
		}
	})
}

// The roots of negative pivots are imaginary, as on the host.
func TestComplexCholeskyIndefinite(t *testing.T) {
	x := synthtest.Numbers(synthtest.Type(ops.C64, 2, 2, 2), 4, 0, 2i, -3, 0, 0, 0, 1)
	want := synthtest.Numbers(x.Typ, 2, 0, 1i, 2i, 0, 0, 0, 1)
	synthtest.Same(t, "cholesky", factorize(t, synthtest.GPU, ops.Cholesky, []ops.Type{x.Typ}, nil, x)[0], want)
}

// Every form of a triangular system.
func TestComplexTriangularSolve(t *testing.T) {
	eachComplex(t, func(t *testing.T, target *lowering.Target, x synthtest.Tensor, n int) {
		if n > 40 && target == small {
			return
		}
		for i := range x.Typ.Size() {
			x.F[2*i] /= float64(n)
			if x.F[2*i+1] /= float64(n); i/n%n == i%n {
				x.F[2*i] += 2
			}
		}
		x = rounded(x)
		b := gaussComplex(x.Typ, 9)
		for form := range 12 {
			if !fewtest.OneIn(2, n, form, form>>1, form>>2) {
				continue
			}
			lower, left, transform := form&1, form>>1&1, form>>2
			y := factorize(t, target, ops.TriangularSolve, []ops.Type{b.Typ}, [][]int{{lower}, {left}, {transform}}, x, b)[0]
			for k := range x.Typ.Size() / (n * n) {
				f := triangleIn(x, k, n, lower == 1, transform)
				bk, yk := blocks(b, k, n, n), blocks(y, k, n, n)
				got := f.times(yk)
				if left == 0 {
					got = yk.times(f)
				}
				near(t, fmt.Sprintf("form %d: f(a) x", form), b.Typ.DType.Real(), got, bk, bk.norm())
			}
		}
	})
}

// triangleIn is a transform of a triangle of matrix k.
func triangleIn(x synthtest.Tensor, k, n int, lower bool, transform int) mat {
	z := synthtest.Tensor{Typ: synthtest.Type(x.Typ.DType, n, n), F: make([]float64, 2*n*n)}
	for i := range n * n {
		if row, col := i/n, i%n; row == col || row > col == lower {
			z.F[2*i] = x.F[2*(k*n*n+i)]
			if z.F[2*i+1] = x.F[2*(k*n*n+i)+1]; transform > 0 {
				z.F[2*i+1] = -z.F[2*i+1]
			}
		}
	}
	f := blocks(z, 0, n, n)
	if transform == 1 { // the transpose is the adjoint of conjugates
		return f.transposed()
	}
	return f
}

func TestComplexLU(t *testing.T) {
	eachComplex(t, func(t *testing.T, target *lowering.Target, x synthtest.Tensor, n int) {
		f := factorize(t, target, ops.LU, []ops.Type{x.Typ, x.Typ, x.Typ}, nil, x)
		for k := range x.Typ.Size() / (n * n) {
			p, l, u := blocks(f[0], k, n, n), blocks(f[1], k, n, n), blocks(f[2], k, n, n)
			a := blocks(x, k, n, n)
			near(t, "p l u", x.Typ.DType.Real(), p.times(l).times(u), a, a.norm())
			near(t, "p p^T", x.Typ.DType.Real(), p.times(p.transposed()), identity(2*n), 0)
		}
	})
}

func TestComplexSolve(t *testing.T) {
	eachComplex(t, func(t *testing.T, target *lowering.Target, x synthtest.Tensor, n int) {
		b := gaussComplex(x.Typ, 3)
		y := factorize(t, target, ops.Solve, []ops.Type{b.Typ}, nil, x, b)[0]
		for k := range x.Typ.Size() / (n * n) {
			a, z := blocks(x, k, n, n), blocks(y, k, n, n)
			near(t, "a x", x.Typ.DType.Real(), a.times(z), blocks(b, k, n, n), a.norm()*z.norm())
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
		x := synthtest.Numbers(synthtest.Type(ops.C64, c.n, c.n), c.a...)
		got := factorize(t, synthtest.GPU, ops.Determinant, []ops.Type{synthtest.Type(ops.C64)}, nil, x)[0]
		if got.Number(0) != c.want {
			t.Errorf("determinant of %v: got %v, want %v", c.a, got.Number(0), c.want)
		}
	}
}

// Factors of tall and wide matrices, in panels of both kinds; the diagonal of r has
// the opposite phase of what was there, but in the last row.
func TestComplexQR(t *testing.T) {
	for name, target := range map[string]*lowering.Target{"gpu": synthtest.GPU, "small": small} {
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

func checkComplexQR(t *testing.T, target *lowering.Target, x synthtest.Tensor, mode int) {
	t.Helper()
	f, m, n, k := factorQR(t, target, x, mode)
	d := x.Typ.DType.Real()
	for b := range x.Typ.Size() / (m * n) {
		q, r, a := blocks(f[0], b, m, k), blocks(f[1], b, k, n), blocks(x, b, m, n)
		near(t, "q r", d, q.times(r), a, a.norm())
		near(t, "q^H q", d, q.transposed().times(q), identity(2*k), 1)
		for i := range k * n {
			if v := f[1].Number(b*k*n + i); i/n > i%n && v != 0 {
				t.Fatalf("r has %v in row %d and column %d", v, i/n, i%n)
			}
		}
		was, got := x.Number(b*m*n), f[1].Number(b*k*n)
		if turned := synthtest.Re(was)*synthtest.Re(got) + imag(was)*imag(got); m > 1 && turned > 0 || m == 1 && turned < 0 {
			t.Fatalf("%v became %v", was, got)
		}
	}
}

// Columns of zeros, and elements of extreme size.
func TestComplexQRExtremes(t *testing.T) {
	checkComplexQR(t, synthtest.GPU, synthtest.Tensor{Typ: synthtest.Type(ops.C64, 3, 3), F: make([]float64, 18)}, 1)
	for _, by := range []float64{0x1p120, 0x1p-120} {
		x := gaussComplex(synthtest.Type(ops.C64, 6, 4), 1)
		for i := range x.F {
			if x.F[i] *= by; i/2%4 == 1 {
				x.F[i] = 0
			}
		}
		checkComplexQR(t, synthtest.GPU, x, 0)
	}
	x := synthtest.Numbers(synthtest.Type(ops.C64, 2, 2), 1, 2i, 3, 4)
	x.F[7] = math.Inf(1)
	for _, f := range factorize(t, synthtest.GPU, ops.QR, []ops.Type{x.Typ, x.Typ}, [][]int{{0}}, x) {
		for i, v := range f.F {
			if !math.IsNaN(v) {
				t.Errorf("part %d is %v where the matrix has an infinity", i, v)
			}
		}
	}
}
