package fallback

import (
	"errors"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"nxvk/fallback/dense"
	"nxvk/fallback/linalg"
	"nxvk/ops"
)

func TestQR(t *testing.T) {
	eachSize(func(r *rand.Rand, d ops.DType, batch []int, m, n int) {
		a := gauss(r, with(d, batch, m, n))
		for mode, k := range []int{min(m, n), m} {
			f := factor(t, ops.QR, [][]int{{mode}}, []ops.Type{with(d, batch, m, k), with(d, batch, k, n)}, a)
			q, up := matsOf(f[0]), matsOf(f[1])
			near(t, "q r", d, q.times(up), matsOf(a))
			near(t, "q^H q", d, q.adjoint().times(q), identity(k, q.count()))
			for i := range up.a {
				if row, col := i/n%k, i%n; row > col && up.a[i] != 0 {
					t.Fatalf("r has %v beneath its diagonal", up.a[i])
				} else if row == col && row < m-1 && !d.IsComplex() && real(up.a[i]) < 0 {
					t.Fatalf("r has %v on its diagonal", up.a[i])
				}
			}
		}
	})
}

func TestCholeskyOfProducts(t *testing.T) {
	eachSize(func(r *rand.Rand, d ops.DType, batch []int, m, n int) {
		if m != n {
			return
		}
		x := matsOf(gauss(r, with(ops.C128, batch, n, n)))
		if !d.IsComplex() {
			x = matsOf(gauss(r, with(ops.F64, batch, n, n)))
		}
		a := x.times(x.adjoint())
		for i := range a.a {
			if i/n%n == i%n {
				a.a[i] += complex(float64(n), 0)
			}
		}
		v := valueOf(d, batch, a)
		l := matsOf(factor(t, ops.Cholesky, nil, []ops.Type{v.Type}, v)[0])
		near(t, "l l^H", d, l.times(l.adjoint()), matsOf(v))
	})
}

func TestLUAndSolve(t *testing.T) {
	eachSize(func(r *rand.Rand, d ops.DType, batch []int, m, n int) {
		a := gauss(r, with(d, batch, m, m))
		f := factor(t, ops.LU, nil, []ops.Type{a.Type, a.Type, a.Type}, a)
		p, l, u := matsOf(f[0]), matsOf(f[1]), matsOf(f[2])
		near(t, "p l u", d, p.times(l).times(u), matsOf(a))
		near(t, "p^T p", ops.F64, p.adjoint().times(p), identity(m, p.count()))
		for _, x := range l.a {
			if cmplx.Abs(x) > 1+units(d) {
				t.Fatalf("l has %v", x)
			}
		}
		if d != ops.F64 && d != ops.C128 {
			return
		}
		b := gauss(r, with(d, batch, m, n))
		x := matsOf(factor(t, ops.Solve, nil, []ops.Type{b.Type}, a, b)[0])
		worst := 0.0
		for i, y := range matsOf(a).times(x).a {
			worst = max(worst, cmplx.Abs(y-matsOf(b).a[i]))
		}
		if worst > 1e-9 {
			t.Fatalf("a x is off by %g", worst)
		}
	})
}

func TestEigh(t *testing.T) {
	eachSize(func(r *rand.Rand, d ops.DType, batch []int, m, n int) {
		if m != n {
			return
		}
		x := matsOf(gauss(r, with(d, batch, n, n)))
		for i, y := range x.adjoint().a {
			x.a[i] += y
		}
		a := valueOf(d, batch, x)
		f := factor(t, ops.Eigh, nil, []ops.Type{with(d, batch, n), a.Type}, a)
		v, w := matsOf(f[1]), diagonal(f[0], n, n)
		near(t, "v w v^H", d, v.times(w).times(v.adjoint()), matsOf(a))
		near(t, "v^H v", d, v.adjoint().times(v), identity(n, v.count()))
		for i, last := 0, math.Inf(1); i < n; i++ {
			if y := cmplx.Abs(w.at(0, i, i)); y > last {
				t.Fatalf("%g follows %g", y, last)
			} else {
				last = y
			}
		}
	})
}

// TestEighDegenerate: equal eigenvalues, small and large, have all vectors.
func TestEighDegenerate(t *testing.T) {
	r := rand.New(rand.NewPCG(49, 50))
	for _, d := range []ops.DType{ops.F64, ops.C128} {
		for _, n := range []int{1, 2, 5, 40} {
			x := matsOf(gauss(r, typ(d, n, 1)))
			zero := mats{n, n, make([]complex128, n*n)}
			for _, m := range []mats{identity(n, 1), zero, x.times(x.adjoint())} {
				for _, scale := range []complex128{1, 1e-300, -1e150} {
					a := valueOf(d, nil, m.scaled(scale))
					f := factor(t, ops.Eigh, nil, []ops.Type{typ(d, n), typ(d, n, n)}, a)
					v := matsOf(f[1])
					near(t, "v w v^H", d, v.times(diagonal(f[0], n, n)).times(v.adjoint()), matsOf(a))
					near(t, "v^H v", d, v.adjoint().times(v), identity(n, 1))
				}
			}
		}
	}
}

