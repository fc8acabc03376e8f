package model

import (
	"math"

	"nxvk/ops"
	"nxvk/test/draw"
)

// weight is a parameter that is trained, in the type in which the model computes.
func (m *Model) weight(scale float64, dims ...int) ops.Operand {
	t := ops.Type{DType: m.stored, Shape: append(ops.Shape{}, dims...)}
	p := m.Param(t)
	m.weights = append(m.weights, p)
	m.scale[p.ID] = scale
	return m.cast(p, m.d)
}

// dense is a product with a matrix, and a bias.
func (m *Model) dense(x ops.Operand, n int) ops.Operand {
	last := m.rank(x) - 1
	in := m.shape(x)[last]
	y := m.dot(x, []int{last}, nil, m.weight(1/math.Sqrt(float64(in)), in, n), []int{0}, nil)
	if m.bias {
		y = m.e(ops.Add, y, m.weight(0.1, n))
	}
	return y
}

// norm is a layer norm or a norm of the root of the mean square, along the last axis.
func (m *Model) norm(x ops.Operand) ops.Operand {
	d, last := m.dtype(x), []int{m.rank(x) - 1}
	n := m.shape(x)[last[0]]
	if m.wide {
		x = m.cast(x, ops.F32)
	}
	var y ops.Operand
	if m.squares {
		v := m.mean(m.e(ops.Multiply, x, x), last, 1)
		y = m.e(ops.Multiply, x, m.e(ops.Rsqrt, m.e(ops.Add, v, m.num(x, 1e-3))))
	} else {
		y = m.e(ops.Subtract, x, m.mean(x, last, 1))
		v := m.mean(m.e(ops.Multiply, y, y), last, 1)
		if m.form%2 == 0 {
			y = m.e(ops.Divide, y, m.e(ops.Sqrt, m.e(ops.Add, v, m.num(x, 1e-3))))
		} else {
			y = m.e(ops.Multiply, y, m.e(ops.Rsqrt, m.e(ops.Add, v, m.num(x, 1e-3))))
		}
	}
	y = m.e(ops.Multiply, m.cast(y, d), m.weight(1, n))
	if !m.squares {
		y = m.e(ops.Add, y, m.weight(0.1, n))
	}
	return y
}

// activation is the one of the model.
func (m *Model) activation(x ops.Operand) ops.Operand {
	mul := func(a, b ops.Operand) ops.Operand { return m.e(ops.Multiply, a, b) }
	switch m.act {
	case 0: // gelu
		return mul(mul(m.num(x, 0.5), x), m.e(ops.Add, m.e(ops.Erf, m.e(ops.Divide, x, m.num(x, math.Sqrt2))), m.num(x, 1)))
	case 1: // its approximation
		cube := mul(m.num(x, 0.044715), m.e(ops.Pow, x, draw.Number(ops.S32, 3)))
		inner := m.e(ops.Tanh, mul(m.num(x, math.Sqrt(2/math.Pi)), m.e(ops.Add, x, cube)))
		return mul(mul(m.num(x, 0.5), x), m.e(ops.Add, m.num(x, 1), inner))
	case 2: // silu
		return mul(x, m.e(ops.Sigmoid, x))
	case 3: // relu
		return m.e(ops.Max, x, m.num(x, 0))
	case 4: // elu
		return m.e(ops.Select, m.is(ops.Greater, x, m.num(x, 0)), x, m.e(ops.Subtract, m.e(ops.Exp, m.e(ops.Min, x, m.num(x, 0))), m.num(x, 1)))
	}
	return m.e(ops.Tanh, x)
}

// feedForward is the second half of a layer of a transformer.
func (m *Model) feedForward(x ops.Operand) ops.Operand {
	n := m.shape(x)[m.rank(x)-1]
	up := m.dense(x, m.inner)
	if m.gated {
		up = m.e(ops.Multiply, m.activation(up), m.dense(x, m.inner))
	} else {
		up = m.activation(up)
	}
	return m.dropout(m.dense(up, n))
}

