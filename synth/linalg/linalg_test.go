package linalg_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
	"nxvk/test/fewtest"
)

// mat is a matrix in float64, whatever it is stored in.
type mat struct {
	m, n int
	a    []float64
}

func newMat(m, n int) mat                           { return mat{m, n, make([]float64, m*n)} }
func (x mat) at(i, k int) float64                   { return x.a[i*x.n+k] }
func (x mat) set(i, k int, v float64)               { x.a[i*x.n+k] = v }
func matrix(x synthtest.Tensor, k, m, n int) mat    { return mat{m, n, x.F[k*m*n : (k+1)*m*n]} }
func matrices(x synthtest.Tensor, m, n int) (c int) { return len(x.F) / (m * n) }

func (x mat) times(y mat) mat {
	z := newMat(x.m, y.n)
	for i := range x.m {
		for k := range x.n {
			for c := range y.n {
				z.a[i*z.n+c] += x.at(i, k) * y.at(k, c)
			}
		}
	}
	return z
}

func (x mat) transposed() mat {
	z := newMat(x.n, x.m)
	for i := range x.m {
		for k := range x.n {
			z.set(k, i, x.at(i, k))
		}
	}
	return z
}

func identity(n int) mat {
	z := newMat(n, n)
	for i := range n {
		z.set(i, i, 1)
	}
	return z
}

func (x mat) norm() float64 {
	sum := 0.0
	for _, v := range x.a {
		sum = math.Hypot(sum, v)
	}
	return sum
}

// near fails unless |x - y| is at most 30 n epsilon |scale|.
func near(t *testing.T, what string, d ops.DType, x, y mat, scale float64) {
	t.Helper()
	eps := 0x1p-23
	if d == ops.F64 {
		eps = 0x1p-52
	}
	diff := newMat(x.m, x.n)
	for i, v := range x.a {
		diff.a[i] = v - y.a[i]
	}
	if off, limit := diff.norm(), 30*eps*float64(max(x.m, x.n))*scale; !(off <= limit) {
		t.Fatalf("%s of %v %dx%d: off by %g, permitted %g", what, d, x.m, x.n, off, limit)
	}
}

// gauss is a tensor of normal numbers, rounded to its type.
func gauss(t ops.Type, seed uint64) synthtest.Tensor {
	r := rand.New(rand.NewPCG(seed, 1))
	x := synthtest.Tensor{Typ: t}
	for range t.Size() {
		v := r.NormFloat64()
		if t.DType != ops.F64 {
			v = float64(float32(v))
		}
		x.F = append(x.F, v)
	}
	return x
}

// definite is a batch of positive definite matrices.
func definite(t ops.Type, seed uint64) synthtest.Tensor {
	x, n := gauss(t, seed), t.Shape[len(t.Shape)-1]
	for k := range matrices(x, n, n) {
		a := matrix(x, k, n, n)
		copy(a.a, a.times(a.transposed()).a)
		for i := range n {
			a.set(i, i, a.at(i, i)+1)
		}
	}
	return rounded(x)
}

// rounded has the numbers that the type can hold.
func rounded(x synthtest.Tensor) synthtest.Tensor { return synthtest.FromBytes(x.Typ, x.Bytes()) }

// factorize runs an instruction of several results on the interpreter.
func factorize(t *testing.T, target *lowering.Target, op ops.Op, outs []ops.Type, attrs [][]int, args ...synthtest.Tensor) []synthtest.Tensor {
	t.Helper()
	in := synthtest.Instr(op, outs[0], attrs...)
	for i, o := range outs[1:] {
		in.Outs = append(in.Outs, ops.Result{ID: ops.ID(100 + i), Type: o})
	}
	var types []ops.Type
	var data [][]byte
	for _, a := range args {
		types, data = append(types, a.Typ), append(data, a.Bytes())
	}
	p, err := synthtest.Lower(t, target, in, types...)
	if err != nil {
		t.Fatalf("%v%v: %v", op, types, err)
	}
	var sizes []int
	for _, o := range outs {
		sizes = append(sizes, o.Bytes())
	}
	var results []synthtest.Tensor
	for i, b := range synthtest.Execute(t, p, sizes, data, nil) {
		results = append(results, synthtest.FromBytes(outs[i], b))
	}
	return results
}