func TestSVD(t *testing.T) {
	eachSize(func(r *rand.Rand, d ops.DType, batch []int, m, n int) {
		a, k := gauss(r, with(d, batch, m, n)), min(m, n)
		checkSVD(t, a, batch, factor(t, ops.SVD, [][]int{{0}},
			[]ops.Type{with(d, batch, m, k), with(d, batch, k), with(d, batch, k, n)}, a))
		checkSVD(t, a, batch, factor(t, ops.SVD, [][]int{{1}},
			[]ops.Type{with(d, batch, m, m), with(d, batch, k), with(d, batch, n, n)}, a))
	})
}

func checkSVD(t *testing.T, a Value, batch []int, f []Value) {
	t.Helper()
	d, u, vh := a.Type.DType, matsOf(f[0]), matsOf(f[2])
	near(t, "u s v^H", d, u.times(diagonal(f[1], u.n, vh.m)).times(vh), matsOf(a))
	near(t, "u^H u", d, u.adjoint().times(u), identity(u.n, u.count()))
	near(t, "v^H v", d, vh.times(vh.adjoint()), identity(vh.m, vh.count()))
	s := numbers(f[1])
	for i := range s {
		if s[i] < 0 || i > 0 && i%min(u.m, vh.n) != 0 && s[i] > s[i-1] {
			t.Fatalf("the values are %v", s)
		}
	}
}

// TestDeficient: matrices without full rank have all their vectors, and the
// scale of a matrix does not matter.
func TestDeficient(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 44))
	for _, d := range []ops.DType{ops.F64, ops.C128} {
		for _, rank := range []int{0, 1, 2} {
			for _, scale := range []complex128{1, 1e-200, 1e200} {
				x := mats{5, 4, make([]complex128, 20)}
				if rank > 0 {
					x = matsOf(gauss(r, typ(d, 5, rank))).times(matsOf(gauss(r, typ(d, rank, 4))))
				}
				x = x.scaled(scale)
				a := valueOf(d, nil, x)
				checkSVD(t, a, nil, factor(t, ops.SVD, [][]int{{1}}, []ops.Type{typ(d, 5, 5), typ(d, 4), typ(d, 4, 4)}, a))
				a = valueOf(d, nil, x.adjoint())
				checkSVD(t, a, nil, factor(t, ops.SVD, [][]int{{0}}, []ops.Type{typ(d, 4, 4), typ(d, 4), typ(d, 4, 5)}, a))
				f := factor(t, ops.QR, [][]int{{1}}, []ops.Type{typ(d, 4, 4), typ(d, 4, 5)}, a)
				near(t, "q r", d, matsOf(f[0]).times(matsOf(f[1])), matsOf(a))
			}
		}
	}
}

func TestSingular(t *testing.T) {
	for _, d := range []ops.DType{ops.S32, ops.F32, ops.C64} {
		out := ops.F32
		if d.IsComplex() {
			out = d
		}
		a := tensor(ops.F64, ops.Shape{2, 2, 2}, 1, 0, 0, 1, 1, 2, 2, 4)
		v := dense.New(typ(d, 2, 2, 2))
		dense.StoreAs[float64](d)(v.Data, 0, numbers(a))
		b := tensor(ops.F32, ops.Shape{2, 2}, 1, 2, 3, 4)
		if _, err := tryFactor(ops.Solve, nil, []ops.Type{typ(out, 2, 2)}, v, b); !errors.Is(err, linalg.ErrSingular) {
			t.Errorf("%v: got %v, want %v", d, err, linalg.ErrSingular)
		}
		want(t, factor(t, ops.Determinant, nil, []ops.Type{typ(out, 2)}, v)[0], 1, 0)
		if d == ops.S32 {
			f := factor(t, ops.LU, nil, []ops.Type{v.Type, typ(out, 2, 2, 2), typ(out, 2, 2, 2)}, v)
			want(t, f[0], 1, 0, 0, 1, 0, 1, 1, 0)
			want(t, f[1], 1, 0, 0, 1, 1, 0, 0.5, 1)
			want(t, f[2], 1, 0, 0, 1, 2, 4, 0, 0)
		}
	}
}

func TestDeterminant(t *testing.T) {
	square := func(n int, xs ...float64) Value { return tensor(ops.F64, ops.Shape{n, n}, xs...) }
	for _, c := range []struct {
		a    Value
		want float64
	}{
		{square(1, 7), 7},
		{square(2, 1, 2, 3, 4), -2},
		{square(3, 1, 2, 3, 1, -2, 3, 7, 8, 9), 48},
		{square(4, 0, 2, 0, 0, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4), -24},
		{square(4, 1, 2, 3, 4, 1, 2, 3, 4, 0, 0, 1, 0, 5, 0, 0, 1), 0},
	} {
		want(t, factor(t, ops.Determinant, nil, []ops.Type{typ(ops.F64)}, c.a)[0], c.want)
		z := valueOf(ops.C128, nil, matsOf(c.a))
		want(t, factor(t, ops.Determinant, nil, []ops.Type{typ(ops.C128)}, z)[0], c.want)
	}
}

