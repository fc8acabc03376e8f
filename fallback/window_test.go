package fallback

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/fallback/dense"
	"nxvk/fallback/linalg"
	"nxvk/ops"
)

// TestWindowsInPadding: a window that sees padding alone gives the identity of
// the element type.
func TestWindowsInPadding(t *testing.T) {
	attrs := [][]int{{1}, {1, 0}, {1}, {1}}
	want(t, run(t, ops.WindowMax, attrs, typ(ops.S8, 2), vec(ops.S8, 3)), -128, 3)
	want(t, run(t, ops.WindowMin, attrs, typ(ops.U4, 2), vec(ops.U4, 3)), 15, 3)
	want(t, run(t, ops.WindowMax, attrs, typ(ops.F16, 2), vec(ops.F16, 3)), -inf, 3)
	want(t, run(t, ops.WindowProduct, attrs, typ(ops.F32, 2), vec(ops.F32, 3)), 1, 3)
	crop := [][]int{{2}, {-1, 0}, {1}, {1}}
	want(t, run(t, ops.WindowSum, crop, typ(ops.F32, 1), vec(ops.F32, 1, 2, 4)), 6)
	want(t, run(t, ops.WindowMax, [][]int{{2}, {0, 0}, {1}, {1}}, typ(ops.F32, 2), vec(ops.F32, NaN, 1, 2)), NaN, 2)
}

// TestWindowOfOne is the identity, and a window over everything the reduction.
func TestWindowOfOne(t *testing.T) {
	x := random(rand.New(rand.NewPCG(21, 22)), typ(ops.S32, 3, 4))
	whole := [][]int{{3, 4}, {0, 0, 0, 0}, {1, 1}, {1, 1}}
	for op, reduction := range map[ops.Op]ops.Op{ops.WindowSum: ops.Sum, ops.WindowProduct: ops.Product,
		ops.WindowMax: ops.ReduceMax, ops.WindowMin: ops.ReduceMin} {
		want(t, run(t, op, [][]int{{1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1}}, x.Type, x), numbers(x)...)
		want(t, run(t, op, whole, typ(ops.S32, 1, 1), x),
			numbers(run(t, reduction, [][]int{{0, 1}, {0}}, typ(ops.S32), x))...)
	}
}

// TestConvAgainstLoops computes a large convolution with dilations, which is
// laid out in several parts, by hand.
func TestConvAgainstLoops(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	x, k := random(r, typ(ops.F32, 2, 8, 50, 40)), random(r, typ(ops.F32, 6, 8, 5, 5))
	one := []int{1}
	attrs := [][]int{{1, 2}, {2, 3, 1, 0}, {1, 1}, {2, 1}, one, one, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}}
	out := ops.Shape{2, 6, 47, 19}
	got := numbers(run(t, ops.Conv, attrs, ops.Type{DType: ops.F32, Shape: out}, x, k))
	xs, ks := numbers(x), numbers(k)
	for n := 0; n < len(got); n += 97 {
		o, sum := unravel(n, out), 0.0
		for c := range 8 {
			for i := range 5 {
				for j := range 5 {
					h, w := o[2]+2*i-2, o[3]*2+j-1
					if h >= 0 && h < 50 && w >= 0 && w < 40 {
						sum += xs[((o[0]*8+c)*50+h)*40+w] * ks[((o[1]*8+c)*5+i)*5+j]
					}
				}
			}
		}
		if math.Abs(got[n]-sum) > 1e-4 {
			t.Fatalf("element %v is %v, want %v", o, got[n], sum)
		}
	}
}

// TestTransformsInvert: ifft(fft(x)) is x, for lengths of every kind.
func TestTransformsInvert(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	for _, n := range []int{1, 2, 3, 7, 16, 30, 97} {
		x := random(r, typ(ops.F64, 2, n))
		there := run(t, ops.FFT, [][]int{{n}, {1}, {0}}, typ(ops.C128, 2, n), x)
		back := run(t, ops.IFFT, [][]int{{n}, {1}, {0}}, typ(ops.C128, 2, n), there)
		half := run(t, ops.RFFT, [][]int{{n}, {1}, {0}}, typ(ops.C128, 2, n/2+1), x)
		signal := run(t, ops.IRFFT, [][]int{{n}, {1}, {0}}, typ(ops.F64, 2, n), half)
		for i, w := range numbers(x) {
			if a, b := numbers(back)[i], numbers(signal)[i]; math.Abs(a-w) > 1e-12 || math.Abs(b-w) > 1e-12 {
				t.Fatalf("length %d: %v comes back as %v and %v", n, w, a, b)
			}
		}
	}
}

// TestFFTAnyAxis transforms the first of three axes, which Nx.BinaryBackend
// puts in the wrong place.
func TestFFTAnyAxis(t *testing.T) {
	x := random(rand.New(rand.NewPCG(27, 28)), typ(ops.F64, 4, 2, 3))
	got := run(t, ops.FFT, [][]int{{4}, {0}, {0}}, typ(ops.C128, 4, 2, 3), x)
	moved := run(t, ops.Transpose, [][]int{{1, 2, 0}}, typ(ops.F64, 2, 3, 4), x)
	last := run(t, ops.FFT, [][]int{{4}, {2}, {0}}, typ(ops.C128, 2, 3, 4), moved)
	back := run(t, ops.Transpose, [][]int{{2, 0, 1}}, typ(ops.C128, 4, 2, 3), last)
	want(t, got, numbers(back)...)
}

func TestTriangularSolve(t *testing.T) {
	a := tensor(ops.F64, ops.Shape{2, 2}, 2, 0, 1, 4)
	want(t, run(t, ops.TriangularSolve, [][]int{{1}, {1}, {0}}, typ(ops.F64, 2), a, vec(ops.F64, 4, 10)), 2, 2)
	want(t, run(t, ops.TriangularSolve, [][]int{{1}, {0}, {0}}, typ(ops.F64, 2), a, vec(ops.F64, 4, 8)), 1, 2)
	singular := tensor(ops.F64, ops.Shape{2, 2}, 1, 0, 1, 0)
	if _, err := tryRun(ops.TriangularSolve, [][]int{{1}, {1}, {0}}, typ(ops.F64, 2), singular, vec(ops.F64, 1, 1)); !errors.Is(err, linalg.ErrSingular) {
		t.Errorf("got %v, want %v", err, linalg.ErrSingular)
	}
}

// TestUnsupported: control is refused, and nothing else.
func TestUnsupported(t *testing.T) {
	for op := ops.Op(0); op < ops.Count; op++ {
		if should := op.Info().Kind != ops.Control; Supports(op) != should {
			t.Errorf("Supports(%v) = %v, want %v", op, Supports(op), should)
		}
	}
	if err := Run(&ops.Instr{Op: ops.Free}, nil, nil); !errors.Is(err, dense.ErrUnsupported) {
		t.Errorf("got %v, want %v", err, dense.ErrUnsupported)
	}
}
