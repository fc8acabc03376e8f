package conformance

import (
	"bytes"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/fewtest"
)

// factors computes an instruction of several results on the device, twice, and
// returns the first.
func (n *tally) factors(t *testing.T, d *exectest.Driver, op ops.Op, outs []ops.Type, attrs [][]int, ins ...numbers) (xs []numbers) {
	t.Helper()
	n.cases++
	before := d.Exec.Counters().Fallbacks
	for again := range 2 {
		var operands []ops.Operand
		var ids []ops.ID
		for _, x := range ins {
			id := d.Upload(x.Type, x.bytes())
			ids, operands = append(ids, id), append(operands, ops.Operand{ID: id})
		}
		results := d.DoAll(op, outs, attrs, operands...)
		for i, id := range results {
			data, err := d.Read(id)
			if err != nil {
				t.Fatalf("%v %v of %v: %v", op, attrs, ins[0].Type, err)
			}
			if again == 0 {
				xs = append(xs, numbersOf(data, outs[i]))
			} else if !bytes.Equal(data, xs[i].bytes()) {
				t.Errorf("%v %v of %v: the second run differs from the first", op, attrs, ins[0].Type)
			}
		}
		d.Free(append(ids, results...)...)
	}
	if d.Exec.Counters().Fallbacks == before {
		n.device++
	}
	return xs
}

// normal draws normal numbers of a type.
func normal(r *rand.Rand, t ops.Type) numbers {
	x := numbers{t, make([]float64, flatten(t).Size())}
	for i := range x.v {
		x.v[i] = r.NormFloat64()
	}
	return x.rounded()
}

// unit is the distance from 1 to the next number of a type.
func unit(d ops.DType) float64 { return math.Exp2(float64(1 - digits[d.Real()])) }

// residual fails where |x - y| exceeds 30 n epsilon |scale| for a matrix.
func residual(t *testing.T, what string, d ops.DType, x, y, scale batch) {
	t.Helper()
	eps := unit(d)
	for b := range x.count() {
		off, size := 0.0, 0.0
		for i := b * x.m * x.n; i < (b+1)*x.m*x.n; i++ {
			off += (x.a[i] - y.a[i]) * (x.a[i] - y.a[i])
		}
		for _, v := range scale.a[b*scale.m*scale.n : (b+1)*scale.m*scale.n] {
			size += v * v
		}
		if limit := 30 * eps * float64(max(x.m, x.n)) * math.Sqrt(size); !(math.Sqrt(off) <= limit) {
			t.Fatalf("%s of %v %d×%d, matrix %d: off by %g, permitted %g", what, d, x.m, x.n, b, math.Sqrt(off), limit)
		}
	}
}

// squareSizes are the sizes of square matrices and their batches.
var squareSizes = []ops.Shape{{1, 1}, {5, 2, 2}, {3, 3}, {2, 2, 31, 31}, {32, 32}, {3, 33, 33}, {64, 64}, {2, 100, 100}, {257, 257}}

// onSquares runs a test on matrices of all sizes, in every type that a device
// computes.
func onSquares(t *testing.T, test func(t *testing.T, n *tally, d, host *exectest.Driver, r *rand.Rand, of ops.Type)) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		if !gpu && target.CPU {
			t.Skip("factors are the host's where the device is a processor")
		}
		var n tally
		r := rand.New(rand.NewPCG(3, 5))
		for i, dt := range []ops.DType{ops.F32, ops.F64, ops.F16, ops.C64, ops.C128} {
			for k, s := range squareSizes {
				if dt == ops.F16 && s[len(s)-1] > 40 || !fewtest.OneIn(2, i, k) {
					continue
				}
				test(t, &n, d, host, r, ops.Type{DType: dt, Shape: s})
			}
		}
		n.allOnDevice(t)
	})
}

// with is a type of the same batch with other dimensions after it.
func with(t ops.Type, dims ...int) ops.Type {
	return ops.Type{DType: t.DType, Shape: append(append(ops.Shape{}, t.Shape[:len(t.Shape)-2]...), dims...)}
}

