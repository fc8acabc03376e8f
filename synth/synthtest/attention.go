package synthtest

import (
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
)

// Attention is a drawn attention: a graph in one of the forms in which programs have it.
type Attention struct {
	*Sketch
	Batch, Heads, Queries, Keys, Depth, Width int

	r     *rand.Rand
	d     ops.DType
	share int // heads of queries that share one of keys
	form  int
}

// The forms of the operands.
const (
	transposed = iota // {batch, length, heads, depth}, transposed first, as Bumblebee has them
	ordered           // {batch, heads, length, depth}
	flat              // {heads, length, depth}; keys {heads, depth, length}
	single            // {length, depth}
	forms
)

// DrawAttention draws lengths from 1 to longest, of which batches, heads and lengths together
// make at most so many scores, a type, and a form.
func DrawAttention(t testing.TB, seed uint64, longest, scores int, d ops.DType) *Attention {
	r := rand.New(rand.NewPCG(seed, 15))
	g := &Attention{Sketch: NewSketch(t), r: r, d: d, form: r.IntN(forms), Batch: 1 + r.IntN(3), share: 1}
	length := func() int { return int(math.Exp(r.Float64() * math.Log(float64(longest)+0.99))) }
	hk := 1 + r.IntN(3)
	if g.form == transposed {
		g.share = 1 + r.IntN(3)
	}
	g.Heads = hk * g.share
	if g.form == flat {
		g.Batch = 1
	} else if g.form == single {
		g.Batch, g.Heads = 1, 1
	}
	g.Queries, g.Keys = length(), length()
	for g.Batch*g.Heads*g.Queries*g.Keys > scores {
		if g.Queries, g.Keys = length(), length(); r.IntN(8) == 0 {
			g.Batch = 1
		}
	}
	g.Depth, g.Width = 1+r.IntN(80), 1+r.IntN(80)
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

// DrawFewQueries draws an attention of 1 to 15 queries, mostly of one, with up to so many keys.
func DrawFewQueries(t testing.TB, seed uint64, longest int, d ops.DType) *Attention {
	r := rand.New(rand.NewPCG(seed, 16))
	g := &Attention{Sketch: NewSketch(t), r: r, d: d, form: r.IntN(forms), Batch: 1 + r.IntN(2), Heads: 1 + r.IntN(2), Queries: 1, share: 1}
	switch g.form {
	case transposed:
		g.share = 1 + r.IntN(3)
		g.Heads *= g.share
	case flat:
		g.Batch = 1
	case single:
		g.Batch, g.Heads = 1, 1
	}
	if r.IntN(3) == 0 {
		g.Queries = 1 + r.IntN(15)
	}
	g.Keys = int(math.Exp(r.Float64() * math.Log(float64(longest)+0.99)))
	if r.IntN(3) == 0 {
		g.Keys = longest - r.IntN(8)
	}
	g.Depth, g.Width = 8<<r.IntN(5), 8<<r.IntN(6)
	if r.IntN(2) == 0 {
		g.Depth, g.Width = 1+r.IntN(300), 1+r.IntN(256)
	}
	if seed%2 == 1 && g.form != flat && g.form != single { // more queries than multiprocessors
		g.Batch, g.Keys, g.Depth, g.Width = 1+140/g.Heads, 1+g.Keys%64, min(g.Depth, 16), min(g.Width, 16)
	}
	g.build()
	return g
}

// product is the first product of an attention: queries, keys and values, and the scores.
type product struct {
	q, k, v, scores ops.Operand
	batch           []int // axes of all operands
	last, depth     int   // axis of queries and values that is not the length; that of keys
}

// multiply draws the operands and multiplies queries and keys.
func (g *Attention) multiply() (p product) {
	p.q = g.matrix(g.Queries, g.Depth, 1)
	if g.form != flat {
		p.k = g.matrix(g.Keys, g.Depth, g.share)
	}
	p.v = g.matrix(g.Keys, g.Width, g.share)
	p.last = len(g.TypeOf(p.q).Shape) - 1
	p.batch, p.depth = []int{0, 1}[:p.last-1], p.last
	if g.form == flat {
		p.k, p.depth = g.Param(g.d, g.Heads, g.Depth, g.Keys), 1
	}
	p.scores = g.Do(ops.Dot, g.d, p.q, p.k, Attrs{{p.last}, p.batch, {p.depth}, p.batch})
	return p
}

// build makes the graph.
func (g *Attention) build() {
	p := g.multiply()
	x := g.masked(g.scaled(p.scores))
	o := g.Do(ops.Dot, g.d, g.weights(x), p.v, Attrs{{p.last}, p.batch, {p.last - 1}, p.batch})
	if g.form == transposed {
		o = g.Do(ops.Transpose, g.d, o, Attrs{{0, 2, 1, 3}})
	}
	g.Return(o)
}

// matrix is an operand, with some heads repeated.
func (g *Attention) matrix(length, width, share int) ops.Operand {
	heads := g.Heads / share
	switch g.form {
	case single:
		return g.Param(g.d, length, width)
	case ordered:
		return g.Param(g.d, g.Batch, heads, length, width)
	case flat:
		return g.Param(g.d, heads, length, width)
	}
	x := g.Param(g.d, g.Batch, length, heads, width)
	if share > 1 {
		x = g.Do(ops.Reshape, g.d, x, ops.Shape{g.Batch, length, heads, 1, width})
		x = g.Do(ops.BroadcastTo, g.d, x, ops.Shape{g.Batch, length, heads, share, width}, Attrs{{0, 1, 2, 3, 4}})
		x = g.Do(ops.Reshape, g.d, x, ops.Shape{g.Batch, length, heads * share, width})
	}
	return g.Do(ops.Transpose, g.d, x, Attrs{{0, 2, 1, 3}})
}

// scaled multiplies the scores, or does not.
func (g *Attention) scaled(s ops.Operand) ops.Operand {
	root := math.Sqrt(float64(g.Depth))
	switch g.r.IntN(4) {
	case 0:
		return g.Do(ops.Multiply, g.d, s, g.Num(ops.F32, 1/root))
	case 1:
		return g.Do(ops.Divide, g.d, s, g.Num(ops.F32, root))
	case 2:
		return g.Do(ops.Multiply, g.d, s, g.Do(ops.Divide, g.d, g.Num(ops.S32, 1), g.Do(ops.Sqrt, g.d, g.Num(ops.S32, float64(g.Depth)))))
	}
	return s
}

// masked adds a bias, or puts a number in the place of some logits, or both.
func (g *Attention) masked(x ops.Operand) ops.Operand {
	shape := g.TypeOf(x).Shape
	fill := g.Num(g.d, []float64{math.Inf(-1), -math.MaxFloat32, -1e4}[g.r.IntN(3)])
	kind := g.r.IntN(7)
	if kind > 0 && g.r.IntN(3) == 0 {
		x = g.Do(ops.Add, g.d, x, g.Param(g.d, g.broad(shape)...))
	}
	var mask ops.Operand
	switch kind {
	case 1:
		mask = g.causal()
	case 2:
		mask = g.Do(ops.LogicalAnd, ops.U8, g.causal(), g.Do(ops.Less, ops.U8, g.distance(), g.Num(ops.S32, float64(1+g.r.IntN(40)))))
	case 3:
		mask = g.Param(ops.U8, g.broad(shape)...)
	case 4:
		mask = g.Do(ops.LogicalAnd, ops.U8, g.keyMask(shape), g.causal())
	case 5: // as Bumblebee has it
		mask = g.Do(ops.LogicalAnd, ops.U8, g.keyMask(shape), g.causal())
		return g.Do(ops.Add, g.d, x, g.Do(ops.Select, g.d, mask, g.Num(ops.F32, 0), fill))
	default:
		return x
	}
	if s := g.TypeOf(mask).Shape; !s.Equal(shape) {
		axes := make([]int, len(s))
		for i := range axes {
			axes[i] = len(shape) - len(s) + i
		}
		mask = g.Do(ops.BroadcastTo, ops.U8, mask, shape, Attrs{axes})
	}
	return g.Do(ops.Select, g.d, mask, x, fill)
}

// broad is a shape that broadcasts to the logits.
func (g *Attention) broad(s ops.Shape) []int {
	b := append([]int(nil), s...)
	for i := range b {
		if g.r.IntN(2) == 0 {
			b[i] = 1
		}
	}
	return b
}

// keyMask is a mask of keys, the same for all queries.
func (g *Attention) keyMask(s ops.Shape) ops.Operand {
	if len(s) < 4 {
		return g.Param(ops.U8, 1, g.Keys)
	}
	return g.Do(ops.Reshape, ops.U8, g.Param(ops.U8, g.Batch, g.Keys), ops.Shape{g.Batch, 1, 1, g.Keys})
}

// distance is how far a query is behind a key; the first is at an offset.
func (g *Attention) distance() ops.Operand {
	q := g.Do(ops.Iota, ops.S32, ops.Shape{g.Queries, 1}, Attrs{{0}})
	k := g.Do(ops.Iota, ops.S32, ops.Shape{1, g.Keys}, Attrs{{1}})
	q = g.Do(ops.Add, ops.S32, q, g.Num(ops.S32, float64(max(0, g.Keys-g.Queries))))
	return g.Do(ops.Subtract, ops.S32, q, k)
}

func (g *Attention) causal() ops.Operand {
	return g.Do(ops.GreaterEqual, ops.U8, g.distance(), g.Num(ops.S32, 0))
}

// weights is the softmax, in the form of the field or in Axon's.
func (g *Attention) weights(x ops.Operand) ops.Operand {
	if g.r.IntN(2) == 0 {
		return g.Softmax(x)
	}
	last := Attrs{{len(g.TypeOf(x).Shape) - 1}, {1}}
	e := g.Do(ops.Exp, g.d, g.Do(ops.Subtract, g.d, x, g.Do(ops.ReduceMax, g.d, x, last)))
	return g.Do(ops.Multiply, g.d, g.Do(ops.Divide, g.d, g.Num(ops.S32, 1), g.Do(ops.Sum, g.d, e, last)), e)
}

// Data draws the operands: normal numbers, and masks whose first line excludes everything.
func (g *Attention) Data() []Tensor {
	var list []Tensor
	for _, p := range g.Params {
		x := Tensor{Typ: p.Type}
		n := p.Type.Size()
		line := 1
		if s := p.Type.Shape; len(s) > 0 {
			line = s[len(s)-1]
		}
		for i := range n {
			if p.Type.DType.IsInteger() {
				x.N = append(x.N, int64(min(1, g.r.IntN(4))*min(1, max(i-line+1, 0))))
			} else {
				x.F = append(x.F, g.r.NormFloat64())
			}
		}
		list = append(list, x)
	}
	return list
}
