package synthtest

import (
	"math/rand/v2"
	"testing"

	"nxvk/ops"
)

// Decode is a drawn step of a generation from the products of a layer on: queries and keys that are normalised and rotated, or
// not, caches that get a key and a value, an attention, and maybe a product with its result.
type Decode struct {
	*Sketch
	r                              *rand.Rand
	d                              ops.DType
	batch, heads, share, keys, row int
	cosine, sine                   ops.Operand
	norms, rotary, product         bool
	grouped                        bool // the cache has one key for the heads that share it
}

// DrawDecode draws sizes and forms, for one position of some sequences. With product, the result is multiplied by a matrix.
func DrawDecode(t testing.TB, seed uint64, d ops.DType, product bool) *Decode {
	r := rand.New(rand.NewPCG(seed, 41))
	g := &Decode{Sketch: NewSketch(t), r: r, d: d, batch: 1, heads: 1 + r.IntN(8), share: 1 + r.IntN(3), keys: 1 + r.IntN(300),
		row: []int{16, 32, 64, 96, 128}[r.IntN(5)], norms: r.IntN(2) == 0, rotary: r.IntN(4) > 0, product: product, grouped: r.IntN(4) == 0}
	if r.IntN(2) == 0 {
		g.batch = 1 + r.IntN(3)
	}
	g.build()
	return g
}

// rotated is a projection of so many heads, normalised and rotated.
func (g *Decode) rotated(heads int) ops.Operand {
	x := g.Do(ops.Reshape, g.d, g.Param(g.d, g.batch, 1, heads*g.row), ops.Shape{g.batch, 1, heads, g.row})
	if g.norms {
		wide := g.Do(ops.AsType, ops.F32, x)
		sum := g.Do(ops.Sum, ops.F32, g.Do(ops.Multiply, ops.F32, wide, wide), Attrs{{3}, {1}})
		scale := g.Do(ops.Rsqrt, ops.F32, g.Do(ops.Add, ops.F32, sum, g.Num(ops.F32, 1e-3)))
		x = g.Do(ops.AsType, g.d, g.Do(ops.Multiply, ops.F32, wide, scale))
		x = g.Do(ops.Multiply, g.d, x, g.Param(g.d, g.row))
	}
	if g.rotary {
		half := func(at int) ops.Operand {
			return g.Do(ops.Slice, g.d, x, Attrs{{0, 0, 0, at}, {g.batch, 1, heads, g.row / 2}, {1, 1, 1, 1}})
		}
		turned := g.Do(ops.Concatenate, g.d, g.Do(ops.Negate, g.d, half(g.row/2)), half(0), Attrs{{3}})
		x = g.Do(ops.Add, g.d, g.Do(ops.Multiply, g.d, x, g.cosine), g.Do(ops.Multiply, g.d, turned, g.sine))
	}
	return x
}

// cached puts what is new for each head into a cache.
func (g *Decode) cached(x, at ops.Operand) (cache, all ops.Operand) {
	spread := func(x ops.Operand, n int) ops.Operand {
		x = g.Do(ops.Reshape, g.d, x, ops.Shape{g.batch, n, g.heads, 1, g.row})
		x = g.Do(ops.BroadcastTo, g.d, x, ops.Shape{g.batch, n, g.heads, g.share, g.row}, Attrs{{0, 1, 2, 3, 4}})
		return g.Do(ops.Reshape, g.d, x, ops.Shape{g.batch, n, g.heads * g.share, g.row})
	}
	heads := g.heads
	if !g.grouped {
		x, heads = spread(x, 1), g.heads*g.share
	}
	zero := g.Num(ops.S32, 0)
	cache = g.Do(ops.PutSlice, g.d, g.Param(g.d, g.batch, g.keys, heads, g.row), x, zero, at, zero, zero, Attrs{{}})
	if all = cache; g.grouped {
		all = spread(cache, g.keys)
	}
	return cache, g.Do(ops.Transpose, g.d, all, Attrs{{0, 2, 1, 3}})
}

// build makes the graph.
func (g *Decode) build() {
	heads := g.heads * g.share
	if g.rotary {
		g.cosine, g.sine = g.Param(g.d, g.batch, 1, 1, g.row), g.Param(g.d, g.batch, 1, 1, g.row)
	}
	at := g.Param(ops.S32)
	q := g.Do(ops.Transpose, g.d, g.rotated(heads), Attrs{{0, 2, 1, 3}})
	keyCache, k := g.cached(g.rotated(g.heads), at)
	valueCache, v := g.cached(g.Do(ops.Reshape, g.d, g.Param(g.d, g.batch, 1, g.heads*g.row), ops.Shape{g.batch, 1, g.heads, g.row}), at)
	batch := []int{0, 1}
	s := g.Do(ops.Dot, g.d, q, k, Attrs{{3}, batch, {3}, batch})
	s = g.Do(ops.Multiply, g.d, s, g.Num(g.d, 0.125))
	past := g.Do(ops.Greater, ops.U8, g.Do(ops.Iota, ops.S32, ops.Shape{g.batch, heads, 1, g.keys}, Attrs{{3}}), at)
	s = g.Do(ops.Select, g.d, past, g.Num(g.d, -1e4), s)
	o := g.Do(ops.Dot, g.d, g.Softmax(s), v, Attrs{{3}, batch, {2}, batch})
	o = g.Do(ops.Reshape, g.d, g.Do(ops.Transpose, g.d, o, Attrs{{0, 2, 1, 3}}), ops.Shape{g.batch, heads * g.row})
	if g.product {
		o = g.Do(ops.Dot, g.d, o, g.Param(g.d, heads*g.row, 40), Attrs{{1}, {}, {0}, {}})
	}
	g.Return(o, keyCache, valueCache)
}

// Data draws the operands: normal numbers, and a position that may be behind the last.
func (g *Decode) Data() (list []Tensor) {
	for _, p := range g.Params {
		x := Tensor{Typ: p.Type}
		for range p.Type.Size() {
			if p.Type.DType.IsInteger() {
				x.N = append(x.N, int64(g.r.IntN(g.keys+2)))
			} else {
				x.F = append(x.F, g.r.NormFloat64())
			}
		}
		list = append(list, x)
	}
	return list
}
