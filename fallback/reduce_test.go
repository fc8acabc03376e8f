package fallback

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/fallback/dense"
	"nxvk/ops"
)

func TestReduce(t *testing.T) {
	m := tensor(ops.F32, ops.Shape{2, 3}, 1, 2, 3, 4, 5, 6)
	want(t, run(t, ops.Sum, [][]int{{0}, {0}}, typ(ops.F32, 3), m), 5, 7, 9)
	want(t, run(t, ops.Sum, [][]int{{1}, {1}}, typ(ops.F32, 2, 1), m), 6, 15)
	want(t, run(t, ops.Product, [][]int{{0, 1}, {0}}, typ(ops.F32), m), 720)
	want(t, run(t, ops.ReduceMax, [][]int{{0}, {0}}, typ(ops.F32), vec(ops.F32, 1, NaN, inf)), NaN)
	want(t, run(t, ops.ReduceMin, [][]int{{0}, {0}}, typ(ops.F32), vec(ops.F32, inf, inf)), inf)
	want(t, run(t, ops.ReduceMax, [][]int{{0}, {0}}, typ(ops.S8), vec(ops.S8, -128, -127)), -127)
	want(t, run(t, ops.Sum, [][]int{{0}, {0}}, typ(ops.U32), vec(ops.U8, 255, 255)), 510)
	want(t, run(t, ops.Sum, [][]int{{0}, {0}}, typ(ops.S8), vec(ops.S8, 127, 1)), -128)
	want(t, run(t, ops.All, [][]int{{0}, {0}}, typ(ops.U8), vec(ops.F32, 1, NaN, -2)), 1)
	want(t, run(t, ops.Any, [][]int{{0}, {0}}, typ(ops.U8), vec(ops.F64, 0, 0)), 0)
}

func TestArgReduce(t *testing.T) {
	v := vec(ops.F32, 1, 3, 0, 3, 0)
	want(t, run(t, ops.ArgMax, [][]int{{0}, {0}, {0}}, typ(ops.S32), v), 1)
	want(t, run(t, ops.ArgMax, [][]int{{-1}, {1}, {1}}, typ(ops.S32, 1), v), 3)
	want(t, run(t, ops.ArgMin, [][]int{{0}, {0}, {1}}, typ(ops.S64), v), 4)
	want(t, run(t, ops.ArgMax, [][]int{{0}, {0}, {0}}, typ(ops.S32), vec(ops.F32, NaN, 3, NaN, inf)), 2)
	want(t, run(t, ops.ArgMin, [][]int{{0}, {0}, {0}}, typ(ops.S32), vec(ops.BF16, 3, NaN, -inf)), 1)
	m := tensor(ops.U8, ops.Shape{2, 2, 2}, 1, 9, 3, 4, 5, 6, 7, 0)
	want(t, run(t, ops.ArgMax, [][]int{{1}, {0}, {0}}, typ(ops.S32, 2, 2), m), 1, 0, 1, 0)
	want(t, run(t, ops.ArgMax, [][]int{{0}, {1}, {0}}, typ(ops.S32, 1, 2, 2), m), 1, 0, 1, 0)
}

// TestReduceAgainstIndices folds by hand over random axes, for every type.
func TestReduceAgainstIndices(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 400 {
		shape := make(ops.Shape, r.IntN(6))
		var axes []int
		kept := ops.Shape{}
		for i := range shape {
			shape[i] = 1 + r.IntN(5)
			if r.IntN(2) == 0 {
				axes = append(axes, i)
				kept = append(kept, 1)
			} else {
				kept = append(kept, shape[i])
			}
		}
		d := ops.DTypes()[r.IntN(len(ops.DTypes()))]
		if d.IsComplex() || d.IsFloat() && d.Bits() <= 16 {
			d = ops.S64
		}
		x := random(r, ops.Type{DType: d, Shape: shape})
		sum, top := make([]float64, kept.Size()), make([]float64, kept.Size())
		for i := range top {
			top[i] = math.Inf(-1)
		}
		for i, v := range numbers(x) {
			o := project(i, shape, kept)
			sum[o] += v
			top[o] = max(top[o], v)
		}
		out := d
		if d.IsInteger() {
			out = ops.S64
		}
		want(t, run(t, ops.Sum, [][]int{axes, {1}}, ops.Type{DType: out, Shape: kept}, x), sum...)
		want(t, run(t, ops.ReduceMax, [][]int{axes, {1}}, ops.Type{DType: d, Shape: kept}, x), top...)
	}
}

