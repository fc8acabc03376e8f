package fallback

import (
	"errors"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
)

// mats is a batch of matrices in complex128, whatever they were stored in.
type mats struct {
	m, n int
	a    []complex128
}

func matsOf(v Value) mats {
	s := v.Type.Shape
	d := mats{s[len(s)-2], s[len(s)-1], make([]complex128, s.Size())}
	loadCplx[v.Type.DType](d.a, v.Data, 0, 1)
	return d
}

func (d mats) count() int                { return len(d.a) / (d.m * d.n) }
func (d mats) at(k, i, j int) complex128 { return d.a[(k*d.m+i)*d.n+j] }

func (d mats) times(e mats) mats {
	out := mats{d.m, e.n, make([]complex128, d.count()*d.m*e.n)}
	for k := range d.count() {
		for i := range d.m {
			for j := range e.n {
				for l := range d.n {
					out.a[(k*d.m+i)*e.n+j] += d.at(k, i, l) * e.at(k, l, j)
				}
			}
		}
	}
	return out
}

func (d mats) adjoint() mats {
	out := mats{d.n, d.m, make([]complex128, len(d.a))}
	for k := range d.count() {
		for i := range d.m {
			for j := range d.n {
				out.a[(k*d.n+j)*d.m+i] = cmplx.Conj(d.at(k, i, j))
			}
		}
	}
	return out
}

func (d mats) scaled(by complex128) mats {
	out := mats{d.m, d.n, make([]complex128, len(d.a))}
	for i, x := range d.a {
		out.a[i] = x * by
	}
	return out
}

// diagonal makes m by n matrices of the vectors in v.
func diagonal(v Value, m, n int) mats {
	k, xs := min(m, n), make([]complex128, v.Type.Size())
	loadCplx[v.Type.DType](xs, v.Data, 0, 1)
	out := mats{m, n, make([]complex128, len(xs)/k*m*n)}
	for i, x := range xs {
		out.a[(i/k*m+i%k)*n+i%k] = x
	}
	return out
}

func identity(n, count int) mats {
	ones := newValue(typ(ops.F64, count*n))
	for i := range count * n {
		storeFloat[ops.F64](ones.Data, i, []float64{1})
	}
	return diagonal(ones, n, n)
}

// units is the type's epsilon.
func units(d ops.DType) float64 {
	switch d.Real() {
	case ops.F64:
		return 0x1p-52
	case ops.F32:
		return 0x1p-23
	case ops.F16:
		return 0x1p-10
	}
	return 0x1p-7
}

// near fails unless |x - y| / (|y| n epsilon) is at most 30 in the Frobenius
// norm, for each matrix.
func near(t testing.TB, what string, d ops.DType, x, y mats) {
	t.Helper()
	if x.m != y.m || x.n != y.n || len(x.a) != len(y.a) {
		t.Fatalf("%s: %dx%d against %dx%d", what, x.m, x.n, y.m, y.n)
	}
	for k := range x.count() {
		far, size := 0.0, 0.0
		for i := k * x.m * x.n; i < (k+1)*x.m*x.n; i++ {
			far, size = math.Hypot(far, cmplx.Abs(x.a[i]-y.a[i])), math.Hypot(size, cmplx.Abs(y.a[i]))
		}
		if limit := 30 * units(d) * float64(max(x.m, x.n)) * size; !(far <= limit) {
			t.Fatalf("%s of %v, matrix %d of %dx%d: off by %g, permitted %g", what, d, k, x.m, x.n, far, limit)
		}
	}
}

// factor runs a factorisation.
func factor(t testing.TB, op ops.Op, attrs [][]int, outs []ops.Type, args ...Value) []Value {
	t.Helper()
	vs, err := tryFactor(op, attrs, outs, args...)
	if err != nil {
		t.Fatalf("%v of %v: %v", op, args[0].Type, err)
	}
	return vs
}

func tryFactor(op ops.Op, attrs [][]int, outs []ops.Type, args ...Value) (vs []Value, err error) {
	in := ops.Instr{Op: op, Attrs: attrs}
	var types []ops.Type
	for _, a := range args {
		in.Ins, types = append(in.Ins, ops.Operand{}), append(types, a.Type)
	}
	for _, o := range outs {
		in.Outs, vs = append(in.Outs, ops.Result{Type: o}), append(vs, newValue(o))
	}
	if err := in.Check(types); err != nil {
		return nil, err
	}
	return vs, Run(&in, args, vs)
}

// gauss fills a value with normal numbers, complex ones where it is complex.
func gauss(r *rand.Rand, t ops.Type) Value {
	v, xs := newValue(t), make([]complex128, t.Size())
	for i := range xs {
		xs[i] = complex(r.NormFloat64(), r.NormFloat64())
	}
	storeCplx[t.DType](v.Data, 0, xs)
	return v
}

// stored is a mats batch as a value.
func valueOf(d ops.DType, batch []int, x mats) Value {
	v := newValue(typ(d, append(append([]int{}, batch...), x.m, x.n)...))
	storeCplx[d](v.Data, 0, x.a)
	return v
}

// eachSize calls f for types, batches and sizes of matrices.
func eachSize(f func(r *rand.Rand, d ops.DType, batch []int, m, n int)) {
	r := rand.New(rand.NewPCG(41, 42))
	for _, d := range []ops.DType{ops.F16, ops.F32, ops.F64, ops.C64, ops.C128} {
		for _, batch := range [][]int{{}, {3}, {2, 2}} {
			for _, s := range [][2]int{{1, 1}, {1, 4}, {4, 1}, {2, 2}, {3, 5}, {5, 3}, {7, 7}, {40, 40}, {50, 3}, {3, 50}} {
				f(r, d, batch, s[0], s[1])
			}
		}
	}
}

func with(d ops.DType, batch []int, dims ...int) ops.Type {
	return typ(d, append(append([]int{}, batch...), dims...)...)
}

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
		v := newValue(typ(d, 2, 2, 2))
		storeAs[float64](d)(v.Data, 0, numbers(a))
		b := tensor(ops.F32, ops.Shape{2, 2}, 1, 2, 3, 4)
		if _, err := tryFactor(ops.Solve, nil, []ops.Type{typ(out, 2, 2)}, v, b); !errors.Is(err, ErrSingular) {
			t.Errorf("%v: got %v, want %v", d, err, ErrSingular)
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
	nan := math.NaN()
	for _, c := range []struct{ a, want Value }{
		{tensor(ops.F32, ops.Shape{2, 2}, 1, 2, 2, 1), tensor(ops.F32, ops.Shape{2, 2}, 1, 0, 2, nan)},
		{tensor(ops.F32, ops.Shape{2, 2}, -1, 2, 2, 1), tensor(ops.F32, ops.Shape{2, 2}, nan, 0, nan, nan)},
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
				storeAs[float64](d)(a.Data, n, []float64{x})
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
		a := newValue(typ(d, 4, 3))
		storeAs[float64](d)(a.Data, 0, []float64{-3, 0, 0, 4, 0, -1, 0, 0, 0, 0, 0, -2})
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
