package program

import "nxvk/ops"

// Stack is a program of at least n instructions, like a compiled transformer: blocks of
// attention and of a perceptron, in varying sizes. Its values have some hundred to some ten
// thousand elements. It gives a number and a matrix.
func Stack(n int) *ops.Region {
	g := newGraph(ops.F32)
	sizes := [][2]int{{16, 32}, {32, 64}, {24, 48}, {64, 96}, {16, 96}, {48, 64}, {64, 128}, {32, 32}, {40, 80}, {96, 96}}
	var outs []node
	for i := 0; len(g.Body) < n-4; i++ {
		rows, cols := sizes[i%len(sizes)][0], sizes[i%len(sizes)][1]
		if i < len(sizes) {
			outs = append(outs, g.param(f32(rows, cols)))
		}
		k := i % len(sizes)
		outs[k] = g.perceptron(g.attention(outs[k]))
	}
	total := g.mean(outs[0])
	for _, x := range outs[1:] {
		total = g.point(ops.Add, total, g.mean(x))
	}
	return g.finish(total, outs[len(outs)-1])
}

// weight is a parameter of this shape. All weights of a shape are one parameter.
func (g *graph) weight(shape ...int) node {
	want := f32(shape...)
	for _, p := range g.Params {
		if p.Type.Equal(want) {
			return node{ID: p.ID}
		}
	}
	return g.param(want)
}

// mean is the mean of the squares of a matrix.
func (g *graph) mean(x node) node {
	t := g.typeOf(x)
	squares := g.point(ops.Multiply, x, x)
	sum := g.add(ops.Sum, f32(), [][]int{{0, 1}, {0}}, squares)
	return g.point(ops.Multiply, sum, g.number(1/float64(t.Size())))
}

// normal is layer normalisation with a scale and an offset.
func (g *graph) normal(x node) node {
	cols := g.typeOf(x).Shape[1]
	scale := g.number(1 / float64(cols))
	mean := g.point(ops.Multiply, g.fold(ops.Sum, x, 1, true), scale)
	d := g.point(ops.Subtract, x, mean)
	v := g.point(ops.Multiply, g.fold(ops.Sum, g.point(ops.Multiply, d, d), 1, true), scale)
	n := g.point(ops.Multiply, d, g.point(ops.Rsqrt, g.point(ops.Add, v, g.number(1e-5))))
	return g.point(ops.Add, g.point(ops.Multiply, n, g.weight(cols)), g.weight(1, cols))
}

// dense is x times a weight and a bias.
func (g *graph) dense(x node, cols int) node {
	return g.point(ops.Add, g.dot(x, 1, g.weight(g.typeOf(x).Shape[1], cols), 0), g.weight(1, cols))
}

// halves are the left and the right half of the columns of a matrix.
func (g *graph) halves(x node) (left, right node) {
	s := g.typeOf(x).Shape
	part := func(from int) node {
		return g.add(ops.Slice, f32(s[0], s[1]/2), [][]int{{0, from}, {s[0], s[1] / 2}, {1, 1}}, x)
	}
	return part(0), part(s[1] / 2)
}

// rotate is x with pairs of columns rotated by angles (rotary position embedding).
func (g *graph) rotate(x node) node {
	s := g.typeOf(x).Shape
	left, right := g.halves(x)
	other := g.add(ops.Concatenate, f32(s...), [][]int{{1}}, g.point(ops.Negate, right), left)
	angle := g.weight(s...)
	return g.point(ops.Add, g.point(ops.Multiply, x, g.point(ops.Cos, angle)), g.point(ops.Multiply, other, g.point(ops.Sin, angle)))
}

// attention is a head of causal attention, added to its input.
func (g *graph) attention(x node) node {
	s := g.typeOf(x).Shape
	n := g.normal(x)
	q, k, v := g.rotate(g.dense(n, s[1])), g.rotate(g.dense(n, s[1])), g.dense(n, s[1])
	scores := g.point(ops.Multiply, g.dot(q, 1, k, 1), g.number(0.125))
	square := f32(s[0], s[0])
	row := g.add(ops.Iota, square, [][]int{{0}})
	col := g.add(ops.Iota, square, [][]int{{1}})
	far := g.add(ops.Constant, square, nil, g.number(-1e9))
	scores = g.add(ops.Select, square, nil, g.point(ops.GreaterEqual, row, col), scores, far)
	e := g.point(ops.Exp, g.point(ops.Subtract, scores, g.fold(ops.ReduceMax, scores, 1, true)))
	p := g.point(ops.Divide, e, g.fold(ops.Sum, e, 1, true))
	return g.point(ops.Add, x, g.dense(g.dot(p, 1, v, 0), s[1]))
}

// perceptron is two layers with the activation 0.5 x (1 + tanh(√(2/π)(x + 0.044715 x³)))
// between them, added to its input.
func (g *graph) perceptron(x node) node {
	s := g.typeOf(x).Shape
	h := g.dense(g.normal(x), 2*s[1])
	cube := g.point(ops.Multiply, g.point(ops.Multiply, h, h), h)
	inner := g.point(ops.Add, h, g.point(ops.Multiply, cube, g.number(0.044715)))
	t := g.point(ops.Tanh, g.point(ops.Multiply, inner, g.number(0.7978845608)))
	a := g.point(ops.Multiply, g.point(ops.Multiply, h, g.number(0.5)), g.point(ops.Add, t, g.number(1)))
	left, right := g.halves(a)
	back := g.add(ops.Transpose, f32(s[1], s[0]), [][]int{{1, 0}}, g.point(ops.Max, left, right))
	transposed := g.add(ops.Transpose, f32(s...), [][]int{{1, 0}}, back)
	return g.point(ops.Add, x, g.dense(transposed, s[1]))
}
