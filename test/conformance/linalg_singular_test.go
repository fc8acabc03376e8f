package conformance

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/draw"
)

// withZero is a batch of triangular or diagonal dominant matrices of which some
// have no pivot in a row.
func withZero(r *rand.Rand, of ops.Type, zeros map[int]int) numbers {
	x := normal(r, of)
	n, block := of.Shape[len(of.Shape)-1], x.block()
	for i := range of.Size() {
		if i/n%n == i%n {
			x.v[block*i] = 2 + math.Abs(x.v[block*i])
		}
	}
	for matrix, row := range zeros {
		x.clear((matrix*n+row)*n + row)
	}
	return x.rounded()
}

// clear makes number i zero.
func (x numbers) clear(i int) {
	n := x.block()
	clear(x.v[i*n : (i+1)*n])
}

// sameError computes an instruction of one result on the device and on the host,
// which must fail with the same words, or neither. It reports whether they did.
func sameError(t *testing.T, d, host *exectest.Driver, op ops.Op, out ops.Type, attrs [][]int, ins ...numbers) bool {
	t.Helper()
	var types []ops.Type
	var data [][]byte
	for _, x := range ins {
		types, data = append(types, x.Type), append(data, x.bytes())
	}
	before := d.Exec.Counters().Fallbacks
	_, err := once(d, op, out, attrs, types, data)
	_, want := once(host, op, out, attrs, types, data)
	if d.Exec.Counters().Fallbacks != before {
		t.Errorf("%v %v of %v: the device did not compute it", op, attrs, types)
	}
	switch {
	case err == nil && want == nil:
		return false
	case err == nil || want == nil || err.Error() != want.Error():
		t.Errorf("%v %v of %v: the device says %v, the host says %v", op, attrs, types, err, want)
	}
	return true
}

// onGPU runs a test with the kernels of GPUs and the host beside them.
func onGPU(t *testing.T, test func(t *testing.T, d, host *exectest.Driver)) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		if !gpu && target.CPU {
			t.Skip("factors are the host's where the device is a processor")
		}
		test(t, d, host)
	})
}

// Where a triangle has a zero on its diagonal, the device gives the error of the
// host, of the same row: the first one on the way of the first matrix.
func TestTriangularSingular(t *testing.T) {
	onGPU(t, func(t *testing.T, d, host *exectest.Driver) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, c := range []struct {
			of    ops.Type
			zeros map[int]int
		}{
			{ops.Type{DType: ops.F32, Shape: ops.Shape{1, 1}}, map[int]int{0: 0}},
			{ops.Type{DType: ops.F32, Shape: ops.Shape{5, 5}}, nil},
			{ops.Type{DType: ops.F64, Shape: ops.Shape{3, 4, 4}}, map[int]int{1: 3, 2: 0}},
			{ops.Type{DType: ops.F16, Shape: ops.Shape{4, 4}}, map[int]int{0: 2}},
			{ops.Type{DType: ops.F32, Shape: ops.Shape{100, 100}}, map[int]int{0: 99}},
			{ops.Type{DType: ops.F32, Shape: ops.Shape{700, 3, 3}}, map[int]int{650: 1, 699: 0}},
			{ops.Type{DType: ops.F32, Shape: ops.Shape{700, 3, 3}}, nil},
			{ops.Type{DType: ops.C64, Shape: ops.Shape{2, 5, 5}}, map[int]int{1: 2}},
			{ops.Type{DType: ops.C128, Shape: ops.Shape{40, 40}}, map[int]int{0: 39}},
			{ops.Type{DType: ops.C64, Shape: ops.Shape{3, 3}}, nil},
		} {
			a := withZero(r, c.of, c.zeros)
			for form := range 12 {
				n := c.of.Shape[len(c.of.Shape)-1]
				b := normal(r, with(c.of, n, n))
				failed := sameError(t, d, host, ops.TriangularSolve, b.Type, [][]int{{form & 1}, {form >> 1 & 1}, {form >> 2}}, a, b)
				if failed != (len(c.zeros) > 0) {
					t.Errorf("%v with zeros %v: failed is %v", c.of, c.zeros, failed)
				}
			}
		}
	})
}