func TestCholesky(t *testing.T) {
	onSquares(t, func(t *testing.T, n *tally, d, host *exectest.Driver, r *rand.Rand, of ops.Type) {
		x := normal(r, of)
		m := x.matrices()
		x = x.with(m.times(m.transposed())).scaledDiagonal(1, 1)
		f := n.factors(t, d, ops.Cholesky, []ops.Type{of}, nil, x)[0]
		l := f.matrices()
		residual(t, "l l^H", of.DType, l.times(l.transposed()), x.matrices(), x.matrices())
		if above := triangleOf(l, f.block(), true); !slices.Equal(above.a, l.a) {
			t.Fatalf("%v: l has elements above the diagonal", of)
		}
	})
}

func TestTriangularSolve(t *testing.T) {
	onSquares(t, func(t *testing.T, n *tally, d, host *exectest.Driver, r *rand.Rand, of ops.Type) {
		size := of.Shape[len(of.Shape)-1]
		a := normal(r, of).scaledDiagonal(1/float64(size), 2)
		for form := range 12 {
			lower, left, transform := form&1, form>>1&1, form>>2
			b := normal(r, with(of, size, 3))
			if left == 0 {
				b.Shape = with(of, 3, size).Shape
			}
			x := n.factors(t, d, ops.TriangularSolve, []ops.Type{b.Type}, [][]int{{lower}, {left}, {transform}}, a, b)[0].matrices()
			var f batch
			switch transform {
			case 0:
				f = triangleOf(a.matrices(), a.block(), lower == 1)
			case 1: // the transpose is the adjoint of conjugates
				f = triangleOf(a.conjugate().matrices(), a.block(), lower == 1).transposed()
			case 2:
				f = triangleOf(a.conjugate().matrices(), a.block(), lower == 1)
			}
			if left == 1 {
				residual(t, "f(a) x", of.DType, f.times(x), b.matrices(), b.matrices())
			} else {
				residual(t, "x f(a)", of.DType, x.times(f), b.matrices(), b.matrices())
			}
		}
	})
}

func TestLU(t *testing.T) {
	onSquares(t, func(t *testing.T, n *tally, d, host *exectest.Driver, r *rand.Rand, of ops.Type) {
		x := normal(r, of)
		f := n.factors(t, d, ops.LU, []ops.Type{of, of, of}, nil, x)
		p, l, u := f[0].matrices(), f[1].matrices(), f[2].matrices()
		residual(t, "p l u", of.DType, p.times(l).times(u), x.matrices(), x.matrices())
		size, block := of.Shape[len(of.Shape)-1], x.block()
		for i := range of.Size() {
			v, w := cmplx.Abs(f[1].number(i)), cmplx.Abs(f[2].number(i))
			most := 1 + float64(block-1)*4*unit(of.DType) // a complex quotient rounds several times
			if row, col := i/size%size, i%size; row < col && v != 0 || row == col && f[1].v[block*i] != 1 || v > most || row > col && w != 0 {
				t.Fatalf("%v: l has %v and u %v in row %d and column %d", of, v, w, row, col)
			}
		}
	})
}

func TestSolve(t *testing.T) {
	onSquares(t, func(t *testing.T, n *tally, d, host *exectest.Driver, r *rand.Rand, of ops.Type) {
		size := of.Shape[len(of.Shape)-1]
		a := normal(r, of).scaledDiagonal(1, 2*float64(size)) // no small pivots: the error of x is that of b
		b := normal(r, with(of, size, 3))
		x := n.factors(t, d, ops.Solve, []ops.Type{b.Type}, nil, a, b)[0]
		residual(t, "a x", of.DType, a.matrices().times(x.matrices()), b.matrices(), b.matrices())
	})
}

