package synthtest

import (
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
)

// Gradient is a drawn attention with its gradient.
type Gradient struct {
	*Attention
	to   ops.DType                         // of gradients
	back []func(x ops.Operand) ops.Operand // the derivatives of what is between the scores and the softmax
}

// DrawGradient is DrawAttention with the gradients of queries, keys and values, or of some of them, in one of the forms that
// automatic differentiation gives. The same seed gives the same graph for each type. Gradients have the type to.
func DrawGradient(t testing.TB, seed uint64, longest, scores int, d, to ops.DType) *Gradient {
	r := rand.New(rand.NewPCG(seed, 17))
	g := &Gradient{Attention: &Attention{Sketch: NewSketch(t), r: r, d: d, form: r.IntN(forms), Batch: 1 + r.IntN(3), share: 1}, to: to}
	length := func() int { return int(math.Exp(r.Float64() * math.Log(float64(longest)+0.99))) }
	hk := 1 + r.IntN(2)
	if g.form == transposed {
		g.share = 1 + r.IntN(3)
	}
	g.Heads = hk * g.share
	switch g.form {
	case flat:
		g.Batch = 1
	case single:
		g.Batch, g.Heads = 1, 1
	}
	for g.Queries, g.Keys = length(), length(); g.Batch*g.Heads*g.Queries*g.Keys > scores; {
		g.Queries, g.Keys = length(), length()
	}
	g.Depth, g.Width = 1+r.IntN(70), 1+r.IntN(70)
	if r.IntN(2) == 0 {
		g.Depth = 8 << r.IntN(4)
		g.Width = g.Depth
	}
	if r.IntN(12) == 0 {
		g.Width = 129 + r.IntN(128)
	}
	g.build()
	return g
}

// NewGradient is an attention with all gradients, of so many heads and positions. Other parts are drawn.
func NewGradient(t testing.TB, d, to ops.DType, heads, length, size int) *Gradient {
	for seed := uint64(0); ; seed++ {
		g := &Gradient{Attention: &Attention{Sketch: NewSketch(t), r: rand.New(rand.NewPCG(seed, 18)), d: d, form: ordered, Batch: 1, Heads: heads, Queries: length,
			Keys: length, Depth: size, Width: size, share: 1}, to: to}
		if g.build(); len(g.Keep) == 4 {
			return g
		}
	}
}

// build makes the graph.
func (g *Gradient) build() {
	m := g.multiply()
	v, batch, last := m.v, m.batch, m.last
	p, e, l, most, x := g.softmax(g.logits(m.scores))
	o := g.Do(ops.Dot, g.d, p, v, Attrs{{last}, batch, {last - 1}, batch})
	up := g.Param(g.to, g.TypeOf(o).Shape...)
	inner := g.Do(ops.Dot, g.to, up, v, Attrs{{last}, batch, {last}, batch})
	ds := g.derivative(inner, p, e, l, most, x)
	for i := range g.back {
		ds = g.back[len(g.back)-1-i](ds)
	}
	which := 1 + g.r.IntN(3)
	if g.r.IntN(2) == 0 {
		which = 3
	}
	g.Return(o)
	if which&1 != 0 {
		g.Return(g.Do(ops.Dot, g.to, ds, m.k, Attrs{{last}, batch, {2*last - 1 - m.depth}, batch}))
	}
	if which&2 != 0 {
		g.Return(g.sumOfRows(ds, m.q, batch, last))
	}
	if g.r.IntN(4) > 0 {
		g.Return(g.sumOfRows(p, up, batch, last))
	}
}

// sumOfRows is wᵀ·x, or its transpose.
func (g *Gradient) sumOfRows(w, x ops.Operand, batch []int, last int) ops.Operand {
	if g.r.IntN(3) == 0 {
		w, x = x, w
	}
	return g.Do(ops.Dot, g.to, w, x, Attrs{{last - 1}, batch, {last - 1}, batch})
}