// A system that has no solution is an error, wherever in the batch it is and
// whenever its elimination ends.
func TestSolveSingular(t *testing.T) {
	onGPU(t, func(t *testing.T, d, host *exectest.Driver) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, of := range []ops.Type{
			{DType: ops.F32, Shape: ops.Shape{1, 1}}, {DType: ops.F16, Shape: ops.Shape{2, 3, 3}},
			{DType: ops.F64, Shape: ops.Shape{40, 40}}, {DType: ops.F32, Shape: ops.Shape{500, 5, 5}}, {DType: ops.F32, Shape: ops.Shape{90, 90}},
			{DType: ops.C64, Shape: ops.Shape{2, 4, 4}}, {DType: ops.C128, Shape: ops.Shape{33, 33}},
		} {
			size := of.Shape[len(of.Shape)-1]
			b := normal(r, with(of, size, 2))
			for _, zero := range []int{-1, 0, size / 2, size - 1} {
				a := withZero(r, of, nil)
				last := of.Size()/(size*size) - 1
				for i := range size {
					if zero >= 0 { // a column of zeros in the last matrix
						a.clear((last*size+i)*size + zero)
					}
				}
				if failed := sameError(t, d, host, ops.Solve, b.Type, nil, a, b); failed != (zero >= 0) {
					t.Errorf("%v with zeros in column %d: failed is %v", of, zero, failed)
				}
			}
		}
		// Rows that are multiples of each other by a power of two leave no rounding.
		of := ops.Type{DType: ops.F32, Shape: ops.Shape{3, 3}}
		a := numbers{of, []float64{1, 3, 5, 2, 6, 10, 4, 1, 1}}
		b := normal(r, with(of, 3, 1))
		if !sameError(t, d, host, ops.Solve, b.Type, nil, a, b) {
			t.Error("a matrix of rank 2 has a solution")
		}
	})
}

// What has no error for such matrices has the numbers of the host: NaN in the
// factor of one that is not positive definite, a determinant of 0, an upper
// triangle with a zero.
func TestSingularFactors(t *testing.T) {
	onGPU(t, func(t *testing.T, d, host *exectest.Driver) {
		indefinite := []float64{4, 0, 0, 2, -1, 0, 2, 0, 9, 4, 0, 0, 2, 1, 0, 2, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0}
		rank2 := []float64{1, 3, 5, 0, 2, 6, 10, 0, 4, 1, 1, 0, 8, 2, 2, 0}
		for _, dt := range []ops.DType{ops.F32, ops.F64} {
			x := numbers{ops.Type{DType: dt, Shape: ops.Shape{3, 3, 3}}, indefinite}
			y := numbers{ops.Type{DType: dt, Shape: ops.Shape{4, 4}}, rank2}
			sameNumbers(t, d, host, ops.Cholesky, []ops.Type{x.Type}, x)
			sameNumbers(t, d, host, ops.LU, []ops.Type{y.Type, y.Type, y.Type}, y)
			sameNumbers(t, d, host, ops.LU, []ops.Type{x.Type, x.Type, x.Type}, x)
			sameNumbers(t, d, host, ops.Determinant, []ops.Type{with(y.Type)}, y)
			sameNumbers(t, d, host, ops.Determinant, []ops.Type{with(x.Type)}, x)
			// What a pivot's row takes off the rows beneath it leaves those above alone.
			z := numbers{ops.Type{DType: dt, Shape: ops.Shape{3, 3}}, []float64{4, 1, 2, 2, 3, math.Inf(1), 1, 1.5, 3}}
			sameNumbers(t, d, host, ops.LU, []ops.Type{z.Type, z.Type, z.Type}, z)
		}
		// The root of a negative pivot is imaginary where there are such numbers.
		for _, dt := range complexTypes {
			x := numbers{ops.Type{DType: dt, Shape: ops.Shape{2, 3, 3}}, onAxis(4, 0, 0, 2, -3, 0, 2, 5, 11.5, 4, 0, 0, 2, 1, 0, 2, 1, 2)}
			x.v[6], x.v[7] = 0, 2
			y := numbers{ops.Type{DType: dt, Shape: ops.Shape{4, 4}}, onAxis(rank2...)}
			y.v[18], y.v[19] = y.v[19], y.v[18]
			sameNumbers(t, d, host, ops.Cholesky, []ops.Type{x.Type}, x)
			sameNumbers(t, d, host, ops.LU, []ops.Type{y.Type, y.Type, y.Type}, y)
			sameNumbers(t, d, host, ops.Determinant, []ops.Type{with(y.Type)}, y)
			sameNumbers(t, d, host, ops.Determinant, []ops.Type{with(x.Type)}, x)
		}
	})
}

// onAxis are complex numbers that are real.
func onAxis(v ...float64) []float64 {
	parts := make([]float64, 2*len(v))
	for i, x := range v {
		parts[2*i] = x
	}
	return parts
}