func TestCholesky(t *testing.T) {
	for _, d := range []ops.DType{ops.F32, ops.F64} {
		for i, s := range []ops.Shape{{1, 1}, {2, 3, 3}, {33, 33}, {2, 64, 64}, {70, 70}, {2, 131, 131}} {
			x := definite(ops.Type{DType: d, Shape: s}, uint64(i))
			n := s[len(s)-1]
			l := factorize(t, synthtest.GPU, ops.Cholesky, []ops.Type{x.Typ}, nil, x)[0]
			for k := range matrices(x, n, n) {
				a, b := matrix(x, k, n, n), matrix(l, k, n, n)
				near(t, "l l^T", d, b.times(b.transposed()), a, a.norm())
				for i := range n {
					for c := i + 1; c < n; c++ {
						if b.at(i, c) != 0 {
							t.Fatalf("%v above the diagonal", b.at(i, c))
						}
					}
				}
			}
		}
	}
}

// A matrix that is not positive definite has NaN from there on; a column of
// zeros stays one.
func TestCholeskyIndefinite(t *testing.T) {
	x := synthtest.Tensor{Typ: synthtest.Type(ops.F32, 2, 3, 3), F: []float64{4, 0, 0, 2, -1, 0, 2, 0, 9, 4, 0, 0, 2, 1, 0, 2, 1, 2}}
	nan := math.NaN()
	want := synthtest.Tensor{Typ: x.Typ, F: []float64{2, 0, 0, 1, nan, 0, 1, nan, nan, 2, 0, 0, 1, 0, 0, 1, 0, 1}}
	synthtest.Same(t, "cholesky", factorize(t, synthtest.GPU, ops.Cholesky, []ops.Type{x.Typ}, nil, x)[0], want)
}

// Every form of a triangular system, on vectors and matrices. The batches of 200 fill a
// device, which has them solved by halves.
func TestTriangularSolve(t *testing.T) {
	for seed, c := range []struct {
		target *lowering.Target
		d      ops.DType
		a, b   ops.Shape
	}{{synthtest.GPU, ops.F32, ops.Shape{5, 5}, ops.Shape{5}}, {synthtest.GPU, ops.F64, ops.Shape{2, 33, 33}, ops.Shape{2, 33, 33}},
		{synthtest.GPU, ops.F32, ops.Shape{2, 3, 64, 64}, ops.Shape{2, 3, 64}}, {synthtest.GPU, ops.F32, ops.Shape{1, 150, 150}, ops.Shape{1, 150, 150}},
		{small, ops.F32, ops.Shape{200, 50, 50}, ops.Shape{200, 50}}, {small, ops.F64, ops.Shape{200, 37, 37}, ops.Shape{200, 37}}} {
		var forms []int
		for form := range 8 {
			if fewtest.OneIn(2, seed, form>>2, form>>1, form) {
				forms = append(forms, form)
			}
		}
		solveTriangles(t, c.target, ops.Type{DType: c.d, Shape: c.a}, ops.Type{DType: c.d, Shape: c.b}, uint64(seed), forms...)
	}
}

// Triangular systems of random sizes with few right-hand sides, whose rows are dealt out.
func TestRandomTriangularSolve(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 7))
	for range fewtest.Of(32, 12) {
		d, target := []ops.DType{ops.F32, ops.F32, ops.F64}[r.IntN(3)], synthtest.GPU
		if r.IntN(4) == 0 {
			target = small
		}
		n, sides := 1+int(r.Float64()*r.Float64()*600), 1+r.IntN(6)
		if r.IntN(4) == 0 {
			sides += r.IntN(40)
		}
		a, b := ops.Shape{1 + r.IntN(2), n, n}, ops.Shape{0, n, sides}
		form := r.IntN(8)
		if form>>1&1 == 0 {
			b[1], b[2] = sides, n
		}
		b[0] = a[0]
		solveTriangles(t, target, ops.Type{DType: d, Shape: a}, ops.Type{DType: d, Shape: b}, r.Uint64(), form)
	}
}