// heads divides the last axis of {batch, length, heads*size}.
func (m *Model) divide(x ops.Operand, heads int) ops.Operand {
	s := m.shape(x)
	return m.reshape(x, s[0], s[1], heads, s[2]/heads)
}

// rotary turns pairs of elements by angles that grow with the position.
func (m *Model) rotary(x ops.Operand, positions ops.Operand) ops.Operand {
	s := m.shape(x) // batch, length, heads, size
	half := s[3] / 2
	if half == 0 {
		return x
	}
	steps := m.e(ops.Divide, m.iota(ops.F32, 0, half), draw.Number(ops.S32, float64(half)))
	rates := m.e(ops.Divide, draw.Number(ops.S32, 1), m.e(ops.Pow, draw.Number(ops.F32, 10000), steps))
	at := m.cast(m.reshape(positions, s[1], 1), ops.F32)
	angles := m.e(ops.Multiply, at, m.reshape(rates, 1, half))
	if m.form%2 == 0 {
		angles = m.concat(1, angles, angles)
		cos, sin := m.cast(m.e(ops.Cos, angles), m.d), m.cast(m.e(ops.Sin, angles), m.d)
		cos, sin = m.reshape(cos, 1, s[1], 1, 2*half), m.reshape(sin, 1, s[1], 1, 2*half)
		y := m.part(x, 3, 0, 2*half)
		turned := m.concat(3, m.e(ops.Negate, m.part(x, 3, half, half)), m.part(x, 3, 0, half))
		y = m.e(ops.Add, m.e(ops.Multiply, y, cos), m.e(ops.Multiply, turned, sin))
		if s[3] > 2*half {
			y = m.concat(3, y, m.part(x, 3, 2*half, s[3]-2*half))
		}
		return y
	}
	// Pairs beside each other.
	cos, sin := m.cast(m.e(ops.Cos, angles), m.d), m.cast(m.e(ops.Sin, angles), m.d)
	cos, sin = m.reshape(cos, 1, s[1], 1, half), m.reshape(sin, 1, s[1], 1, half)
	every := func(from int) ops.Operand {
		return m.do(ops.Slice, m.dtype(x), nil, [][]int{{0, 0, 0, from}, {s[0], s[1], s[2], 2*half - from}, {1, 1, 1, 2}}, x)
	}
	a, b := every(0), every(1)
	y := m.stack(4, m.e(ops.Subtract, m.e(ops.Multiply, a, cos), m.e(ops.Multiply, b, sin)),
		m.e(ops.Add, m.e(ops.Multiply, b, cos), m.e(ops.Multiply, a, sin)))
	y = m.reshape(y, s[0], s[1], s[2], 2*half)
	if s[3] > 2*half {
		y = m.concat(3, y, m.part(x, 3, 2*half, s[3]-2*half))
	}
	return y
}

// mask is what an attention may see: causal, or of the keys that a mask of the input names, or both.
func (m *Model) seen(length int) ops.Operand {
	q, k := m.iota(ops.S32, 0, length, length), m.iota(ops.S32, 1, length, length)
	causal := m.reshape(m.is(ops.GreaterEqual, q, k), 1, 1, length, length)
	if m.keys.ID == 0 {
		return causal
	}
	keys := m.reshape(m.keys, m.batch, 1, 1, length)
	return m.do(ops.LogicalAnd, ops.U8, nil, nil, causal, keys)
}