// A determinant is the host's but for the rounding of each product.
func TestDeterminant(t *testing.T) {
	onSquares(t, func(t *testing.T, n *tally, d, host *exectest.Driver, r *rand.Rand, of ops.Type) {
		size := float64(of.Shape[len(of.Shape)-1])
		if size > 100 && of.DType.Real() != ops.F64 {
			return
		}
		x := normal(r, of).scaledDiagonal(1/math.Sqrt(size), 0)
		got := n.factors(t, d, ops.Determinant, []ops.Type{with(of)}, nil, x)[0]
		want := new(tally).factors(t, host, ops.Determinant, []ops.Type{with(of)}, nil, x)[0]
		for i := range want.Size() {
			v, w := got.number(i), want.number(i)
			if v == w {
				continue // both may be out of range
			}
			if limit := 100 * unit(of.DType) * size * size * cmplx.Abs(w); !(cmplx.Abs(v-w) <= limit) {
				t.Errorf("%v: got %v, want %v", of, v, w)
			}
		}
	})
}

// oblongs are the shapes of matrices that need not be square.
var oblongs = []ops.Shape{{1, 1}, {1, 5}, {5, 1}, {3, 2, 3}, {2, 3, 2}, {31, 33}, {33, 31}, {64, 64}, {100, 40}, {257, 20}, {20, 257}, {70, 100}, {1500, 40}}

// onShapes runs a test on matrices of all shapes, in every type that a
// device computes.
func onShapes(t *testing.T, list []ops.Shape, test func(t *testing.T, n *tally, d *exectest.Driver, x numbers, mode int)) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		if !gpu && target.CPU {
			t.Skip("factors are the host's where the device is a processor")
		}
		var n tally
		r := rand.New(rand.NewPCG(8, 9))
		for i, s := range list {
			for at := range 4 {
				dt := []ops.DType{ops.F32, ops.F64, ops.C64, ops.C128}[(i+at)%4]
				if !fewtest.OneIn(3, at) { // one of each mode, of types that change with the shape
					continue
				}
				if dt.IsComplex() && max(s[len(s)-1], s[len(s)-2]) > 120 {
					continue // the test's own products take long
				}
				test(t, &n, d, normal(r, ops.Type{DType: dt, Shape: s}), at%2)
			}
		}
		n.allOnDevice(t)
	})
}

func TestQR(t *testing.T) {
	onShapes(t, append(oblongs, ops.Shape{257, 257}, ops.Shape{520, 512}, ops.Shape{120, 20}), func(t *testing.T, n *tally, d *exectest.Driver, x numbers, mode int) {
		m, cols := x.dims()
		r := checkQR(t, n, d, x, mode)
		rows, _ := r.dims()
		for i := range r.Size() {
			if row, col := i/cols%rows, i%cols; row == col && x.block() == 1 && row < m-1 && real(r.number(i)) < 0 {
				t.Fatalf("%v: r has %v on its diagonal, in row %d", x.Type, r.number(i), row)
			}
		}
	})
}

// checkQR factors matrices, checks the factors, and gives r.
func checkQR(t *testing.T, n *tally, d *exectest.Driver, x numbers, mode int) numbers {
	t.Helper()
	m, cols := x.dims()
	k := []int{min(m, cols), m}[mode]
	f := n.factors(t, d, ops.QR, []ops.Type{with(x.Type, m, k), with(x.Type, k, cols)}, [][]int{{mode}}, x)
	a, q, r := x.matrices(), f[0].matrices(), f[1].matrices()
	residual(t, "q r", x.DType, q.times(r), a, a)
	residual(t, "q^H q", x.DType, q.transposed().times(q), ones(q.n, a.count()), ones(1, a.count()))
	for i := range f[1].Size() {
		if v := f[1].number(i); v != 0 && i/cols%k > i%cols {
			t.Fatalf("%v: r has %v beneath its diagonal", x.Type, v)
		}
	}
	return f[1]
}

// The diagonal of a complex r has the phases that the host gives it.
func TestComplexPhase(t *testing.T) {
	onGPU(t, func(t *testing.T, d, host *exectest.Driver) {
		r := rand.New(rand.NewPCG(4, 1))
		for _, of := range []ops.Type{{DType: ops.C64, Shape: ops.Shape{1, 1}}, {DType: ops.C64, Shape: ops.Shape{4, 3}},
			{DType: ops.C128, Shape: ops.Shape{3, 5}}, {DType: ops.C64, Shape: ops.Shape{90, 40}}} {
			x := normal(r, of)
			m, n := x.dims()
			k := min(m, n)
			outs := []ops.Type{with(of, m, k), with(of, k, n)}
			got := new(tally).factors(t, d, ops.QR, outs, [][]int{{0}}, x)[1]
			want := new(tally).factors(t, host, ops.QR, outs, [][]int{{0}}, x)[1]
			for i := range k {
				if v, w := got.number(i*n+i), want.number(i*n+i); cmplx.Abs(v-w) > 1e-3*cmplx.Abs(w) {
					t.Errorf("%v: r has %v in row %d, the host has %v", of, v, i, w)
				}
			}
		}
	})
}