// TestLongSum crosses the block size; the terms are small integers, so that
// every order gives the same sum.
func TestLongSum(t *testing.T) {
	const n = 5*(32<<10) + 13
	x := dense.New(typ(ops.F32, n))
	total := 0.0
	for i, s := 0, dense.View[float32](x.Data); i < n; i++ {
		s[i] = float32(i % 7)
		total += float64(i % 7)
	}
	want(t, run(t, ops.Sum, [][]int{{0}, {0}}, typ(ops.F64), x), total)
	cols := Value{Type: typ(ops.F32, n/3, 3), Data: x.Data[:n/3*12]}
	got := run(t, ops.Sum, [][]int{{0}, {0}}, typ(ops.F64, 3), cols)
	sums := make([]float64, 3)
	for i, v := range numbers(cols) {
		sums[i%3] += v
	}
	want(t, got, sums...)
}

func TestDot(t *testing.T) {
	a, b := tensor(ops.F32, ops.Shape{2, 2}, 1, 2, 3, 4), tensor(ops.F32, ops.Shape{2, 2}, 5, 6, 7, 8)
	want(t, run(t, ops.Dot, [][]int{{1}, {}, {0}, {}}, a.Type, a, b), 19, 22, 43, 50)
	want(t, run(t, ops.Dot, [][]int{{0}, {}, {1}, {}}, a.Type, a, b), 23, 31, 34, 46)
	want(t, run(t, ops.Dot, [][]int{{1}, {0}, {1}, {0}}, typ(ops.F32, 2), a, b), 17, 53)
	want(t, run(t, ops.Dot, [][]int{{0, 1}, {}, {1, 0}, {}}, typ(ops.F32), a, b), 1*5+2*7+3*6+4*8)
	want(t, run(t, ops.Dot, [][]int{{}, {}, {}, {}}, typ(ops.U8, 2, 2), vec(ops.U8, 16, 2), vec(ops.U8, 16, 3)), 0, 48, 32, 6)
}

// TestDotAgainstIndices contracts random axes by hand, in each class.
func TestDotAgainstIndices(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for n := range 300 {
		batch := ops.Shape{2, 3}[:r.IntN(3)]
		depth := ops.Shape{3, 2}[:r.IntN(3)]
		left, cl := arrange(r, batch, depth, ops.Shape{2, 4}[:r.IntN(3)])
		right, cr := arrange(r, batch, depth, ops.Shape{3, 2}[:r.IntN(3)])
		axes := ops.AllAxes(len(batch))
		d := []ops.DType{ops.F32, ops.F64, ops.S16, ops.U8, ops.C64, ops.BF16}[n%6]
		x, y := random(r, ops.Type{DType: d, Shape: left}), random(r, ops.Type{DType: d, Shape: right})
		if d == ops.BF16 {
			d = ops.F32
		}
		in := ops.Instr{Op: ops.Dot, Attrs: [][]int{cl, axes, cr, axes}, Outs: make([]ops.Result, 1)}
		shapes, err := ops.Dot.Info().Infer(&in, []ops.Type{x.Type, y.Type})
		if err != nil {
			t.Fatal(err)
		}
		got := run(t, ops.Dot, in.Attrs, ops.Type{DType: d, Shape: shapes[0]}, x, y)
		w := contractByHand(x, y, in.Attrs)
		if d == ops.U8 {
			for i := range w {
				w[i] = math.Mod(w[i], 256)
			}
		}
		want(t, got, w...)
	}
}

