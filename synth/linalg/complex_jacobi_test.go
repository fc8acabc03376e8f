package linalg_test

import (
	"math"
	"math/cmplx"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// Of c128 a pair of blocks has half the rows where shared memory is little.
func TestComplexEigh(t *testing.T) {
	for i, c := range []struct {
		target *lowering.Target
		of     ops.Type
	}{{synthtest.GPU, synthtest.Type(ops.C64, 1, 1)}, {synthtest.GPU, synthtest.Type(ops.C128, 2, 3, 3)}, {small, synthtest.Type(ops.C64, 7, 7)}, {small, synthtest.Type(ops.C64, 36, 36)},
		{small, synthtest.Type(ops.C128, 36, 36)}} {
		x, n := gaussComplex(c.of, uint64(i)), c.of.Shape[len(c.of.Shape)-1]
		count := c.of.Size() / (n * n)
		for k := range count {
			a := blocks(x, k, n, n)
			for u, v := range a.transposed().a {
				a.a[u] += v
			}
			setBlocks(x, k, a)
		}
		checkUpright(t, checkComplexEigh(t, c.target, rounded(x)), n)
	}
}

// checkComplexEigh decomposes Hermitian matrices, checks the factors and their order, and gives the vectors.
func checkComplexEigh(t *testing.T, target *lowering.Target, x synthtest.Tensor) synthtest.Tensor {
	t.Helper()
	of := x.Typ
	n, d := of.Shape[len(of.Shape)-1], of.DType.Real()
	values := ops.Type{DType: of.DType, Shape: of.Shape[:len(of.Shape)-1]}
	f := factorize(t, target, ops.Eigh, []ops.Type{values, of}, nil, x)
	for k := range of.Size() / (n * n) {
		a, v, l := blocks(x, k, n, n), blocks(f[1], k, n, n), newMat(2*n, 2*n)
		for r := range n {
			value := f[0].Number(k*n + r)
			if r > 0 && cmplx.Abs(value) > cmplx.Abs(f[0].Number(k*n+r-1)) || imag(value) != 0 {
				t.Errorf("%v comes after %v", value, f[0].Number(k*n+max(r-1, 0)))
			}
			l.set(2*r, 2*r, synthtest.Re(value))
			l.set(2*r+1, 2*r+1, synthtest.Re(value))
		}
		near(t, "v l v^H", d, v.times(l).times(v.transposed()), a, a.norm())
		near(t, "v^H v", d, v.transposed().times(v), identity(2*n), 1)
	}
	return f[1]
}

// checkUpright fails unless the first of the largest elements of every column is
// positive, but for rounding.
func checkUpright(t *testing.T, v synthtest.Tensor, n int) {
	t.Helper()
	for k := range v.Typ.Size() / (n * n) {
		for c := range n {
			var top complex128
			for r := range n {
				if x := v.Number((k*n+r)*n + c); cmplx.Abs(x) > cmplx.Abs(top)*(1+1e-5) {
					top = x
				}
			}
			if math.Abs(imag(top)) > 1e-5 || synthtest.Re(top) < 0 {
				t.Errorf("%v is the largest element of column %d", top, c)
			}
		}
	}
}

// Elements of equal magnitude: the first of them is rotated, though rounding may
// have made another one larger.
func TestComplexEighOfEquals(t *testing.T) {
	x := synthtest.Numbers(synthtest.Type(ops.C64, 2, 2), 0, 1-1i, 1+1i, 0)
	f := factorize(t, small, ops.Eigh, []ops.Type{synthtest.Type(ops.C64, 2), x.Typ}, nil, x)
	for c := range 2 {
		if top := f[1].Number(c); math.Abs(imag(top)) > 1e-6 || math.Abs(synthtest.Re(top)-math.Sqrt(0.5)) > 1e-6 {
			t.Errorf("column %d begins with %v", c, top)
		}
	}
}

func TestComplexSVD(t *testing.T) {
	for i, c := range []struct {
		target *lowering.Target
		of     ops.Type
	}{{synthtest.GPU, synthtest.Type(ops.C64, 1, 1)}, {small, synthtest.Type(ops.C64, 2, 3, 5)}, {small, synthtest.Type(ops.C64, 6, 4)},
		{small, synthtest.Type(ops.C64, 2, 7, 1)}, {small, synthtest.Type(ops.C128, 3, 1, 6)}, {small, synthtest.Type(ops.C64, 5, 1)},
		{synthtest.GPU, synthtest.Type(ops.C128, 5, 5)}, {small, synthtest.Type(ops.C64, 36, 34)},
		{small, synthtest.Type(ops.C128, 20, 18)}} {
		checkComplexSVD(t, c.target, gaussComplex(c.of, uint64(i)), i%2)
	}
	// One singular value, and a whole basis.
	x := synthtest.Tensor{Typ: synthtest.Type(ops.C64, 4, 3)}
	for i := range 12 {
		v := complex(float64(i/3+1), 1) * complex(float64(i%3-1), float64(i%3))
		x.F = append(x.F, synthtest.Re(v), imag(v))
	}
	for full := range 2 {
		if s := checkComplexSVD(t, small, x, full); s.Number(1) != 0 || s.Number(2) != 0 {
			t.Errorf("singular values %v", s)
		}
	}
	checkComplexSVD(t, small, synthtest.Tensor{Typ: synthtest.Type(ops.C64, 2, 2), F: make([]float64, 8)}, 1)
}

func checkComplexSVD(t *testing.T, target *lowering.Target, x synthtest.Tensor, full int) synthtest.Tensor {
	t.Helper()
	f, m, n, cols, rows := factorSVD(t, target, x, full)
	k := min(m, n)
	d := x.Typ.DType.Real()
	for b := range x.Typ.Size() / (m * n) {
		u, s, v, a := blocks(f[0], b, m, cols), newMat(2*cols, 2*rows), blocks(f[2], b, rows, n), blocks(x, b, m, n)
		for i := range k {
			value := f[1].Number(b*k + i)
			if i > 0 && synthtest.Re(value) > synthtest.Re(f[1].Number(b*k+i-1)) || imag(value) != 0 {
				t.Errorf("%v comes after %v", value, f[1].Number(b*k+max(i-1, 0)))
			}
			s.set(2*i, 2*i, synthtest.Re(value))
			s.set(2*i+1, 2*i+1, synthtest.Re(value))
		}
		near(t, "u s v", d, u.times(s).times(v), a, a.norm())
		near(t, "u^H u", d, u.transposed().times(u), identity(2*cols), 1)
		near(t, "v v^H", d, v.times(v.transposed()), identity(2*rows), 1)
	}
	return f[1]
}

func TestComplexJacobiOfNaN(t *testing.T) {
	x := synthtest.Numbers(synthtest.Type(ops.C64, 2, 2), 1, 2, 2, 1)
	x.F[7] = math.Inf(1)
	one := synthtest.Type(ops.C64, 2)
	svd := factorize(t, small, ops.SVD, []ops.Type{x.Typ, one, x.Typ}, [][]int{{0}}, x)
	for _, f := range append(svd, factorize(t, small, ops.Eigh, []ops.Type{one, x.Typ}, nil, x)...) {
		for i := range f.Typ.Size() {
			if v := f.Number(i); !cmplx.IsNaN(v) {
				t.Errorf("element %d is %v where the matrix has an infinity", i, v)
			}
		}
	}
}