func TestSVD(t *testing.T) {
	onShapes(t, oblongs, checkSVD)
}

// checkSVD decomposes matrices and checks the factors.
func checkSVD(t *testing.T, n *tally, d *exectest.Driver, x numbers, full int) {
	t.Helper()
	m, cols := x.dims()
	k := min(m, cols)
	left, right := k, k
	if full != 0 {
		left, right = m, cols
	}
	f := n.factors(t, d, ops.SVD, []ops.Type{with(x.Type, m, left), with(x.Type, k), with(x.Type, right, cols)}, [][]int{{full}}, x)
	a, u, s, v := x.matrices(), f[0].matrices(), f[1].diagonal(left, right).matrices(), f[2].matrices()
	residual(t, "u s v", x.DType, u.times(s).times(v), a, a)
	residual(t, "u^H u", x.DType, u.transposed().times(u), ones(u.n, a.count()), ones(1, a.count()))
	residual(t, "v v^H", x.DType, v.times(v.transposed()), ones(v.m, a.count()), ones(1, a.count()))
}

func TestEigh(t *testing.T) {
	var squares []ops.Shape
	for _, n := range []int{1, 2, 3, 31, 32, 33, 64, 100} {
		squares = append(squares, ops.Shape{1 + n%2, n, n})
	}
	onShapes(t, squares, func(t *testing.T, n *tally, d *exectest.Driver, x numbers, _ int) {
		a := x.matrices()
		checkEigh(t, n, d, x.with(a.plus(a.transposed())))
	})
}

// checkEigh decomposes Hermitian matrices and checks the factors.
func checkEigh(t *testing.T, n *tally, d *exectest.Driver, x numbers) {
	t.Helper()
	size, _ := x.dims()
	f := n.factors(t, d, ops.Eigh, []ops.Type{with(x.Type, size), x.Type}, nil, x)
	a, v := x.matrices(), f[1].matrices()
	residual(t, "v l v^H", x.DType, v.times(f[0].diagonal(size, size).matrices()).times(v.transposed()), a, a)
	residual(t, "v^H v", x.DType, v.transposed().times(v), ones(a.n, a.count()), ones(1, a.count()))
}

// Vectors of complex matrices have the phases that the host gives them.
func TestComplexVectors(t *testing.T) {
	onGPU(t, func(t *testing.T, d, host *exectest.Driver) {
		r := rand.New(rand.NewPCG(4, 2))
		for _, of := range []ops.Type{{DType: ops.C64, Shape: ops.Shape{2, 2}}, {DType: ops.C128, Shape: ops.Shape{2, 5, 5}}, {DType: ops.C64, Shape: ops.Shape{40, 40}}} {
			x := normal(r, of)
			n, _ := x.dims()
			h := x.with(x.matrices().plus(x.matrices().transposed()))
			near := func(op ops.Op, outs []ops.Type, attrs [][]int, x numbers) {
				got, want := new(tally).factors(t, d, op, outs, attrs, x), new(tally).factors(t, host, op, outs, attrs, x)
				for k := range want {
					for i := range want[k].Size() {
						if v, w := got[k].number(i), want[k].number(i); cmplx.Abs(v-w) > 1e-2 {
							t.Fatalf("%v of %v: element %d of result %d is %v, the host has %v", op, of, i, k, v, w)
						}
					}
				}
			}
			near(ops.Eigh, []ops.Type{with(of, n), of}, nil, h)
			near(ops.SVD, []ops.Type{of, with(of, n), of}, [][]int{{0}}, x)
		}
	})
}
