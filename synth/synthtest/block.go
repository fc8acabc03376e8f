package synthtest

import (
	"math/rand/v2"
	"testing"

	"nxvk/ops"
)

// Block is a drawn layer of a transformer for one position, without its attention: norms, products of one vector,
// rotated heads, updates of caches, and a gate.
type Block struct {
	*Sketch
	r *rand.Rand
	d ops.DType

	Hidden, Inner, Heads, Size, Positions int

	squares        bool // norms are of the root of the mean square
	headNorm, gate bool
}

// DrawBlock draws sizes and forms. Half of the widths of products are whole vectors.
func DrawBlock(t testing.TB, seed uint64, d ops.DType) *Block {
	r := rand.New(rand.NewPCG(seed, 17))
	g := &Block{Sketch: NewSketch(t), r: r, d: d, Heads: 1 + r.IntN(5), Size: 16 << r.IntN(3), Positions: 3 + r.IntN(9)}
	width := func() int {
		if r.IntN(4) == 0 {
			return 64 + r.IntN(500)
		}
		return 8 * (8 + r.IntN(80))
	}
	g.Hidden, g.Inner = width(), width()
	g.squares, g.headNorm, g.gate = r.IntN(2) == 0, r.IntN(3) > 0, r.IntN(4) > 0
	g.layer()
	return g
}

// NewBlock is a layer of the given sizes in the form of Qwen3.
func NewBlock(t testing.TB, d ops.DType, hidden, inner, heads, size, positions int) *Block {
	g := &Block{Sketch: NewSketch(t), r: rand.New(rand.NewPCG(1, 17)), d: d, Hidden: hidden, Inner: inner, Heads: heads, Size: size, Positions: positions,
		squares: true, headNorm: true, gate: true}
	g.layer()
	return g
}

// layer adds the layer, and returns its output and its caches.
func (g *Block) layer() {
	x := g.Param(g.d, 1, 1, g.Hidden)
	at := g.Param(ops.S32)
	n := g.norm(x, g.squares)
	wide := g.Heads * g.Size
	q, k, v := g.product(n, wide), g.product(n, wide), g.product(n, wide)
	cos, sin := g.Param(ops.F32, g.Positions, g.Size), g.Param(ops.F32, g.Positions, g.Size)
	q, k = g.rotated(g.head(q), at, cos, sin), g.rotated(g.head(k), at, cos, sin)
	keys, values := g.put(k, at), g.put(g.heads(v), at)
	mixed := g.Do(ops.Reshape, g.d, g.Do(ops.Add, g.d, q, k), ops.Shape{1, 1, wide})
	x = g.Do(ops.Add, g.d, g.product(mixed, g.Hidden), x)
	n = g.norm(x, g.squares)
	up := g.product(n, g.Inner)
	if g.gate {
		gate := g.product(n, g.Inner)
		up = g.Do(ops.Multiply, g.d, up, g.Do(ops.Multiply, g.d, g.Do(ops.Sigmoid, g.d, gate), gate))
	} else {
		up = g.Do(ops.Tanh, g.d, g.Do(ops.Add, g.d, up, g.Param(g.d, g.Inner)))
	}
	g.Return(g.Do(ops.Add, g.d, g.product(up, g.Hidden), x), keys, values)
}

// norm is a norm along the last axis, in f32, of the root of the mean square or of the deviation.
func (g *Block) norm(x ops.Operand, squares bool) ops.Operand {
	s := g.TypeOf(x).Shape
	last := Attrs{{len(s) - 1}, {1}}
	n := s[len(s)-1]
	mean := func(x ops.Operand) ops.Operand {
		return g.Do(ops.Divide, ops.F32, g.Do(ops.Sum, ops.F32, x, last), g.Num(ops.S32, float64(n)))
	}
	y := x
	if g.d != ops.F32 {
		y = g.Do(ops.AsType, ops.F32, x)
	}
	if !squares {
		y = g.Do(ops.Subtract, ops.F32, y, mean(y))
	}
	deviation := g.Do(ops.Add, ops.F32, mean(g.Do(ops.Multiply, ops.F32, y, y)), g.Num(ops.F32, 1e-6))
	y = g.Do(ops.Multiply, ops.F32, y, g.Do(ops.Rsqrt, ops.F32, deviation))
	if g.d != ops.F32 {
		y = g.Do(ops.AsType, g.d, y)
	}
	y = g.Do(ops.Multiply, g.d, y, g.Param(g.d, n))
	if !squares {
		y = g.Do(ops.Add, g.d, y, g.Param(g.d, n))
	}
	return y
}

