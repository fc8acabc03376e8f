package synth

import (
	"fmt"
	"testing"

	"nxvk/ops"
)

// wantUnits reports whether the units are so many.
func wantUnits(t *testing.T, units []Unit, n int) {
	t.Helper()
	if len(units) != n {
		t.Errorf("got %d units, want %d:\n%s", len(units), n, show(units))
	}
}

// A chain of operations on elements, with a broadcast, is one kernel.
func TestFusePointwise(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		g := newSketch(t)
		x, b, y := g.param(ops.F32, 6, 8), g.param(ops.F32, 8), g.param(ops.F32, 6, 8)
		s := g.do(ops.Add, ops.F32, g.do(ops.Multiply, ops.F32, x, y), b)
		e := g.do(ops.Tanh, ops.F32, s)
		r := g.do(ops.Multiply, ops.F32, e, g.do(ops.Subtract, ops.F32, g.num(ops.F32, 1), e))
		c := g.do(ops.Greater, ops.U8, r, g.num(ops.F32, 0.1))
		g.keep(r, c)
		wantUnits(t, g.check(target, 1), 1)
	})
}

// What is folded is made while it is folded; what becomes of the result is in the
// same kernel.
func TestFuseReduction(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, shape := range []ops.Shape{{5, 256}, {8, 2000}, {3, 7}, {8, 24}} {
			for axis := range shape {
				g := newSketch(t)
				x, y := g.param(ops.F32, shape...), g.param(ops.BF16, shape...)
				e := g.do(ops.Multiply, ops.F32, g.do(ops.Tanh, ops.F32, x), y)
				s := g.do(ops.Sum, ops.F32, e, attrs{{axis}, {0}})
				b := g.param(ops.F32, g.types[s.ID].Shape...)
				g.keep(g.do(ops.Exp, ops.F32, g.do(ops.Subtract, ops.F32, s, b)))
				wantUnits(t, g.check(target, 3), 1)
			}
		}
	})
}

// Reductions of the same elements are one kernel.
func TestFuseReductions(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		g := newSketch(t)
		x := g.param(ops.F32, 40, 130)
		over := attrs{{0}, {0}}
		g.keep(g.do(ops.Sum, ops.F32, x, over), g.do(ops.ReduceMax, ops.F32, x, over),
			g.do(ops.Sum, ops.F32, g.do(ops.Multiply, ops.F32, x, x), over), g.do(ops.Any, ops.U8, x, over))
		wantUnits(t, g.check(target, 4), 1)
	})
}

// softmax is that of the last axis.
func (g *sketch) softmax(x ops.Operand) ops.Operand {
	d, last := g.typeOf(x).DType, len(g.typeOf(x).Shape)-1
	e := g.do(ops.Exp, d, g.do(ops.Subtract, d, x, g.do(ops.ReduceMax, d, x, attrs{{last}, {1}})))
	return g.do(ops.Divide, d, e, g.do(ops.Sum, d, e, attrs{{last}, {1}}))
}

// layerNorm normalises the last axis, with a scale and a bias.
func (g *sketch) layerNorm(x, scale, bias ops.Operand) ops.Operand {
	d, shape := g.typeOf(x).DType, g.typeOf(x).Shape
	last := len(shape) - 1
	n := g.num(ops.S32, float64(shape[last]))
	mean := func(v ops.Operand) ops.Operand {
		return g.do(ops.Divide, d, g.do(ops.Sum, d, v, attrs{{last}, {1}}), n)
	}
	c := g.do(ops.Subtract, d, x, mean(x))
	s := g.do(ops.Rsqrt, d, g.do(ops.Add, d, mean(g.do(ops.Multiply, d, c, c)), g.num(ops.F32, 1e-5)))
	return g.do(ops.Add, d, g.do(ops.Multiply, d, g.do(ops.Multiply, d, c, s), scale), bias)
}

// Rows that fit are loaded once: reductions and what looks at the same rows are
// one kernel.
func TestFuseRows(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, n := range []int{3, 12, 64, 130, 1000, 1027, 4096, 9000, 9002} {
			g := newSketch(t)
			x := g.param(ops.F32, 20, n)
			g.keep(g.softmax(x))
			wantUnits(t, g.check(target, 5), 1)

			g = newSketch(t)
			x = g.param(ops.F32, 4, 5, n)
			g.keep(g.layerNorm(x, g.param(ops.F32, n), g.param(ops.F32, n)))
			wantUnits(t, g.check(target, 6), 1)
		}
	})
}