// attention is that of Axon or of Bumblebee, of {batch, length, width}.
func (m *Model) attention(x, positions ops.Operand) ops.Operand {
	s := m.shape(x)
	width := m.heads * m.size
	var q, k, v ops.Operand
	if m.joined { // one product, divided
		all := m.dense(x, 3*width)
		q, k, v = m.part(all, 2, 0, width), m.part(all, 2, width, width), m.part(all, 2, 2*width, width)
	} else {
		q, k, v = m.dense(x, width), m.dense(x, m.keyHeads*m.size), m.dense(x, m.keyHeads*m.size)
	}
	groups := m.keyHeads
	if m.joined {
		groups = m.heads
	}
	q, k, v = m.divide(q, m.heads), m.divide(k, groups), m.divide(v, groups)
	if m.rotates {
		q, k = m.rotary(q, positions), m.rotary(k, positions)
	}
	if groups < m.heads {
		k, v = m.repeated(k), m.repeated(v)
	}
	y := m.attend(q, k, v, m.seen(s[1]))
	return m.dropout(m.dense(m.reshape(y, s[0], s[1], width), s[2]))
}

// repeated has several heads of queries share one of keys.
func (m *Model) repeated(x ops.Operand) ops.Operand {
	s := m.shape(x)
	n := m.heads / s[2]
	x = m.broadcast(m.reshape(x, s[0], s[1], s[2], 1, s[3]), ops.Shape{s[0], s[1], s[2], n, s[3]}, axes(0, 5))
	return m.reshape(x, s[0], s[1], m.heads, s[3])
}

// attend is the attention of {batch, length, heads, size}.
func (m *Model) attend(q, k, v, mask ops.Operand) ops.Operand {
	q, k, v = m.transpose(q, 0, 2, 1, 3), m.transpose(k, 0, 2, 1, 3), m.transpose(v, 0, 2, 1, 3)
	scores := m.dot(q, []int{3}, []int{0, 1}, k, []int{3}, []int{0, 1})
	root := math.Sqrt(float64(m.size))
	if m.form%2 == 0 {
		scores = m.e(ops.Divide, scores, m.num(scores, root))
	} else {
		scores = m.e(ops.Multiply, scores, m.num(scores, 1/root))
	}
	if m.wide {
		scores = m.cast(scores, ops.F32)
	}
	if m.form%3 == 0 {
		scores = m.e(ops.Add, scores, m.e(ops.Select, mask, m.num(scores, 0), m.num(scores, -1e4)))
	} else {
		scores = m.e(ops.Select, m.broadcast(mask, m.shape(scores), axes(0, 4)), scores, m.num(scores, -1e4))
	}
	weights := m.dropout(m.cast(m.softmax(scores), m.d))
	y := m.dot(weights, []int{3}, []int{0, 1}, v, []int{2}, []int{0, 1})
	return m.transpose(y, 0, 2, 1, 3)
}

// softmax is along the last axis. The maximum takes no part in the derivative, as in Axon: it is of a copy in integers' stead.
func (m *Model) softmax(x ops.Operand) ops.Operand {
	last := []int{m.rank(x) - 1}
	e := m.e(ops.Exp, m.e(ops.Subtract, x, m.fold(ops.ReduceMax, x, last, 1)))
	return m.e(ops.Divide, e, m.fold(ops.Sum, e, last, 1))
}

// logSoftmax is along the last axis.
func (m *Model) logSoftmax(x ops.Operand) ops.Operand {
	last := []int{m.rank(x) - 1}
	y := m.e(ops.Subtract, x, m.fold(ops.ReduceMax, x, last, 1))
	return m.e(ops.Subtract, y, m.e(ops.Log, m.fold(ops.Sum, m.e(ops.Exp, y), last, 1)))
}

// transformer is a layer of one, with the norm before or after.
func (m *Model) transformer(x, positions ops.Operand) ops.Operand {
	if m.after {
		x = m.norm(m.e(ops.Add, x, m.attention(x, positions)))
		return m.norm(m.e(ops.Add, x, m.feedForward(x)))
	}
	x = m.e(ops.Add, x, m.attention(m.norm(x), positions))
	return m.e(ops.Add, x, m.feedForward(m.norm(x)))
}
