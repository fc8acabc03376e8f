package partition_test

import (
	"fmt"
	"testing"

	"nxvk/ops"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
	"nxvk/synth/synthtest"
)

// wantFusions reports whether the fusions are so many.
func wantFusions(t *testing.T, fusions []fusion.Fusion, n int) {
	t.Helper()
	if len(fusions) != n {
		t.Errorf("got %d fusions, want %d:\n%s", len(fusions), n, synthtest.Show(fusions))
	}
}

// A chain of operations on elements, with a broadcast, is one kernel.
func TestFusePointwise(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		g := synthtest.NewSketch(t)
		x, b, y := g.Param(ops.F32, 6, 8), g.Param(ops.F32, 8), g.Param(ops.F32, 6, 8)
		s := g.Do(ops.Add, ops.F32, g.Do(ops.Multiply, ops.F32, x, y), b)
		e := g.Do(ops.Tanh, ops.F32, s)
		r := g.Do(ops.Multiply, ops.F32, e, g.Do(ops.Subtract, ops.F32, g.Num(ops.F32, 1), e))
		c := g.Do(ops.Greater, ops.U8, r, g.Num(ops.F32, 0.1))
		g.Return(r, c)
		wantFusions(t, g.Check(target, 1), 1)
	})
}

// The kernel of a reduction computes the elements that it folds, and the
// operations on its result.
func TestFuseReduction(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, shape := range []ops.Shape{{5, 256}, {8, 2000}, {3, 7}, {8, 24}} {
			for axis := range shape {
				g := synthtest.NewSketch(t)
				x, y := g.Param(ops.F32, shape...), g.Param(ops.BF16, shape...)
				e := g.Do(ops.Multiply, ops.F32, g.Do(ops.Tanh, ops.F32, x), y)
				s := g.Do(ops.Sum, ops.F32, e, synthtest.Attrs{{axis}, {0}})
				b := g.Param(ops.F32, g.Types[s.ID].Shape...)
				g.Return(g.Do(ops.Exp, ops.F32, g.Do(ops.Subtract, ops.F32, s, b)))
				wantFusions(t, g.Check(target, 3), 1)
			}
		}
	})
}

// Reductions of the same elements are one kernel.
func TestFuseReductions(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		g := synthtest.NewSketch(t)
		x := g.Param(ops.F32, 40, 130)
		over := synthtest.Attrs{{0}, {0}}
		g.Return(g.Do(ops.Sum, ops.F32, x, over), g.Do(ops.ReduceMax, ops.F32, x, over),
			g.Do(ops.Sum, ops.F32, g.Do(ops.Multiply, ops.F32, x, x), over), g.Do(ops.Any, ops.U8, x, over))
		wantFusions(t, g.Check(target, 4), 1)
	})
}

// Rows that fit are loaded once: reductions and what looks at the same rows are
// one kernel.
func TestFuseRows(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, n := range []int{3, 12, 64, 130, 1000, 1027, 4096, 9000, 9002} {
			g := synthtest.NewSketch(t)
			x := g.Param(ops.F32, 20, n)
			g.Return(g.Softmax(x))
			wantFusions(t, g.Check(target, 5), 1)

			g = synthtest.NewSketch(t)
			x = g.Param(ops.F32, 4, 5, n)
			g.Return(g.LayerNorm(x, g.Param(ops.F32, n), g.Param(ops.F32, n)))
			wantFusions(t, g.Check(target, 6), 1)
		}
	})
}