// A view of a view has strides, or the space must be cut, or there are none.
func TestThrough(t *testing.T) {
	for _, c := range []struct {
		name string
		dims []int
		v    view
		s    ops.Shape
		w    view
		want view
		err  error
	}{
		{"whole", []int{2, 3}, dense(ops.Shape{2, 3}), ops.Shape{2, 3}, view{0, []int{3, 1}}, view{0, []int{3, 1}}, nil},
		{"scalar", []int{2, 3}, dense(ops.Shape{2, 3}), ops.Shape{2, 3}, view{0, []int{0, 0}}, view{0, []int{0, 0}}, nil},
		{"row", []int{2, 3}, dense(ops.Shape{2, 3}), ops.Shape{2, 3}, view{0, []int{0, 1}}, view{0, []int{0, 1}}, nil},
		{"transposed", []int{3, 2}, view{0, []int{1, 3}}, ops.Shape{2, 3}, view{0, []int{1, 2}}, view{0, []int{2, 1}}, nil},
		{"backward", []int{6}, view{5, []int{-1}}, ops.Shape{6}, view{10, []int{-2}}, view{0, []int{2}}, nil},
		{"flat over a column", []int{6}, view{0, []int{1}}, ops.Shape{2, 3}, view{0, []int{1, 0}}, view{}, &splitError{0, 3}},
		{"across rows", []int{3}, view{1, []int{1}}, ops.Shape{2, 3}, view{0, []int{1, 0}}, view{}, errView},
		{"no part of a row", []int{2, 3}, dense(ops.Shape{2, 3}), ops.Shape{3, 2}, view{0, []int{1, 0}}, view{}, errView},
	} {
		got, err := through(c.dims, c.v, c.s, c.w)
		switch {
		case fmt.Sprint(err) != fmt.Sprint(c.err):
			t.Errorf("%s: error %v, want %v", c.name, err, c.err)
		case err == nil && !sameView(c.dims, got, c.want):
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// A kernel has room for so many buffers; what takes more is several units.
func TestUnitsFit(t *testing.T) {
	for _, target := range []*Target{gpu, cpu} {
		g := newSketch(t)
		sum := g.param(ops.F32, 30)
		for range 60 {
			sum = g.do(ops.Tanh, ops.F32, g.do(ops.Add, ops.F32, sum, g.param(ops.F32, 30)))
		}
		g.keep(sum)
		units := g.check(target, 8)
		if n := len(units); n < 2 || n > 10 {
			t.Errorf("%d units", n)
		}
	}
}

// What nobody wants is not computed, and what is read by something that has a
// kernel of its own lies in memory.
func TestUnitsKeep(t *testing.T) {
	g := newSketch(t)
	x := g.param(ops.F32, 4, 6)
	a := g.do(ops.Exp, ops.F32, x)
	g.do(ops.Log, ops.F32, a)
	s := g.do(ops.CumulativeSum, ops.F32, g.do(ops.Transpose, ops.F32, a, attrs{{1, 0}}), attrs{{0}, {0}})
	g.keep(g.do(ops.Negate, ops.F32, s))
	units := g.check(gpu, 2)
	for _, u := range units {
		for i := range u.Body {
			if u.Body[i].Op == ops.Log {
				t.Errorf("what nobody wants is computed:\n%s", show(units))
			}
		}
	}
}

// A large transposition, which a kernel of its own does better, is not looked
// through; a small one is. Both may be kept besides.
func TestFuseTransposition(t *testing.T) {
	for _, n := range []int{16, 300} {
		for _, kept := range []bool{false, true} {
			g := newSketch(t)
			x := g.param(ops.F32, n, 256)
			y := g.do(ops.Transpose, ops.F32, x, attrs{{1, 0}})
			g.keep(g.do(ops.Exp, ops.F32, g.do(ops.Negate, ops.F32, y)))
			if kept {
				g.keep(y)
			}
			units := g.check(gpu, 4)
			want := 1
			if n == 300 || kept {
				want = 2
			}
			wantUnits(t, units, want)
			reads := units[len(units)-1].Ins[0]
			if small := n == 16; small != (reads == x.ID) {
				t.Errorf("%d by 256: the last unit reads %d:\n%s", n, reads, show(units))
			}
		}
	}
}
