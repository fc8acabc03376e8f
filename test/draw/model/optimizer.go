package model

import (
	"nxvk/ops"
	"nxvk/test/draw"
)

// optimize gives the weights after a step with some gradients, and the state of the optimizer.
func (m *Model) optimize(grads []ops.Operand) {
	for i, g := range grads {
		grads[i] = m.cast(g, ops.F32)
		if m.unscale.ID != 0 {
			grads[i] = m.e(ops.Divide, grads[i], m.unscale)
		}
	}
	if m.r.IntN(2) == 0 {
		grads = m.clipped(grads)
	}
	rate := m.rate()
	switch m.r.IntN(3) {
	case 0: // sgd
		for i, w := range m.weights {
			m.give(w, m.e(ops.Multiply, grads[i], m.e(ops.Negate, rate)))
		}
	case 1: // with momentum
		for i, w := range m.weights {
			v := m.Param(ops.Type{DType: ops.F32, Shape: m.shape(w)})
			now := m.e(ops.Add, grads[i], m.e(ops.Multiply, v, draw.Number(ops.F32, 0.9)))
			m.values = append(m.values, now)
			m.give(w, m.e(ops.Multiply, now, m.e(ops.Negate, rate)))
		}
	default:
		m.adam(grads, rate)
	}
}

// give adds an update to a weight, in the type that it is stored in.
func (m *Model) give(w, update ops.Operand) {
	m.values = append(m.values, m.cast(m.e(ops.Add, m.cast(w, ops.F32), update), m.dtype(w)))
}

// rate is the learning rate: a number, a parameter, or one that a schedule computes of the count of steps.
func (m *Model) rate() ops.Operand {
	switch m.r.IntN(3) {
	case 0:
		return draw.Number(ops.F32, 1e-2)
	case 1:
		return m.scalar(ops.F32, 1e-2)
	}
	part := m.e(ops.Divide, m.cast(m.count, ops.F32), draw.Number(ops.F32, 100))
	part = m.e(ops.Min, part, draw.Number(ops.F32, 1))
	return m.e(ops.Multiply, m.e(ops.Add, m.e(ops.Cos, m.e(ops.Multiply, part, draw.Number(ops.F32, 3.14159))), draw.Number(ops.F32, 1)),
		draw.Number(ops.F32, 5e-3))
}

// clipped are gradients whose norm, over all, has a bound.
func (m *Model) clipped(grads []ops.Operand) []ops.Operand {
	var sum ops.Operand
	for i, g := range grads {
		s := m.fold(ops.Sum, m.e(ops.Multiply, g, g), axes(0, m.rank(g)), 0)
		if i > 0 {
			s = m.e(ops.Add, sum, s)
		}
		sum = s
	}
	norm := m.e(ops.Sqrt, sum)
	bound := draw.Number(ops.F32, 0.5)
	over := m.is(ops.Greater, norm, bound)
	var out []ops.Operand
	for _, g := range grads {
		scaled := m.e(ops.Multiply, m.e(ops.Divide, g, m.e(ops.Max, norm, draw.Number(ops.F32, 1e-6))), bound)
		if m.form%2 == 0 {
			over := m.broadcast(over, m.shape(g), nil)
			out = append(out, m.e(ops.Select, over, scaled, g))
		} else {
			out = append(out, m.e(ops.Select, over, scaled, g))
		}
	}
	return out
}

// adam is AdamW of Polaris.
func (m *Model) adam(grads []ops.Operand, rate ops.Operand) {
	num := func(x float64) ops.Operand { return draw.Number(ops.F32, x) }
	mul := func(a, b ops.Operand) ops.Operand { return m.e(ops.Multiply, a, b) }
	step := m.e(ops.Add, m.count, m.num(m.count, 1))
	m.values = append(m.values, step)
	correction := func(b float64) ops.Operand {
		return m.e(ops.Subtract, num(1), m.do(ops.Pow, ops.F32, nil, nil, num(b), step))
	}
	c1, c2 := correction(0.9), correction(0.999)
	decays := m.r.IntN(2) == 0
	for i, w := range m.weights {
		g := grads[i]
		t := ops.Type{DType: ops.F32, Shape: m.shape(w)}
		mu, nu := m.Param(t), m.Param(t)
		m.positive[nu.ID] = true
		mu = m.e(ops.Add, mul(num(0.9), mu), mul(num(0.1), g))
		nu = m.e(ops.Add, mul(num(0.999), nu), mul(num(0.001), mul(g, g)))
		m.values = append(m.values, mu, nu)
		u := m.e(ops.Divide, m.e(ops.Divide, mu, c1), m.e(ops.Add, m.e(ops.Sqrt, m.e(ops.Divide, nu, c2)), num(1e-6)))
		if decays {
			u = m.e(ops.Add, u, mul(m.cast(w, ops.F32), num(1e-2)))
		}
		m.give(w, mul(u, m.e(ops.Negate, rate)))
	}
}