// solveTriangles checks forms of triangular systems: bit 0 lower, bit 1 from the left, bit 2 the transpose.
func solveTriangles(t *testing.T, target *lowering.Target, at, bt ops.Type, seed uint64, forms ...int) {
	t.Helper()
	n := at.Shape[len(at.Shape)-1]
	a, b := gauss(at, seed), gauss(bt, 9)
	for i := range a.F {
		if a.F[i] /= float64(n); i/n%n == i%n {
			a.F[i] += 2
		}
	}
	a = rounded(a)
	for _, form := range forms {
		lower, left, transform := form&1, form>>1&1, form>>2
		x := factorize(t, target, ops.TriangularSolve, []ops.Type{b.Typ}, [][]int{{lower}, {left}, {transform}}, a, b)[0]
		sides := len(b.F) / (len(a.F) / n)
		for k := range matrices(a, n, n) {
			f := matrix(a, k, n, n)
			tri := newMat(n, n)
			for i := range n {
				for m := range n {
					if i == m || (i > m) == (lower == 1) {
						tri.set(i, m, f.at(i, m))
					}
				}
			}
			if transform == 1 {
				tri = tri.transposed()
			}
			bk, xk := matrix(b, k, n, sides), matrix(x, k, n, sides)
			if left == 0 && (sides == 1 || sides != n) {
				bk, xk = mat{sides, n, bk.a}, mat{sides, n, xk.a}
			}
			got := tri
			if left == 1 {
				got = tri.times(xk)
			} else {
				got = xk.times(tri)
			}
			near(t, "f(a) x", at.DType, got, bk, bk.norm())
		}
	}
}

// small is a GPU with little shared memory, which has narrow panels.
var small = func() *lowering.Target {
	t := *synthtest.GPU
	t.SharedMemory, t.MaxInvocations = 32<<10, 128
	return &t
}()

// eachSquare calls f for types, batches and sizes of square matrices, on devices
// of both sizes.
func eachSquare(t *testing.T, f func(t *testing.T, target *lowering.Target, x synthtest.Tensor, n int)) {
	for name, target := range map[string]*lowering.Target{"gpu": synthtest.GPU, "small": small} {
		t.Run(name, func(t *testing.T) {
			for _, d := range []ops.DType{ops.F32, ops.F64} {
				for i, s := range []ops.Shape{{1, 1}, {19, 3, 3}, {2, 16, 16}, {3, 29, 29}, {33, 33}, {70, 70}, {100, 100}} {
					if d == ops.F64 && s[len(s)-1] > 80 {
						continue
					}
					f(t, target, gauss(ops.Type{DType: d, Shape: s}, uint64(i)), s[len(s)-1])
				}
			}
		})
	}
}

func TestLU(t *testing.T) {
	eachSquare(t, func(t *testing.T, target *lowering.Target, x synthtest.Tensor, n int) {
		f := factorize(t, target, ops.LU, []ops.Type{x.Typ, x.Typ, x.Typ}, nil, x)
		for k := range matrices(x, n, n) {
			p, l, u := matrix(f[0], k, n, n), matrix(f[1], k, n, n), matrix(f[2], k, n, n)
			near(t, "p l u", x.Typ.DType, p.times(l).times(u), matrix(x, k, n, n), matrix(x, k, n, n).norm())
			near(t, "p p^T", x.Typ.DType, p.times(p.transposed()), identity(n), 0)
			for i, v := range l.a {
				if row, col := i/n, i%n; row < col && v != 0 || row == col && v != 1 || math.Abs(v) > 1 || row > col && u.a[i] != 0 {
					t.Fatalf("l has %v and u %v in row %d and column %d", v, u.a[i], row, col)
				}
			}
		}
	})
}

func TestSolve(t *testing.T) {
	eachSquare(t, func(t *testing.T, target *lowering.Target, x synthtest.Tensor, n int) {
		sides := 1 + n%5
		b := gauss(ops.Type{DType: x.Typ.DType, Shape: append(x.Typ.Shape[:len(x.Typ.Shape)-1:len(x.Typ.Shape)-1], sides)}, 3)
		y := factorize(t, target, ops.Solve, []ops.Type{b.Typ}, nil, x, b)[0]
		for k := range matrices(x, n, n) {
			a, z := matrix(x, k, n, n), matrix(y, k, n, sides)
			near(t, "a x", x.Typ.DType, a.times(z), matrix(b, k, n, sides), a.norm()*z.norm())
		}
	})
}

