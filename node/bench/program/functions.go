package program

import (
	"nxvk/ops"
)

// TanhExp is sum(tanh(2x+1)·exp(-x²)) of a vector of n numbers.
func TanhExp(n int) *ops.Region {
	g := newGraph(ops.F32)
	x := g.param(f32(n))
	t := g.point(ops.Tanh, g.point(ops.Add, g.point(ops.Multiply, x, g.number(2)), g.number(1)))
	e := g.point(ops.Exp, g.point(ops.Negate, g.point(ops.Multiply, x, x)))
	return g.finish(g.fold(ops.Sum, g.point(ops.Multiply, t, e), 0, false))
}

// Softmax is the softmax of rows.
func Softmax(t ops.Type) *ops.Region {
	g := newGraph(ops.F32)
	x := g.param(t)
	e := g.point(ops.Exp, g.point(ops.Subtract, x, g.fold(ops.ReduceMax, x, 1, true)))
	return g.finish(g.point(ops.Divide, e, g.fold(ops.Sum, e, 1, true)))
}

// logs is the logarithm of the softmax of rows.
func (g *graph) logs(x node) node {
	d := g.point(ops.Subtract, x, g.fold(ops.ReduceMax, x, 1, true))
	return g.point(ops.Subtract, d, g.point(ops.Log, g.fold(ops.Sum, g.point(ops.Exp, d), 1, true)))
}

// LogSoftmax is the logarithm of the softmax of rows.
func LogSoftmax(t ops.Type) *ops.Region {
	g := newGraph(ops.F32)
	return g.finish(g.logs(g.param(t)))
}

// LayerNorm is the layer normalization of rows, without scale and offset.
func LayerNorm(t ops.Type) *ops.Region {
	g := newGraph(ops.F32)
	x, scale := g.param(t), 1/float64(t.Shape[1])
	mean := g.point(ops.Multiply, g.fold(ops.Sum, x, 1, true), g.number(scale))
	d := g.point(ops.Subtract, x, mean)
	v := g.point(ops.Multiply, g.fold(ops.Sum, g.point(ops.Multiply, d, d), 1, true), g.number(scale))
	return g.finish(g.point(ops.Multiply, d, g.point(ops.Rsqrt, g.point(ops.Add, v, g.number(1e-5)))))
}

// Layer is max(a·b + c, 0) of n inputs of n features.
func Layer(n int) *ops.Region {
	g := newGraph(ops.F32)
	sum := g.point(ops.Add, g.dot(g.param(f32(n, n)), 1, g.param(f32(n, n)), 0), g.param(f32(n)))
	return g.finish(g.point(ops.Max, sum, g.number(0)))
}

// Descent is a step of gradient descent on the cross-entropy of a perceptron with one hidden
// layer. Its parameters are inputs, labels, weights and biases; its values are the new weights
// and biases.
func Descent(batch, in, hidden, classes int) *ops.Region {
	g := newGraph(ops.F32)
	x, y := g.param(f32(batch, in)), g.param(f32(batch, classes))
	w1, b1 := g.param(f32(in, hidden)), g.param(f32(hidden))
	w2, b2 := g.param(f32(hidden, classes)), g.param(f32(classes))
	z1 := g.point(ops.Add, g.dot(x, 1, w1, 0), b1)
	h := g.point(ops.Max, z1, g.number(0))
	z2 := g.point(ops.Add, g.dot(h, 1, w2, 0), b2)
	d2 := g.point(ops.Multiply, g.point(ops.Subtract, g.point(ops.Exp, g.logs(z2)), y), g.number(1/float64(batch)))
	zero := g.add(ops.Constant, f32(batch, hidden), nil, g.number(0))
	d1 := g.add(ops.Select, f32(batch, hidden), nil, g.point(ops.Greater, z1, g.number(0)), g.dot(d2, 1, w2, 1), zero)
	update := func(p, gradient node) node {
		return g.point(ops.Subtract, p, g.point(ops.Multiply, gradient, g.number(0.1)))
	}
	return g.finish(update(w1, g.dot(x, 0, d1, 0)), update(b1, g.fold(ops.Sum, d1, 0, false)),
		update(w2, g.dot(h, 0, d2, 0)), update(b2, g.fold(ops.Sum, d2, 0, false)))
}