// NaN is no zero. Where it is on the diagonal it is a pivot, and the solution is
// NaN; elsewhere it is passed over, and what is left may have no pivot.
func TestSolveNaN(t *testing.T) {
	onGPU(t, func(t *testing.T, d, host *exectest.Driver) {
		nan, inf := math.NaN(), math.Inf(1)
		for _, v := range [][]float64{
			{nan, 1, 0, 0, 1, 2, 0, 3, 1}, {0, 1, 2, nan, 1, 3, 0, 1, 1}, {1, 2, 3, nan, 1, 3, 2, 1, 1},
			{nan, 1, 0, inf, 1, 2, 0, 3, 1}, {2, 1, 1, 4, nan, 2, 2, 1, 1}, {nan, nan, nan, nan, nan, nan, nan, nan, nan},
		} {
			for _, dt := range []ops.DType{ops.F32, ops.F64} {
				x := numbers{ops.Type{DType: dt, Shape: ops.Shape{3, 3}}, v}
				b := numbers{ops.Type{DType: dt, Shape: ops.Shape{3}}, []float64{1, 2, 3}}
				sameError(t, d, host, ops.Solve, b.Type, nil, x, b)
			}
			for _, dt := range complexTypes {
				x := numbers{ops.Type{DType: dt, Shape: ops.Shape{3, 3}}, onAxis(v...)}
				b := numbers{ops.Type{DType: dt, Shape: ops.Shape{3}}, onAxis(1, 2, 3)}
				sameError(t, d, host, ops.Solve, b.Type, nil, x, b)
			}
		}
	})
}

// sameNumbers compares all results of the device with those of the host; zeros
// and NaN have no sign here.
func sameNumbers(t *testing.T, d, host *exectest.Driver, op ops.Op, outs []ops.Type, x numbers) {
	t.Helper()
	got, want := bothResults(t, d, host, op, outs, nil, x)
	for k := range got {
		for i, v := range want[k] {
			if w := got[k][i]; w != v && !(math.IsNaN(w) && math.IsNaN(v)) {
				t.Errorf("%v of %v, result %d: got %v, want %v", op, x.Type, k, got[k], want[k])
				break
			}
		}
	}
}

// bothResults are all results of the device, which must compute them, and of the host.
func bothResults(t *testing.T, d, host *exectest.Driver, op ops.Op, outs []ops.Type, attrs [][]int, x numbers) (got, want [][]float64) {
	t.Helper()
	results := func(d *exectest.Driver) (lists [][]float64) {
		for i, id := range d.DoAll(op, outs, attrs, ops.Operand{ID: d.Upload(x.Type, x.bytes())}) {
			data, err := d.Read(id)
			if err != nil {
				t.Fatalf("%v of %v: %v", op, x.Type, err)
			}
			lists = append(lists, draw.Decode(data, flatten(outs[i])))
		}
		return lists
	}
	before := d.Exec.Counters().Fallbacks
	got, want = results(d), results(host)
	if d.Exec.Counters().Fallbacks != before {
		t.Errorf("%v of %v: the device did not compute it", op, x.Type)
	}
	return got, want
}

// A matrix of a batch that is not finite has NaN for factors, wherever the element is
// that is not, and the others have theirs.
func TestFactorsOfNaN(t *testing.T) {
	onGPU(t, func(t *testing.T, d, host *exectest.Driver) {
		r := rand.New(rand.NewPCG(4, 3))
		for i, of := range []ops.Type{{DType: ops.F32, Shape: ops.Shape{4, 3, 3}}, {DType: ops.F64, Shape: ops.Shape{4, 40, 40}},
			{DType: ops.C64, Shape: ops.Shape{4, 5, 5}}, {DType: ops.F16, Shape: ops.Shape{4, 2, 2}}} {
			x := normal(r, of)
			n, _ := x.dims()
			each := len(x.v) / 4
			x.v[each+each-1], x.v[2*each+x.block()*n], x.v[3*each] = math.NaN(), math.Inf(1), math.Inf(-1)
			values := with(of, n)
			for op, form := range map[ops.Op]struct {
				outs  []ops.Type
				attrs [][]int
			}{ops.Eigh: {[]ops.Type{values, of}, nil}, ops.SVD: {[]ops.Type{of, values, of}, [][]int{{i % 2}}}, ops.QR: {[]ops.Type{of, of}, [][]int{{0}}}} {
				got, want := bothResults(t, d, host, op, form.outs, form.attrs, x)
				for k, typ := range form.outs {
					g, w := numbers{typ, got[k]}, numbers{typ, want[k]}
					for u := range typ.Size() {
						finite := u*4/typ.Size() == 0
						if cmplx.IsNaN(g.number(u)) == finite || cmplx.IsNaN(w.number(u)) == finite {
							t.Errorf("%v of %v: element %d of result %d is %v, the host has %v", op, of, u, k, g.number(u), w.number(u))
							break
						}
					}
				}
			}
		}
	})
}