// arrange puts batch dimensions first and the others in a random order; it
// returns where the contracted ones are.
func arrange(r *rand.Rand, batch, depth, free ops.Shape) (ops.Shape, []int) {
	rest := slices.Concat(depth, free)
	order := r.Perm(len(rest))
	shape, at := slices.Clone(batch), make([]int, len(depth))
	for i, o := range order {
		if o < len(depth) {
			at[o] = len(batch) + i
		}
		shape = append(shape, rest[o])
	}
	return shape, at
}

func contractByHand(x, y Value, attrs [][]int) []float64 {
	xs, ys := numbers(x), numbers(y)
	sums := map[string]float64{}
	var order []string
	for i, a := range xs {
		li := unravel(i, x.Type.Shape)
		for j, b := range ys {
			ri := unravel(j, y.Type.Shape)
			match := true
			for k := range attrs[0] {
				match = match && li[attrs[0][k]] == ri[attrs[2][k]]
			}
			for k := range attrs[1] {
				match = match && li[attrs[1][k]] == ri[attrs[3][k]]
			}
			if !match {
				continue
			}
			key := ""
			for k, v := range li {
				if !slices.Contains(attrs[0], k) {
					key += string(rune('a' + v))
				}
			}
			for k, v := range ri {
				if !slices.Contains(attrs[2], k) && !slices.Contains(attrs[3], k) {
					key += string(rune('a' + v))
				}
			}
			if _, seen := sums[key]; !seen {
				order = append(order, key)
			}
			sums[key] += a * b
		}
	}
	slices.Sort(order)
	out := make([]float64, len(order))
	for i, k := range order {
		out[i] = sums[k]
	}
	return out
}

func unravel(i int, s ops.Shape) []int {
	at := make([]int, len(s))
	for k := len(s) - 1; k >= 0; k-- {
		at[k] = i % s[k]
		i /= s[k]
	}
	return at
}

// TestLargeDot compares both precisions of BLAS, transposed or not, with the
// loop that has its own order.
func TestLargeDot(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, depth := range []int{48, 100} {
		for _, attrs := range [][][]int{{{1}, {}, {0}, {}}, {{0}, {}, {0}, {}}, {{1}, {}, {1}, {}}, {{0}, {}, {1}, {}}} {
			shape := func(contracted, other int) ops.Shape {
				if contracted == 0 {
					return ops.Shape{depth, other}
				}
				return ops.Shape{other, depth}
			}
			x := random(r, ops.Type{DType: ops.F32, Shape: shape(attrs[0][0], 70)})
			y := random(r, ops.Type{DType: ops.F32, Shape: shape(attrs[2][0], 90)})
			got := numbers(run(t, ops.Dot, attrs, typ(ops.F32, 70, 90), x, y))
			xs, ys := numbers(x), numbers(y)
			at := func(contracted, i, k, n int) int {
				if contracted == 0 {
					return k*n + i
				}
				return i*depth + k
			}
			for i := range got {
				w := 0.0
				for k := range depth {
					w += xs[at(attrs[0][0], i/90, k, 70)] * ys[at(attrs[2][0], i%90, k, 90)]
				}
				if math.Abs(got[i]-w) > 1e-4 {
					t.Fatalf("depth %d, %v: element %d is %v, want %v", depth, attrs, i, got[i], w)
				}
			}
		}
	}
}

// TestDotKeepsNaN: a zero does not hide what is not finite.
func TestDotKeepsNaN(t *testing.T) {
	x, y := dense.New(typ(ops.F32, 100, 100)), dense.New(typ(ops.F32, 100, 100))
	dense.View[float32](y.Data)[0] = float32(NaN)
	got := numbers(run(t, ops.Dot, [][]int{{1}, {}, {0}, {}}, x.Type, x, y))
	if got[0] == got[0] || got[1] != 0 {
		t.Errorf("got %v and %v, want NaN and 0", got[0], got[1])
	}
}
