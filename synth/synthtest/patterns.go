package synthtest

import (
	"flag"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
)

// Layer is one of a network: a product, a bias for each column, and an activation that
// keeps what it is applied to.
func (g *Sketch) Layer(m, k, n int) (sum, out ops.Operand) {
	w, b := g.Param(ops.F32, k, n), g.Param(ops.F32, n)
	z := g.Do(ops.Dot, ops.F32, g.Param(ops.F32, m, k), w, Attrs{{1}, {}, {0}, {}})
	sum = g.Do(ops.Add, ops.F32, z, b)
	return sum, g.Do(ops.Max, ops.F32, sum, g.Num(ops.F32, 0))
}

// Planned is the plan of a fusion of g.
func (g *Sketch) Planned(t *testing.T, u *fusion.Fusion, target *lowering.Target) *lowering.Plan {
	t.Helper()
	p, err := synth.LowerFusion(u, func(id ops.ID) ops.Type { return g.Types[id] }, target)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Polynomial is a chain of operations on complex and real numbers, and what is
// real of it: all that a number of either kind may become.
func (g *Sketch) Polynomial(z, x ops.Operand) (value, modulus ops.Operand) {
	d := g.TypeOf(z).DType
	f := func(op ops.Op, args ...any) ops.Operand { return g.Do(op, d, args...) }
	w := f(ops.Add, x, f(ops.Multiply, g.complex(0, 1), x)) // as Nx makes a complex number of real ones
	w = f(ops.Divide, f(ops.Multiply, w, f(ops.Conjugate, z)), g.complex(2, 1))
	w = f(ops.Subtract, f(ops.Multiply, w, w), f(ops.AsType, x))
	im, re := g.Do(ops.Imag, d.Real(), w), g.Do(ops.RealPart, d.Real(), w)
	w = f(ops.Select, g.Do(ops.Less, ops.U8, re, im), w, z)
	return w, g.Do(ops.Abs, d.Real(), f(ops.Multiply, w, g.Num(ops.F32, 0.5)))
}

func (g *Sketch) logSoftmax(x ops.Operand) ops.Operand {
	d, last := g.TypeOf(x).DType, len(g.TypeOf(x).Shape)-1
	c := g.Do(ops.Subtract, d, x, g.Do(ops.ReduceMax, d, x, Attrs{{last}, {1}}))
	return g.Do(ops.Subtract, d, c, g.Do(ops.Log, d, g.Do(ops.Sum, d, g.Do(ops.Exp, d, c), Attrs{{last}, {1}})))
}

// crossEntropy is the mean over rows of the negative logarithm of the probability of
// the right class.
func (g *Sketch) crossEntropy(logits, labels ops.Operand) ops.Operand {
	rows := g.TypeOf(logits).Shape[0]
	hit := g.Do(ops.Sum, ops.F32, g.Do(ops.Multiply, ops.F32, labels, g.logSoftmax(logits)), Attrs{{1}, {0}})
	return g.Do(ops.Negate, ops.F32, g.Do(ops.Divide, ops.F32, g.Do(ops.Sum, ops.F32, hit, Attrs{{0}, {0}}),
		g.Num(ops.S32, float64(rows))))
}

// Adam is one update of a tensor: the new moments and the new value.
func (g *Sketch) Adam(p, grad, m, v, step ops.Operand) []ops.Operand {
	f := func(op ops.Op, args ...any) ops.Operand { return g.Do(op, ops.F32, args...) }
	num := func(x float64) ops.Operand { return g.Num(ops.F32, x) }
	m1 := f(ops.Add, f(ops.Multiply, m, num(0.9)), f(ops.Multiply, grad, num(0.1)))
	v1 := f(ops.Add, f(ops.Multiply, v, num(0.999)), f(ops.Multiply, f(ops.Multiply, grad, grad), num(0.001)))
	mh := f(ops.Divide, m1, f(ops.Subtract, num(1), f(ops.Pow, num(0.9), step)))
	vh := f(ops.Divide, v1, f(ops.Subtract, num(1), f(ops.Pow, num(0.999), step)))
	d := f(ops.Divide, f(ops.Multiply, mh, num(0.01)), f(ops.Add, f(ops.Sqrt, vh), num(1e-8)))
	return []ops.Operand{m1, v1, f(ops.Subtract, p, d)}
}

// Mlp is the step of a perceptron with one hidden layer: what its weights and
// biases become.
func (g *Sketch) Mlp(batch, in, hidden, classes int) []ops.Operand {
	f := func(op ops.Op, args ...any) ops.Operand { return g.Do(op, ops.F32, args...) }
	dot := func(a ops.Operand, i int, b ops.Operand, j int) ops.Operand {
		return f(ops.Dot, a, b, Attrs{{i}, {}, {j}, {}})
	}
	x, y := g.Param(ops.F32, batch, in), g.Param(ops.F32, batch, classes)
	w1, b1 := g.Param(ops.F32, in, hidden), g.Param(ops.F32, hidden)
	w2, b2 := g.Param(ops.F32, hidden, classes), g.Param(ops.F32, classes)
	h := f(ops.Tanh, f(ops.Add, dot(x, 1, w1, 0), b1))
	d2 := f(ops.Divide, f(ops.Subtract, g.Softmax(f(ops.Add, dot(h, 1, w2, 0), b2)), y), g.Num(ops.S32, float64(batch)))
	d1 := f(ops.Multiply, dot(d2, 1, w2, 1), f(ops.Subtract, g.Num(ops.F32, 1), f(ops.Multiply, h, h)))
	step := func(p, d ops.Operand) ops.Operand { return f(ops.Subtract, p, f(ops.Multiply, d, g.Num(ops.F32, 0.1))) }
	over := Attrs{{0}, {0}}
	return []ops.Operand{step(w1, dot(x, 0, d1, 0)), step(b1, f(ops.Sum, d1, over)),
		step(w2, dot(h, 0, d2, 0)), step(b2, f(ops.Sum, d2, over))}
}

// Patterns are graphs that programs of tensors have in them.
func Patterns(t *testing.T) map[string]*Sketch {
	ps := map[string]*Sketch{}
	add := func(name string, f func(g *Sketch)) {
		ps[name] = NewSketch(t)
		f(ps[name])
	}
	add("softmax", func(g *Sketch) { g.Return(g.Softmax(g.Param(ops.F32, 4, 3, 16))) })
	add("log_softmax_bf16", func(g *Sketch) { g.Return(g.logSoftmax(g.Param(ops.BF16, 4, 100))) })
	add("layer_norm", func(g *Sketch) {
		g.Return(g.LayerNorm(g.Param(ops.F32, 5, 96), g.Param(ops.F32, 96), g.Param(ops.F32, 96)))
	})
	add("cross_entropy", func(g *Sketch) { g.Return(g.crossEntropy(g.Param(ops.F32, 32, 10), g.Param(ops.F32, 32, 10))) })
	add("adam", func(g *Sketch) {
		step := g.Param(ops.S32)
		g.Return(g.Adam(g.Param(ops.F32, 6, 7), g.Param(ops.F32, 6, 7), g.Param(ops.F32, 6, 7), g.Param(ops.F32, 6, 7), step)...)
	})
	add("mlp", func(g *Sketch) { g.Return(g.Mlp(8, 12, 16, 10)...) })
	add("stencil", func(g *Sketch) {
		x := g.Param(ops.F32, 6, 8)
		p := g.Do(ops.Pad, ops.F32, g.Do(ops.Abs, ops.F32, x), g.Num(ops.F32, 0), Attrs{{1, 1, 0, 1, 1, 0}})
		sum := g.Do(ops.Multiply, ops.F32, x, g.Num(ops.F32, -4))
		for _, at := range [][]int{{0, 1}, {1, 0}, {1, 2}, {2, 1}} {
			sum = g.Do(ops.Add, ops.F32, sum, g.Do(ops.Slice, ops.F32, p, Attrs{at, {6, 8}, {1, 1}}))
		}
		g.Return(sum)
	})
	add("padding_apart", func(g *Sketch) { // from a reduction, and from what takes many operations
		x, v := g.Param(ops.F32, 6, 8), g.Param(ops.F32)
		p := g.Do(ops.Pad, ops.F32, g.Do(ops.Tanh, ops.F32, x), v, Attrs{{2, 0, 0, -1, 0, 1}})
		g.Return(g.Do(ops.Exp, ops.F32, p), g.Do(ops.Sum, ops.F32, p, Attrs{{1}, {0}}))
	})
	add("slide", func(g *Sketch) {
		x, at := g.Param(ops.F32, 10, 8), g.Param(ops.S32)
		w := g.Do(ops.Slice, ops.F32, x, at, g.Num(ops.S32, 0), Attrs{{}, {3, 8}, {1, 1}})
		g.Return(g.Do(ops.Multiply, ops.F32, w, g.Param(ops.F32, 3, 8)))
	})
	add("complex", func(g *Sketch) {
		w, abs := g.Polynomial(g.Param(ops.C64, 3, 8), g.Param(ops.F32, 8))
		g.Return(w, g.Do(ops.Sum, ops.F32, abs, Attrs{{1}, {0}}))
	})
	return ps
}

// Softmax is that of the last axis.
func (g *Sketch) Softmax(x ops.Operand) ops.Operand {
	d, last := g.TypeOf(x).DType, len(g.TypeOf(x).Shape)-1
	e := g.Do(ops.Exp, d, g.Do(ops.Subtract, d, x, g.Do(ops.ReduceMax, d, x, Attrs{{last}, {1}})))
	return g.Do(ops.Divide, d, e, g.Do(ops.Sum, d, e, Attrs{{last}, {1}}))
}

// LayerNorm normalises the last axis, with a scale and a bias.
func (g *Sketch) LayerNorm(x, scale, bias ops.Operand) ops.Operand {
	d, shape := g.TypeOf(x).DType, g.TypeOf(x).Shape
	last := len(shape) - 1
	n := g.Num(ops.S32, float64(shape[last]))
	mean := func(v ops.Operand) ops.Operand {
		return g.Do(ops.Divide, d, g.Do(ops.Sum, d, v, Attrs{{last}, {1}}), n)
	}
	c := g.Do(ops.Subtract, d, x, mean(x))
	s := g.Do(ops.Rsqrt, d, g.Do(ops.Add, d, mean(g.Do(ops.Multiply, d, c, c)), g.Num(ops.F32, 1e-5)))
	return g.Do(ops.Add, d, g.Do(ops.Multiply, d, g.Do(ops.Multiply, d, c, s), scale), bias)
}

var Update = flag.Bool("update", false, "write the kernels of testdata")
