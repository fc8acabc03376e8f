package model

import (
	"math"
	"slices"

	"nxvk/ops"
	"nxvk/test/draw"
)

// convolution is one of {batch, height, width, channels}, or with channels first.
func (m *Model) convolution(x ops.Operand, n, k, step int) ops.Operand {
	in := m.shape(x)[m.channelAxis()]
	w := m.weight(1/math.Sqrt(float64(in*k*k)), m.kernelShape(n, in, k)...)
	lo, hi := (k-1)/2, k/2
	perm, kernel := []int{0, 1, 2, 3}, []int{0, 1, 2, 3}
	if m.channelsLast {
		perm, kernel = []int{0, 3, 1, 2}, []int{3, 2, 0, 1}
	}
	y := m.do(ops.Conv, ops.Merge(m.dtype(x), m.dtype(w)), nil,
		[][]int{{step, step}, {lo, hi, lo, hi}, {1, 1}, {1, 1}, {1}, {1}, perm, kernel, perm}, x, w)
	if m.bias {
		y = m.e(ops.Add, y, m.channels(m.weight(0.1, n)))
	}
	return y
}

func (m *Model) kernelShape(n, in, k int) []int {
	if m.channelsLast {
		return []int{k, k, in, n}
	}
	return []int{n, in, k, k}
}

func (m *Model) channelAxis() int {
	if m.channelsLast {
		return 3
	}
	return 1
}

// channels is a vector along the axis of channels.
func (m *Model) channels(x ops.Operand) ops.Operand {
	s := []int{1, 1, 1, 1}
	s[m.channelAxis()] = m.shape(x)[0]
	return m.reshape(x, s...)
}

// batchNorm is one of a training step, which also gives the running mean and variance.
func (m *Model) batchNorm(x ops.Operand) ops.Operand {
	axis := m.channelAxis()
	over := without(4, []int{axis})
	n := m.shape(x)[axis]
	mean := m.mean(x, over, 1)
	y := m.e(ops.Subtract, x, mean)
	v := m.mean(m.e(ops.Multiply, y, y), over, 1)
	for _, now := range []ops.Operand{mean, v} {
		was := m.Param(ops.Type{DType: m.dtype(x), Shape: ops.Shape{n}})
		m.values = append(m.values, m.e(ops.Add, m.e(ops.Multiply, was, m.num(x, 0.9)), m.e(ops.Multiply, m.reshape(now, n), m.num(x, 0.1))))
	}
	y = m.e(ops.Multiply, y, m.e(ops.Rsqrt, m.e(ops.Add, v, m.num(x, 1e-3))))
	return m.e(ops.Add, m.e(ops.Multiply, y, m.channels(m.weight(1, n))), m.channels(m.weight(0.1, n)))
}

// pool is the largest or the mean of windows.
func (m *Model) pool(x ops.Operand, k, step int) ops.Operand {
	w, steps, ones := []int{1, 1, 1, 1}, []int{1, 1, 1, 1}, []int{1, 1, 1, 1}
	pads := make([]int, 8)
	for a, n := range m.shape(x) {
		if a > 0 && a != m.channelAxis() && n >= k {
			w[a], steps[a] = k, step
			if m.form%2 == 0 && k > 1 {
				pads[2*a+1] = k - 1
			}
		}
	}
	op := ops.WindowMax
	if m.form%3 == 0 {
		op = ops.WindowSum
	}
	y := m.do(op, m.dtype(x), nil, [][]int{w, pads, steps, ones}, x)
	if op == ops.WindowSum {
		y = m.e(ops.Divide, y, m.num(x, float64(k*k)))
	}
	return y
}

// residual is a block of two convolutions beside the identity, or beside a convolution of 1×1.
func (m *Model) residual(x ops.Operand, n int) ops.Operand {
	step := 1 + m.r.IntN(2)
	k := 1 + m.r.IntN(3)
	y := m.activation(m.batchNorm(m.convolution(x, n, k, step)))
	y = m.batchNorm(m.convolution(y, n, 1+m.r.IntN(3), 1))
	if step > 1 || m.shape(x)[m.channelAxis()] != n {
		x = m.convolution(x, n, 1, step)
	}
	if !m.shape(x).Equal(m.shape(y)) {
		return m.activation(y)
	}
	return m.activation(m.e(ops.Add, x, y))
}

// cell is a step of an LSTM or a GRU: the state after it.
type cell struct {
	m      *Model
	gates  []ops.Operand // weights of the input, of the state, and biases, for each gate
	joined []ops.Operand
	n      int
}

// newCell makes the weights of a cell with so many inputs. They are shared by all steps.
func (m *Model) newCell(in, n int) *cell {
	c := &cell{m: m, n: n}
	if m.joined {
		c.joined = []ops.Operand{m.weight(0.4, in, 4*n), m.weight(0.4, n, 4*n), m.weight(0.1, 4*n)}
		return c
	}
	for range 4 {
		c.gates = append(c.gates, m.weight(0.4, in, n), m.weight(0.4, n, n), m.weight(0.1, n))
	}
	return c
}

