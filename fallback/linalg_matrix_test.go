package fallback

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"nxvk/fallback/dense"
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
	dense.LoadCplx[v.Type.DType](d.a, v.Data, 0, 1)
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
	dense.LoadCplx[v.Type.DType](xs, v.Data, 0, 1)
	out := mats{m, n, make([]complex128, len(xs)/k*m*n)}
	for i, x := range xs {
		out.a[(i/k*m+i%k)*n+i%k] = x
	}
	return out
}

func identity(n, count int) mats {
	ones := dense.New(typ(ops.F64, count*n))
	for i := range count * n {
		dense.StoreFloat[ops.F64](ones.Data, i, []float64{1})
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
		in.Outs, vs = append(in.Outs, ops.Result{Type: o}), append(vs, dense.New(o))
	}
	if err := in.Check(types); err != nil {
		return nil, err
	}
	return vs, Run(&in, args, vs)
}

// gauss fills a value with normal numbers, complex ones where it is complex.
func gauss(r *rand.Rand, t ops.Type) Value {
	v, xs := dense.New(t), make([]complex128, t.Size())
	for i := range xs {
		xs[i] = complex(r.NormFloat64(), r.NormFloat64())
	}
	dense.StoreCplx[t.DType](v.Data, 0, xs)
	return v
}

// valueOf is a batch of matrices as a value.
func valueOf(d ops.DType, batch []int, x mats) Value {
	v := dense.New(typ(d, append(append([]int{}, batch...), x.m, x.n)...))
	dense.StoreCplx[d](v.Data, 0, x.a)
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