// product is one with a matrix that has so many columns.
func (g *Block) product(x ops.Operand, n int) ops.Operand {
	s := g.TypeOf(x).Shape
	return g.Do(ops.Dot, g.d, x, g.Param(g.d, s[len(s)-1], n), Attrs{{len(s) - 1}, {}, {0}, {}})
}

func (g *Block) heads(x ops.Operand) ops.Operand {
	return g.Do(ops.Reshape, g.d, x, ops.Shape{1, 1, g.Heads, g.Size})
}

// head is the heads of a vector, which may have a norm each.
func (g *Block) head(x ops.Operand) ops.Operand {
	if x = g.heads(x); g.headNorm {
		return g.norm(x, true)
	}
	return x
}

// rotated has a position rotate the halves of heads.
func (g *Block) rotated(x, at, cos, sin ops.Operand) ops.Operand {
	table := func(t ops.Operand) ops.Operand {
		t = g.Do(ops.Reshape, ops.F32, g.Do(ops.Take, ops.F32, t, g.Do(ops.Reshape, ops.S32, at, ops.Shape{1, 1}), Attrs{{0}}), ops.Shape{1, 1, 1, g.Size})
		if g.d != ops.F32 {
			t = g.Do(ops.AsType, g.d, t)
		}
		return t
	}
	half := func(from int) ops.Operand {
		return g.Do(ops.Slice, g.d, x, Attrs{{0, 0, 0, from}, {1, 1, g.Heads, g.Size / 2}, {1, 1, 1, 1}})
	}
	turned := g.Do(ops.Concatenate, g.d, g.Do(ops.Negate, g.d, half(g.Size/2)), half(0), Attrs{{3}})
	return g.Do(ops.Add, g.d, g.Do(ops.Multiply, g.d, x, table(cos)), g.Do(ops.Multiply, g.d, turned, table(sin)))
}

// put writes heads into a cache at a position.
func (g *Block) put(x, at ops.Operand) ops.Operand {
	cache := g.Param(g.d, 1, g.Positions, g.Heads, g.Size)
	zero := g.Num(ops.S32, 0)
	return g.Do(ops.PutSlice, g.d, cache, x, zero, at, zero, zero, Attrs{{}})
}

// Data draws the operands: normal numbers, small ones for matrices, and a position.
func (g *Block) Data() (list []Tensor) {
	for _, p := range g.Params {
		x := Tensor{Typ: p.Type}
		scale := 1.0
		if len(p.Type.Shape) == 2 {
			scale = 0.1
		}
		for range p.Type.Size() {
			if p.Type.DType.IsInteger() {
				x.N = append(x.N, int64(g.r.IntN(g.Positions)))
			} else {
				x.F = append(x.F, scale*g.r.NormFloat64())
			}
		}
		list = append(list, x)
	}
	return list
}

// DrawGated draws a product that another one of the same vector gates, of more results than a reader computes for itself.
func DrawGated(t testing.TB, seed uint64, d ops.DType) *Sketch {
	r := rand.New(rand.NewPCG(seed, 42))
	g := NewSketch(t)
	k, n := 16*(1+r.IntN(12)), 4097+r.IntN(500)
	if r.IntN(3) > 0 {
		n = n / 32 * 32
	}
	x := g.Param(d, 1, k)
	if r.IntN(2) == 0 {
		sum := g.Do(ops.Sum, ops.F32, g.Do(ops.Multiply, ops.F32, g.Do(ops.AsType, ops.F32, x), x), Attrs{{1}, {1}})
		scale := g.Do(ops.Rsqrt, ops.F32, g.Do(ops.Add, ops.F32, sum, g.Num(ops.F32, 1e-3)))
		x = g.Do(ops.Multiply, d, g.Do(ops.AsType, d, g.Do(ops.Multiply, ops.F32, x, scale)), g.Param(d, k))
	}
	product := func() ops.Operand {
		p := g.Do(ops.Dot, d, x, g.Param(d, k, n), Attrs{{1}, {}, {0}, {}})
		if r.IntN(3) == 0 {
			p = g.Do(ops.Add, d, p, g.Param(d, n))
		}
		return p
	}
	gate, up := product(), product()
	switch r.IntN(3) {
	case 0:
		gate = g.Do(ops.Multiply, d, gate, g.Do(ops.Sigmoid, d, gate))
	case 1:
		gate = g.Do(ops.Tanh, d, gate)
	}
	if r.IntN(2) == 0 {
		gate, up = up, gate
	}
	g.Return(g.Do(ops.Multiply, d, gate, up))
	return g
}
