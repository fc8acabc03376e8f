package model

import (
	"math"

	"nxvk/ops"
	"nxvk/test/draw"
)

// Random numbers as Nx.Random makes them: threefry2x32 of a key of two words.

// rotations of the rounds, in two turns.
var rotations = [2][]float64{{13, 15, 26, 6}, {17, 29, 16, 24}}

func u32(x float64) ops.Operand { return draw.Number(ops.U32, x) }

// split takes a key from the model's, which goes on with the other half.
func (m *Model) split() ops.Operand {
	both := m.threefry(m.key, 2, 2)
	m.key = m.at(both, 0, 0)
	return m.at(both, 0, 1)
}

// threefry is so many random words.
func (m *Model) threefry(key ops.Operand, dims ...int) ops.Operand {
	s := append(ops.Shape{}, dims...)
	n := s.Size()
	var xs ops.Operand
	if n%2 == 0 {
		xs = m.iota(ops.U32, m.r.IntN(2)-1, 2, n/2)
	} else {
		zero := ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: ops.U32, Shape: ops.Shape{1}}, Data: make([]byte, 4)}}
		xs = m.reshape(m.concat(0, m.iota(ops.U32, -1, n), zero), 2, (n+1)/2)
	}
	k1, k2 := m.at(key, 0, 0), m.at(key, 0, 1)
	x := [2]ops.Operand{m.e(ops.Add, m.at(xs, 0, 0), k1), m.e(ops.Add, m.at(xs, 0, 1), k2)}
	ks := [3]ops.Operand{k2, m.e(ops.BitwiseXor, m.e(ops.BitwiseXor, k1, k2), u32(0x1BD11BDA)), k1}
	if m.rolled {
		x = m.rolledRounds(x, ks)
	} else {
		for i := range m.rounds {
			for _, by := range rotations[i%2] {
				x = m.round(x, draw.Number(ops.U8, by), draw.Number(ops.U8, 32-by))
			}
			x = [2]ops.Operand{m.e(ops.Add, ks[0], x[0]), m.e(ops.Add, m.e(ops.Add, ks[1], u32(float64(i+1))), x[1])}
			ks = [3]ops.Operand{ks[1], ks[2], ks[0]}
		}
	}
	bits := m.concat(0, x[0], x[1])
	if n%2 == 1 {
		bits = m.part(bits, 0, 0, n)
	}
	return m.reshape(bits, dims...)
}

// round mixes two words; by is how far one is rotated, and rest are the other bits.
func (m *Model) round(x [2]ops.Operand, by, rest ops.Operand) [2]ops.Operand {
	sum := m.e(ops.Add, x[0], x[1])
	turned := m.e(ops.BitwiseOr, m.do(ops.LeftShift, ops.U32, nil, nil, x[1], by), m.do(ops.RightShift, ops.U32, nil, nil, x[1], rest))
	return [2]ops.Operand{sum, m.e(ops.BitwiseXor, turned, sum)}
}

// rolledRounds are the rounds in a loop, which has the rotations in its state.
func (m *Model) rolledRounds(x [2]ops.Operand, ks [3]ops.Operand) [2]ops.Operand {
	table := func(v []float64) ops.Operand {
		t := ops.Type{DType: ops.U8, Shape: ops.Shape{4}}
		return ops.Operand{Lit: &ops.Literal{Type: t, Data: draw.Encode(v, t)}}
	}
	state := []ops.Operand{u32(1), x[0], x[1], ks[0], ks[1], ks[2], table(rotations[0]), table(rotations[1])}
	out := m.while(state, func(s []ops.Operand) ops.Operand {
		return m.is(ops.Less, s[0], u32(float64(m.rounds+1)))
	}, func(s []ops.Operand) []ops.Operand {
		x := [2]ops.Operand{s[1], s[2]}
		for i := range 4 {
			by := m.at(s[6], 0, i)
			x = m.round(x, by, m.do(ops.Subtract, ops.U8, nil, nil, draw.Number(ops.U8, 32), by))
		}
		sum := m.e(ops.Add, m.e(ops.Add, s[4], s[0]), x[1])
		return []ops.Operand{m.e(ops.Add, s[0], u32(1)), m.e(ops.Add, s[3], x[0]), sum, s[4], s[5], s[3], s[7], s[6]}
	})
	return [2]ops.Operand{out[1], out[2]}
}

// uniform are numbers from 0 up to 1: the mantissa is random bits.
func (m *Model) uniform(key ops.Operand, d ops.DType, dims ...int) ops.Operand {
	u, shift, one := ops.U32, 9.0, float64(math.Float32bits(1))
	switch d {
	case ops.BF16:
		u, shift, one = ops.U16, 9, 0x3F80
	case ops.F16:
		u, shift, one = ops.U16, 6, 0x3C00
	}
	bits := m.cast(m.threefry(key, dims...), u)
	bits = m.do(ops.RightShift, u, nil, nil, bits, draw.Number(u, shift))
	bits = m.do(ops.BitwiseOr, u, nil, nil, bits, draw.Number(u, one))
	x := m.do(ops.Bitcast, d, m.shape(bits), nil, bits)
	return m.e(ops.Subtract, x, m.num(x, 1))
}

// normal are normal numbers.
func (m *Model) normal(key ops.Operand, d ops.DType, dims ...int) ops.Operand {
	u := m.uniform(key, d, dims...)
	low := -1 + math.Pow(2, -7)
	x := m.e(ops.Max, m.e(ops.Add, m.e(ops.Multiply, u, m.num(u, 1-low)), m.num(u, low)), m.num(u, low))
	return m.e(ops.Multiply, m.e(ops.ErfInv, x), m.num(u, math.Sqrt2))
}

// dropout leaves out some elements and scales the others, in one of the forms that Axon had.
func (m *Model) dropout(x ops.Operand) ops.Operand {
	if !m.drops {
		return x
	}
	keep := 1 - []float64{0.1, 0.25, 0.5}[m.r.IntN(3)]
	d := m.dtype(x)
	if m.r.IntN(2) == 0 {
		d = ops.F32
	}
	u := m.uniform(m.split(), d, m.shape(x)...)
	mask := m.is(ops.Less, u, m.num(u, keep))
	switch m.form % 3 {
	case 0:
		return m.e(ops.Select, mask, m.e(ops.Divide, x, m.num(x, keep)), m.num(x, 0))
	case 1:
		return m.e(ops.Divide, m.e(ops.Multiply, x, m.cast(mask, m.dtype(x))), m.num(x, keep))
	}
	zeros := m.full(m.dtype(x), 0, m.shape(x))
	return m.e(ops.Select, mask, m.e(ops.Multiply, x, m.num(x, 1/keep)), zeros)
}
