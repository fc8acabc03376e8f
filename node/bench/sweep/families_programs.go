package sweep

import (
	"cmp"
	"math"

	"nxvk/ops"
)

// drawRows draws softmax and its like, as the compiler gets them: rows of 2 to 2^24 elements.
func drawRows(b *builder) {
	d := b.dtype(floats)
	all := b.elements(d, 2)
	n := b.int(2, min(1<<24, max(2, int(all))))
	if b.chance(35) {
		n = one(b, append(vocabularies, widths...)...)
	}
	t := typed(d, max(1, b.near(all/float64(n))), max(2, n))
	b.c.Program = true
	switch b.IntN(5) {
	case 0, 1:
		b.whole("softmax")
		b.finish(b.softmax(d, b.param(Uniform, t), 1))
	case 2:
		b.whole("log_softmax")
		x := b.param(Uniform, t)
		v := b.do(ops.Subtract, d, nil, x, b.do(ops.ReduceMax, d, [][]int{{1}, {1}}, x))
		s := b.do(ops.Sum, d, [][]int{{1}, {1}}, b.do(ops.Exp, d, nil, v))
		b.finish(b.do(ops.Subtract, d, nil, v, b.do(ops.Log, d, nil, s)))
	case 3:
		b.whole("layer_norm")
		b.layerNorm(d, t)
	default:
		b.whole("logsumexp")
		x := b.param(Uniform, t)
		m := b.do(ops.ReduceMax, d, [][]int{{1}, {1}}, x)
		s := b.do(ops.Sum, d, [][]int{{1}, {1}}, b.do(ops.Exp, d, nil, b.do(ops.Subtract, d, nil, x, m)))
		b.finish(b.do(ops.Add, d, nil, b.do(ops.Log, d, nil, s), m))
	}
}

// softmax adds the softmax along an axis.
func (b *builder) softmax(d ops.DType, x, axis int) int {
	e := b.do(ops.Exp, d, nil, b.do(ops.Subtract, d, nil, x, b.do(ops.ReduceMax, d, [][]int{{axis}, {1}}, x)))
	return b.do(ops.Divide, d, nil, e, b.do(ops.Sum, d, [][]int{{axis}, {1}}, e))
}

// layerNorm adds the normalization of rows, with a gain and a bias.
func (b *builder) layerNorm(d ops.DType, t ops.Type) {
	row := typed(d, t.Shape[1])
	x, gain, bias := b.param(Uniform, t), b.param(Uniform, row), b.param(Uniform, row)
	n, eps := b.number(d, float64(t.Shape[1])), b.number(d, 1e-5)
	mean := func(v int) int { return b.do(ops.Divide, d, nil, b.do(ops.Sum, d, [][]int{{1}, {1}}, v), n) }
	v := b.do(ops.Subtract, d, nil, x, mean(x))
	variance := b.do(ops.Add, d, nil, mean(b.do(ops.Multiply, d, nil, v, v)), eps)
	v = b.do(ops.Multiply, d, nil, v, b.do(ops.Rsqrt, d, nil, variance))
	b.finish(b.do(ops.Add, d, nil, b.do(ops.Multiply, d, nil, v, gain), bias))
}

// drawAttention draws attention as written: two products and a softmax, for each head. A half has a
// mask: a causal one, or one of additive biases that all heads share.
func drawAttention(b *builder) {
	d := b.dtype(weighted{{ops.F32, 50}, {ops.BF16, 30}, {ops.F16, 20}})
	heads, width := b.near(b.between(1, 256)), one(b, 32, 64, 64, 64, 80, 96, 128, 128, 256)
	queries := b.int(16, 4096)
	keys := queries
	mask := one(b, "", "", "causal", "bias")
	if mask != "causal" && b.chance(25) {
		queries = 1
	}
	q := b.param(Uniform, typed(d, heads, queries, width))
	k, v := b.param(Uniform, typed(d, heads, keys, width)), b.param(Uniform, typed(d, heads, keys, width))
	bias, least := -1, -1
	switch mask {
	case "bias":
		bias = b.param(Uniform, typed(d, 1, queries, keys))
	case "causal":
		least = b.number(d, -1e9)
	}
	scale := b.number(d, 1/math.Sqrt(float64(width)))
	b.c.Program = true
	b.whole("attention")
	b.remark("%s", cmp.Or(mask, "no")+" mask")
	s := b.do(ops.Dot, d, [][]int{{2}, {0}, {2}, {0}}, q, k)
	s = b.do(ops.Multiply, d, nil, s, scale)
	switch mask {
	case "bias":
		s = b.do(ops.Add, d, nil, s, bias)
	case "causal":
		row := b.shaped(ops.Iota, typed(ops.S32, 1, queries, keys), [][]int{{1}})
		column := b.shaped(ops.Iota, typed(ops.S32, 1, queries, keys), [][]int{{2}})
		seen := b.do(ops.GreaterEqual, ops.U8, nil, row, column)
		seen = b.shaped(ops.BroadcastTo, typed(ops.U8, heads, queries, keys), [][]int{{0, 1, 2}}, seen)
		s = b.do(ops.Select, d, nil, seen, s, least)
	}
	p := b.softmax(d, s, 2)
	b.finish(b.do(ops.Dot, d, [][]int{{2}, {0}, {1}, {0}}, p, v))
}

// rotations are those of Threefry-2×32 (Salmon and others 2011), in rounds of four.
var rotations = [2][4]int{{13, 15, 26, 6}, {17, 29, 16, 24}}

// drawRandom draws uniform numbers: twenty rounds of Threefry-2×32 for each two of them, as
// Nx.Random makes them of a key.
func drawRandom(b *builder) {
	u := ops.U32
	half := max(1, b.near(b.elements(ops.F32, 2)/4))
	key := [3]int{b.param(Uniform, typed(u)), b.param(Uniform, typed(u)), 0}
	word := func(x float64) int {
		i := b.number(u, x)
		b.c.Params[i].DType, b.types[i].DType = "u32", u
		return i
	}
	parity := word(466688986)
	turns := make(map[int][2]int)
	for _, list := range rotations {
		for _, r := range list {
			turns[r] = [2]int{word(float64(r)), word(float64(32 - r))}
		}
	}
	var counts [6]int
	for i := range counts {
		counts[i] = word(float64(i))
	}
	nine, scale := word(9), b.number(ops.F32, math.Exp2(-23))
	size := word(float64(half))
	b.c.Program = true
	b.whole("rand")
	do := func(op ops.Op, x, y int) int { return b.do(op, u, nil, x, y) }
	key[2] = do(ops.BitwiseXor, do(ops.BitwiseXor, key[0], key[1]), parity)
	x := b.shaped(ops.Iota, typed(u, half), [][]int{{-1}})
	y := do(ops.Add, do(ops.Add, x, size), key[1])
	x = do(ops.Add, x, key[0])
	for round := range 5 {
		for _, r := range rotations[round%2] {
			x = do(ops.Add, x, y)
			y = do(ops.BitwiseXor, x, do(ops.BitwiseOr, do(ops.LeftShift, y, turns[r][0]), do(ops.RightShift, y, turns[r][1])))
		}
		x = do(ops.Add, x, key[(round+1)%3])
		y = do(ops.Add, y, do(ops.Add, key[(round+2)%3], counts[round+1]))
	}
	v := b.do(ops.Concatenate, u, [][]int{{0}}, x, y)
	f := b.do(ops.AsType, ops.F32, nil, do(ops.RightShift, v, nine))
	b.finish(b.do(ops.Multiply, ops.F32, nil, f, scale))
}