// A view of a view has strides, or the space must be cut, or there are none.
func TestThrough(t *testing.T) {
	for _, c := range []struct {
		name string
		dims []int
		v    strided.View
		s    ops.Shape
		w    strided.View
		want strided.View
		err  error
	}{
		{"whole", []int{2, 3}, strided.Dense(ops.Shape{2, 3}), ops.Shape{2, 3}, strided.View{Offset: 0, Strides: []int{3, 1}}, strided.View{Offset: 0, Strides: []int{3, 1}}, nil},
		{"scalar", []int{2, 3}, strided.Dense(ops.Shape{2, 3}), ops.Shape{2, 3}, strided.View{Offset: 0, Strides: []int{0, 0}}, strided.View{Offset: 0, Strides: []int{0, 0}}, nil},
		{"row", []int{2, 3}, strided.Dense(ops.Shape{2, 3}), ops.Shape{2, 3}, strided.View{Offset: 0, Strides: []int{0, 1}}, strided.View{Offset: 0, Strides: []int{0, 1}}, nil},
		{"transposed", []int{3, 2}, strided.View{Offset: 0, Strides: []int{1, 3}}, ops.Shape{2, 3}, strided.View{Offset: 0, Strides: []int{1, 2}}, strided.View{Offset: 0, Strides: []int{2, 1}}, nil},
		{"backward", []int{6}, strided.View{Offset: 5, Strides: []int{-1}}, ops.Shape{6}, strided.View{Offset: 10, Strides: []int{-2}}, strided.View{Offset: 0, Strides: []int{2}}, nil},
		{"flat over a column", []int{6}, strided.View{Offset: 0, Strides: []int{1}}, ops.Shape{2, 3}, strided.View{Offset: 0, Strides: []int{1, 0}}, strided.View{}, &strided.SplitError{Dim: 0, Inner: 3}},
		{"across rows", []int{3}, strided.View{Offset: 1, Strides: []int{1}}, ops.Shape{2, 3}, strided.View{Offset: 0, Strides: []int{1, 0}}, strided.View{}, strided.ErrView},
		{"no part of a row", []int{2, 3}, strided.Dense(ops.Shape{2, 3}), ops.Shape{3, 2}, strided.View{Offset: 0, Strides: []int{1, 0}}, strided.View{}, strided.ErrView},
	} {
		got, err := strided.Compose(c.dims, c.v, c.s, c.w)
		switch {
		case fmt.Sprint(err) != fmt.Sprint(c.err):
			t.Errorf("%s: error %v, want %v", c.name, err, c.err)
		case err == nil && !fusion.SameView(c.dims, got, c.want):
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// A kernel has room for so many buffers; what takes more is several fusions.
func TestFusionsFit(t *testing.T) {
	for _, target := range []*lowering.Target{synthtest.GPU, synthtest.CPU} {
		g := synthtest.NewSketch(t)
		sum := g.Param(ops.F32, 30)
		for range 60 {
			sum = g.Do(ops.Tanh, ops.F32, g.Do(ops.Add, ops.F32, sum, g.Param(ops.F32, 30)))
		}
		g.Return(sum)
		fusions := g.Check(target, 8)
		if n := len(fusions); n < 2 || n > 10 {
			t.Errorf("%d fusions", n)
		}
	}
}

// Values that nobody wants are not computed, and a value that another kernel
// reads is in memory.
func TestFusionsComputeOnlyWhatIsKept(t *testing.T) {
	g := synthtest.NewSketch(t)
	x := g.Param(ops.F32, 4, 6)
	a := g.Do(ops.Exp, ops.F32, x)
	g.Do(ops.Log, ops.F32, a)
	s := g.Do(ops.CumulativeSum, ops.F32, g.Do(ops.Transpose, ops.F32, a, synthtest.Attrs{{1, 0}}), synthtest.Attrs{{0}, {0}})
	g.Return(g.Do(ops.Negate, ops.F32, s))
	fusions := g.Check(synthtest.GPU, 2)
	for _, u := range fusions {
		for i := range u.Body {
			if u.Body[i].Op == ops.Log {
				t.Errorf("what nobody wants is computed:\n%s", synthtest.Show(fusions))
			}
		}
	}
}

// A large transposition, which a kernel of its own does better, is not looked
// through; a small one is. Both may be kept besides.
func TestFuseTransposition(t *testing.T) {
	for _, n := range []int{16, 300} {
		for _, kept := range []bool{false, true} {
			g := synthtest.NewSketch(t)
			x := g.Param(ops.F32, n, 256)
			y := g.Do(ops.Transpose, ops.F32, x, synthtest.Attrs{{1, 0}})
			g.Return(g.Do(ops.Exp, ops.F32, g.Do(ops.Negate, ops.F32, y)))
			if kept {
				g.Return(y)
			}
			fusions := g.Check(synthtest.GPU, 4)
			want := 1
			if n == 300 || kept {
				want = 2
			}
			wantFusions(t, fusions, want)
			reads := fusions[len(fusions)-1].Ins[0]
			if small := n == 16; small != (reads == x.ID) {
				t.Errorf("%d by 256: the last fusion reads %d:\n%s", n, reads, synthtest.Show(fusions))
			}
		}
	}
}