// TestIndefinite: what Nx computes where there is no Cholesky factor.
func TestIndefinite(t *testing.T) {
	NaN := math.NaN()
	for _, c := range []struct{ a, want Value }{
		{tensor(ops.F32, ops.Shape{2, 2}, 1, 2, 2, 1), tensor(ops.F32, ops.Shape{2, 2}, 1, 0, 2, NaN)},
		{tensor(ops.F32, ops.Shape{2, 2}, -1, 2, 2, 1), tensor(ops.F32, ops.Shape{2, 2}, NaN, 0, NaN, NaN)},
		{tensor(ops.F32, ops.Shape{2, 2}, 1, 1, 1, 1), tensor(ops.F32, ops.Shape{2, 2}, 1, 0, 1, 0)},
		{tensor(ops.F32, ops.Shape{2, 2}, 0, 0, 0, 1), tensor(ops.F32, ops.Shape{2, 2}, 0, 0, 0, 1)},
	} {
		want(t, factor(t, ops.Cholesky, nil, []ops.Type{c.a.Type}, c.a)[0], numbers(c.want)...)
	}
}

// TestNotFinite: NaN and infinities end in NaN, and end.
func TestNotFinite(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 46))
	for _, d := range []ops.DType{ops.F64, ops.C64} {
		for _, n := range []int{2, 5, 40} {
			for _, x := range []float64{math.NaN(), math.Inf(1)} {
				a := gauss(r, typ(d, n, n))
				dense.StoreAs[float64](d)(a.Data, n, []float64{x})
				m, v, s := a.Type, typ(d, n), typ(d)
				for op, outs := range map[ops.Op][]ops.Type{
					ops.QR: {m, m}, ops.SVD: {m, v, m}, ops.Eigh: {v, m}, ops.Cholesky: {m}, ops.LU: {m, m, m}, ops.Determinant: {s},
				} {
					var attrs [][]int
					if op == ops.QR || op == ops.SVD {
						attrs = [][]int{{0}}
					}
					f := factor(t, op, attrs, outs, a)
					if y := numbers(f[0])[0]; y == y && (op == ops.QR || op == ops.SVD || op == ops.Eigh) {
						t.Errorf("%v of %v with %v gives %v", op, m, x, y)
					}
				}
			}
		}
	}
}

// TestNoNegativeZeros: zeros of q and r print as those of Nx.
func TestNoNegativeZeros(t *testing.T) {
	for _, d := range []ops.DType{ops.F32, ops.C64} {
		a := dense.New(typ(d, 4, 3))
		dense.StoreAs[float64](d)(a.Data, 0, []float64{-3, 0, 0, 4, 0, -1, 0, 0, 0, 0, 0, -2})
		for _, v := range factor(t, ops.QR, [][]int{{1}}, []ops.Type{typ(d, 4, 4), typ(d, 4, 3)}, a) {
			for i, x := range numbers(v) {
				if x == 0 && math.Signbit(x) {
					t.Errorf("%v: element %d is -0", v.Type, i)
				}
			}
		}
	}
}

// TestConventions holds signs and order to what Nx documents.
func TestConventions(t *testing.T) {
	f := factor(t, ops.QR, [][]int{{0}}, []ops.Type{typ(ops.F32, 3, 3), typ(ops.F32, 3, 3)},
		tensor(ops.F32, ops.Shape{3, 3}, -3, 2, 1, 0, 1, 1, 0, 0, -1))
	want(t, f[0], 1, 0, 0, 0, 1, 0, 0, 0, 1)
	want(t, f[1], -3, 2, 1, 0, 1, 1, 0, 0, -1)
	f = factor(t, ops.SVD, [][]int{{1}}, []ops.Type{typ(ops.F32, 4, 4), typ(ops.F32, 3), typ(ops.F32, 3, 3)},
		tensor(ops.F32, ops.Shape{4, 3}, 2, 0, 0, 0, 3, 0, 0, 0, -1, 0, 0, 0))
	want(t, f[0], 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1)
	want(t, f[1], 3, 2, 1)
	want(t, f[2], 0, 1, 0, 1, 0, 0, 0, 0, 1)
	f = factor(t, ops.Eigh, nil, []ops.Type{typ(ops.F32, 2), typ(ops.F32, 2, 2)}, tensor(ops.S32, ops.Shape{2, 2}, 1, 0, 0, -2))
	want(t, f[0], -2, 1)
	want(t, f[1], 0, 1, 1, 0)
}
