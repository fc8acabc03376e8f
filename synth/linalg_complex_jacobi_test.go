package synth

import (
	"math"
	"math/cmplx"
	"testing"

	"nxvk/ops"
)

// Of c128 a pair of blocks has half the rows where shared memory is little.
func TestComplexEigh(t *testing.T) {
	for i, c := range []struct {
		target *Target
		of     ops.Type
	}{{gpu, typ(ops.C64, 1, 1)}, {gpu, typ(ops.C128, 2, 3, 3)}, {small, typ(ops.C64, 7, 7)}, {small, typ(ops.C64, 36, 36)},
		{small, typ(ops.C128, 36, 36)}} {
		x, n := gaussComplex(c.of, uint64(i)), c.of.Shape[len(c.of.Shape)-1]
		count := c.of.Size() / (n * n)
		for k := range count {
			a := x.blocks(k, n, n)
			for u, v := range a.transposed().a {
				a.a[u] += v
			}
			x.setBlocks(k, a)
		}
		x = x.rounded()
		values := ops.Type{DType: c.of.DType, Shape: c.of.Shape[:len(c.of.Shape)-1]}
		f := factor(t, c.target, ops.Eigh, []ops.Type{values, c.of}, nil, x)
		for k := range count {
			a, v, l := x.blocks(k, n, n), f[1].blocks(k, n, n), newMat(2*n, 2*n)
			for r := range n {
				value := f[0].number(k*n + r)
				if r > 0 && cmplx.Abs(value) > cmplx.Abs(f[0].number(k*n+r-1)) || imag(value) != 0 {
					t.Errorf("%v comes after %v", value, f[0].number(k*n+max(r-1, 0)))
				}
				l.set(2*r, 2*r, re(value))
				l.set(2*r+1, 2*r+1, re(value))
			}
			near(t, "v l v^H", c.of.DType.Real(), v.times(l).times(v.transposed()), a, a.norm())
			near(t, "v^H v", c.of.DType.Real(), v.transposed().times(v), identity(2*n), 1)
		}
		checkUpright(t, f[1], n)
	}
}

// checkUpright fails unless the first of the largest elements of every column is
// positive, but for rounding.
func checkUpright(t *testing.T, v tensor, n int) {
	t.Helper()
	for k := range v.typ.Size() / (n * n) {
		for c := range n {
			var top complex128
			for r := range n {
				if x := v.number((k*n+r)*n + c); cmplx.Abs(x) > cmplx.Abs(top)*(1+1e-5) {
					top = x
				}
			}
			if math.Abs(imag(top)) > 1e-5 || re(top) < 0 {
				t.Errorf("%v is the largest element of column %d", top, c)
			}
		}
	}
}

// Elements of equal magnitude: the first of them is turned, though rounding may
// have made another one larger.
func TestComplexEighOfEquals(t *testing.T) {
	x := numbers(typ(ops.C64, 2, 2), 0, 1-1i, 1+1i, 0)
	f := factor(t, small, ops.Eigh, []ops.Type{typ(ops.C64, 2), x.typ}, nil, x)
	for c := range 2 {
		if top := f[1].number(c); math.Abs(imag(top)) > 1e-6 || math.Abs(re(top)-math.Sqrt(0.5)) > 1e-6 {
			t.Errorf("column %d begins with %v", c, top)
		}
	}
}

func TestComplexSVD(t *testing.T) {
	for i, c := range []struct {
		target *Target
		of     ops.Type
	}{{gpu, typ(ops.C64, 1, 1)}, {small, typ(ops.C64, 2, 3, 5)}, {small, typ(ops.C64, 6, 4)}, {gpu, typ(ops.C128, 5, 5)}, {small, typ(ops.C64, 36, 34)},
		{small, typ(ops.C128, 20, 18)}} {
		checkComplexSVD(t, c.target, gaussComplex(c.of, uint64(i)), i%2)
	}
	// One singular value, and a whole basis.
	x := tensor{typ: typ(ops.C64, 4, 3)}
	for i := range 12 {
		v := complex(float64(i/3+1), 1) * complex(float64(i%3-1), float64(i%3))
		x.f = append(x.f, re(v), imag(v))
	}
	for full := range 2 {
		if s := checkComplexSVD(t, small, x, full); s.number(1) != 0 || s.number(2) != 0 {
			t.Errorf("singular values %v", s)
		}
	}
	checkComplexSVD(t, small, tensor{typ: typ(ops.C64, 2, 2), f: make([]float64, 8)}, 1)
}

func checkComplexSVD(t *testing.T, target *Target, x tensor, full int) tensor {
	t.Helper()
	f, m, n, cols, rows := factorSVD(t, target, x, full)
	k := min(m, n)
	d := x.typ.DType.Real()
	for b := range x.typ.Size() / (m * n) {
		u, s, v, a := f[0].blocks(b, m, cols), newMat(2*cols, 2*rows), f[2].blocks(b, rows, n), x.blocks(b, m, n)
		for i := range k {
			value := f[1].number(b*k + i)
			if i > 0 && re(value) > re(f[1].number(b*k+i-1)) || imag(value) != 0 {
				t.Errorf("%v comes after %v", value, f[1].number(b*k+max(i-1, 0)))
			}
			s.set(2*i, 2*i, re(value))
			s.set(2*i+1, 2*i+1, re(value))
		}
		near(t, "u s v", d, u.times(s).times(v), a, a.norm())
		near(t, "u^H u", d, u.transposed().times(u), identity(2*cols), 1)
		near(t, "v v^H", d, v.times(v.transposed()), identity(2*rows), 1)
	}
	return f[1]
}

func TestComplexJacobiOfNaN(t *testing.T) {
	x := numbers(typ(ops.C64, 2, 2), 1, 2, 2, 1)
	x.f[7] = math.Inf(1)
	one := typ(ops.C64, 2)
	svd := factor(t, small, ops.SVD, []ops.Type{x.typ, one, x.typ}, [][]int{{0}}, x)
	for _, f := range append(svd, factor(t, small, ops.Eigh, []ops.Type{one, x.typ}, nil, x)...) {
		for i := range f.typ.Size() {
			if v := f.number(i); !cmplx.IsNaN(v) {
				t.Errorf("element %d is %v where the matrix has an infinity", i, v)
			}
		}
	}
}