// sums are the products and biases of the gates.
func (c *cell) sums(x, h ops.Operand) (list [4]ops.Operand) {
	m := c.m
	product := func(a, w ops.Operand) ops.Operand { return m.dot(a, []int{1}, nil, w, []int{0}, nil) }
	if c.joined != nil {
		all := m.e(ops.Add, m.e(ops.Add, product(x, c.joined[0]), product(h, c.joined[1])), c.joined[2])
		for i := range list {
			list[i] = m.part(all, 1, i*c.n, c.n)
		}
		return list
	}
	for i := range list {
		g := c.gates[3*i : 3*i+3]
		list[i] = m.e(ops.Add, m.e(ops.Add, product(x, g[0]), product(h, g[1])), g[2])
	}
	return list
}

// lstm is the next state.
func (c *cell) lstm(x, h, s ops.Operand) (ops.Operand, ops.Operand) {
	m := c.m
	g := c.sums(x, h)
	in, forget, out := m.e(ops.Sigmoid, g[0]), m.e(ops.Sigmoid, g[1]), m.e(ops.Sigmoid, g[3])
	s = m.e(ops.Add, m.e(ops.Multiply, forget, s), m.e(ops.Multiply, in, m.e(ops.Tanh, g[2])))
	return m.e(ops.Multiply, out, m.e(ops.Tanh, s)), s
}

// gru is the next state.
func (c *cell) gru(x, h ops.Operand) ops.Operand {
	m := c.m
	g := c.sums(x, h)
	z, r := m.e(ops.Sigmoid, g[0]), m.e(ops.Sigmoid, g[1])
	n := m.e(ops.Tanh, m.e(ops.Add, g[2], m.e(ops.Multiply, r, g[3])))
	return m.e(ops.Add, m.e(ops.Multiply, m.e(ops.Subtract, m.num(z, 1), z), n), m.e(ops.Multiply, z, h))
}

// recurrent is a layer of a recurrent network, {batch, length, width}, as Axon unrolls it: each output is put into a
// tensor of all, or all are stacked.
func (m *Model) recurrent(x ops.Operand) ops.Operand {
	s := m.shape(x)
	n := m.heads * m.size
	c := m.newCell(s[2], n)
	h := m.full(m.d, 0, ops.Shape{s[0], n})
	state := h
	all := m.full(m.d, 0, ops.Shape{s[0], s[1], n})
	var list []ops.Operand
	for i := range s[1] {
		in := m.at(x, 1, i)
		if m.form%2 == 0 {
			h, state = c.lstm(in, h, state)
		} else {
			h = c.gru(in, h)
		}
		h = m.cast(h, m.d)
		if m.form%3 == 0 {
			zero := draw.Number(ops.S32, 0)
			all = m.do(ops.PutSlice, m.d, nil, [][]int{{}}, all, m.reshape(h, s[0], 1, n), zero, draw.Number(ops.S32, float64(i)), zero)
		} else {
			list = append(list, h)
		}
	}
	if list != nil {
		all = m.stack(1, list...)
	}
	return m.dropout(all)
}

// looped is a layer of a recurrent network as Axon writes it otherwise: a loop over the places of the sequence.
func (m *Model) looped(x ops.Operand) ops.Operand {
	s := m.shape(x)
	n := m.heads * m.size
	c := m.newCell(s[2], n)
	one, zero := draw.Number(ops.S32, 1), draw.Number(ops.S32, 0)
	h := m.full(m.d, 0, ops.Shape{s[0], n})
	state := []ops.Operand{zero, m.full(m.d, 0, ops.Shape{s[0], s[1], n}), h, h, x}
	state = append(append(state, c.gates...), c.joined...)
	end := draw.Number(ops.S32, float64(s[1]))
	out := m.while(state, func(s []ops.Operand) ops.Operand { return m.is(ops.Less, s[0], end) }, func(now []ops.Operand) []ops.Operand {
		next := slices.Clone(now)
		weights := now[5:]
		of := &cell{m: m, n: n, gates: weights[:len(c.gates)]}
		if c.joined != nil {
			of.joined = weights
		}
		place := m.do(ops.Slice, m.d, nil, [][]int{{}, {s[0], 1, s[2]}, {1, 1, 1}}, now[4], zero, now[0], zero)
		in := m.do(ops.Squeeze, m.d, nil, [][]int{{1}}, place)
		if m.form%2 == 0 {
			next[2], next[3] = of.lstm(in, now[2], now[3])
		} else {
			next[2] = of.gru(in, now[2])
		}
		next[2], next[3] = m.cast(next[2], m.d), m.cast(next[3], m.d)
		next[1] = m.do(ops.PutSlice, m.d, nil, [][]int{{}}, now[1], m.reshape(next[2], s[0], 1, n), zero, now[0], zero)
		next[0] = m.e(ops.Add, now[0], one)
		return next
	})
	return out[1]
}