// logits are scores with a scale, a bias and a mask.
func (g *Gradient) logits(s ops.Operand) ops.Operand {
	if i := g.r.IntN(3); i < 2 {
		op := []ops.Op{ops.Divide, ops.Multiply}[i]
		n := g.Num(ops.F32, math.Pow(float64(g.Depth), 0.5-float64(i)))
		s = g.Do(op, g.d, s, n)
		g.back = append(g.back, func(x ops.Operand) ops.Operand { return g.Do(op, g.to, x, n) })
	}
	shape := g.TypeOf(s).Shape
	if g.r.IntN(3) == 0 {
		s = g.Do(ops.Add, g.d, s, g.Param(g.d, g.broad(shape)...))
	}
	fill := []float64{math.Inf(-1), -math.MaxFloat32, -1e4}[g.r.IntN(3)]
	var mask ops.Operand
	switch g.r.IntN(5) {
	case 0:
		mask = g.causal()
	case 1:
		mask = g.Param(ops.U8, g.broad(shape)...)
	case 2:
		mask = g.Do(ops.LogicalAnd, ops.U8, g.keyMask(shape), g.causal())
	case 3: // as Bumblebee has it
		mask = g.Do(ops.LogicalAnd, ops.U8, g.keyMask(shape), g.causal())
		return g.Do(ops.Add, g.d, s, g.Do(ops.Select, g.d, mask, g.Num(ops.F32, 0), g.Num(g.d, fill)))
	default:
		return s
	}
	if m := g.TypeOf(mask).Shape; !m.Equal(shape) {
		axes := make([]int, len(m))
		for i := range axes {
			axes[i] = len(shape) - len(m) + i
		}
		mask = g.Do(ops.BroadcastTo, ops.U8, mask, shape, Attrs{axes})
	}
	g.back = append(g.back, func(x ops.Operand) ops.Operand { return g.Do(ops.Select, g.to, mask, x, g.Num(g.to, 0)) })
	return g.Do(ops.Select, g.d, mask, s, g.Num(g.d, fill))
}

// softmax is that of x, with its exponentials, their sum and the maximum.
func (g *Gradient) softmax(x ops.Operand) (p, e, l, most, logits ops.Operand) {
	axes := Attrs{{len(g.TypeOf(x).Shape) - 1}, {1}}
	most = g.Do(ops.ReduceMax, g.d, x, axes)
	e = g.Do(ops.Exp, g.d, g.Do(ops.Subtract, g.d, x, most))
	l = g.Do(ops.Sum, g.d, e, axes)
	if g.r.IntN(2) == 0 {
		return g.Do(ops.Divide, g.d, e, l), e, l, most, x
	}
	return g.Do(ops.Multiply, g.d, g.Do(ops.Divide, g.d, g.Num(ops.S32, 1), l), e), e, l, most, x
}

// derivative is the gradient of logits x, where that of the weights is up.
func (g *Gradient) derivative(up, p, e, l, most, x ops.Operand) ops.Operand {
	last := len(g.TypeOf(up).Shape) - 1
	keep, drop := Attrs{{last}, {1}}, Attrs{{last}, {0}}
	switch g.r.IntN(3) {
	case 0: // as a textbook
		total := g.Do(ops.Sum, g.to, g.Do(ops.Multiply, g.to, p, up), keep)
		return g.Do(ops.Multiply, g.to, p, g.Do(ops.Subtract, g.to, up, total))
	case 1: // as Nx has it of e · (1 / l)
		total := g.Do(ops.Sum, g.to, g.Do(ops.Multiply, g.to, up, e), drop)
		total = g.Do(ops.Reshape, g.to, total, g.TypeOf(l).Shape)
		part := g.Do(ops.Divide, g.d, g.Do(ops.Divide, g.d, g.Num(ops.S32, 1), l), l)
		total = g.Do(ops.Multiply, g.to, total, g.Do(ops.Negate, g.d, part))
		return g.Do(ops.Multiply, g.to, g.Do(ops.Add, g.to, g.Do(ops.Divide, g.to, up, l), total), e)
	}
	// As Nx has it of e / l, with the derivative of the maximum.
	part := g.Do(ops.Negate, g.d, g.Do(ops.Divide, g.d, p, l))
	axes := make([]int, last)
	for i := range axes {
		axes[i] = i
	}
	along := func(x ops.Operand) ops.Operand {
		return g.Do(ops.BroadcastTo, g.to, g.Do(ops.Sum, g.to, x, drop), g.TypeOf(up).Shape, Attrs{axes})
	}
	ds := g.Do(ops.Multiply, g.to, g.Do(ops.Add, g.to, g.Do(ops.Divide, g.to, up, l), along(g.Do(ops.Multiply, g.to, up, part))), e)
	is := g.Do(ops.Equal, ops.U8, x, most)
	of := g.Do(ops.Divide, g.to, g.Do(ops.Multiply, g.to, along(g.Do(ops.Negate, g.to, ds)), is), g.Do(ops.Sum, ops.U32, is, keep))
	return g.Do(ops.Add, g.to, ds, of)
}