// The determinant of a matrix of whole numbers is one, with the sign of the
// exchanges; products out of range on the way do no harm.
func TestDeterminant(t *testing.T) {
	for _, c := range []struct {
		n    int
		a    []float64
		want float64
	}{
		{1, []float64{-3}, -3},
		{2, []float64{1, 2, 3, 4}, -2},
		{3, []float64{0, 1, 2, 1, 0, 3, 4, -3, 8}, -2},
		{4, []float64{0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0}, 1},
		{4, []float64{0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, -1},
		{4, []float64{0x1p100, 0, 0, 0, 0, 0x1p100, 0, 0, 0, 0, 0x1p-100, 0, 0, 0, 0, 0x1p-90}, 0x1p10},
		{4, []float64{0x1p-100, 0, 0, 0, 0, 0x1p-100, 0, 0, 0, 0, 0x1p100, 0, 0, 0, 0, 0x1p90}, 0x1p-10},
		{4, make([]float64, 16), 0},
	} {
		x := synthtest.Tensor{Typ: synthtest.Type(ops.F32, c.n, c.n), F: c.a}
		got := factorize(t, synthtest.GPU, ops.Determinant, []ops.Type{synthtest.Type(ops.F32)}, nil, x)[0]
		if got.F[0] != c.want {
			t.Errorf("determinant of %v: got %v, want %v", c.a, got.F[0], c.want)
		}
	}
}

func TestQR(t *testing.T) {
	for name, target := range map[string]*lowering.Target{"gpu": synthtest.GPU, "small": small} {
		t.Run(name, func(t *testing.T) {
			for i, s := range []ops.Shape{{1, 1}, {2, 3, 5}, {2, 5, 3}, {33, 33}, {2, 40, 36}, {20, 70}, {600, 10}} {
				for mode := range 2 {
					d := []ops.DType{ops.F32, ops.F64}[(i+mode)%2]
					checkDiagonal(t, checkQR(t, target, gauss(ops.Type{DType: d, Shape: s}, uint64(i)), mode), s[len(s)-2])
				}
			}
		})
	}
}

// factorQR gives q and r of matrices of m × n, q with k columns.
func factorQR(t *testing.T, target *lowering.Target, x synthtest.Tensor, mode int) (f []synthtest.Tensor, m, n, k int) {
	t.Helper()
	s := x.Typ.Shape
	lead, m, n := s[:len(s)-2:len(s)-2], s[len(s)-2], s[len(s)-1]
	k = []int{min(m, n), m}[mode]
	outs := []ops.Type{{DType: x.Typ.DType, Shape: append(lead, m, k)}, {DType: x.Typ.DType, Shape: append(lead, k, n)}}
	return factorize(t, target, ops.QR, outs, [][]int{{mode}}, x), m, n, k
}

// checkQR gives r.
func checkQR(t *testing.T, target *lowering.Target, x synthtest.Tensor, mode int) synthtest.Tensor {
	t.Helper()
	f, m, n, k := factorQR(t, target, x, mode)
	for b := range matrices(x, m, n) {
		q, r := matrix(f[0], b, m, k), matrix(f[1], b, k, n)
		near(t, "q r", x.Typ.DType, q.times(r), matrix(x, b, m, n), matrix(x, b, m, n).norm())
		near(t, "q^T q", x.Typ.DType, q.transposed().times(q), identity(k), 1)
		for i, v := range r.a {
			if row, col := i/n, i%n; row > col && v != 0 {
				t.Fatalf("r has %v in row %d and column %d", v, row, col)
			}
		}
	}
	return f[1]
}

// checkDiagonal fails where a diagonal of r, of matrices of m rows, is negative, but for the last row.
func checkDiagonal(t *testing.T, r synthtest.Tensor, m int) {
	t.Helper()
	k, n := r.Typ.Shape[len(r.Typ.Shape)-2], r.Typ.Shape[len(r.Typ.Shape)-1]
	for b := range matrices(r, k, n) {
		for i := range min(k, n, m-1) {
			if v := matrix(r, b, k, n).at(i, i); v < 0 {
				t.Fatalf("r has %v on its diagonal, in row %d", v, i)
			}
		}
	}
}

// Elements of extreme size, columns of zeros, and what is not finite.
func TestQRExtremes(t *testing.T) {
	for _, by := range []float64{0x1p120, 0x1p-120} {
		x := gauss(synthtest.Type(ops.F32, 6, 4), 1)
		for i := range x.F {
			if x.F[i] *= by; i%4 == 1 {
				x.F[i] = 0
			}
		}
		checkDiagonal(t, checkQR(t, synthtest.GPU, x, 0), 6)
	}
	checkQR(t, synthtest.GPU, synthtest.Tensor{Typ: synthtest.Type(ops.F32, 3, 3), F: make([]float64, 9)}, 1)
	x := gauss(synthtest.Type(ops.F32, 2, 2), 1)
	x.F[3] = math.Inf(1)
	for _, f := range factorize(t, synthtest.GPU, ops.QR, []ops.Type{x.Typ, x.Typ}, [][]int{{0}}, x) {
		synthtest.Same(t, "infinite", f, synthtest.Tensor{Typ: x.Typ, F: []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}})
	}
}
