package sweep

import (
	"encoding/binary"
	"math"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
)

// tile is the number of elements after which those of large operands repeat. Indices do not
// repeat, so that reads at them miss caches as often as random ones do.
const tile = 1 << 22

// filler makes operands on a device, by operations. Each step frees what it is made of, so that
// large operands need little more memory than their own.
type filler struct{ *exectest.Driver }

// operand returns a new value that is filled as a param says.
func (f filler) operand(p *Param) (ops.Operand, error) {
	if p.Fill == Literal {
		lit, err := p.literal()
		return ops.Operand{Lit: lit}, err
	}
	t, err := p.of()
	if err != nil {
		return ops.Operand{}, err
	}
	id := f.filled(p, t)
	return ops.Operand{ID: id}, f.Err(id)
}

func (f filler) filled(p *Param, t ops.Type) ops.ID {
	if p.Fill == Dominant || p.Fill == Symmetric {
		return f.matrices(t, p.Fill == Symmetric)
	}
	n, m := t.Size(), t.Size()
	if p.Fill != Indices {
		m = min(n, tile)
	}
	x := f.elements(p, t.DType, m)
	if n > m {
		rows := (n + m - 1) / m
		x = f.step(ops.BroadcastTo, typed(t.DType, rows, m), [][]int{{1}}, x)
		x = f.step(ops.Reshape, typed(t.DType, rows*m), nil, x)
		if rows*m > n {
			x = f.step(ops.Slice, typed(t.DType, n), [][]int{{0}, {n}, {1}}, x)
		}
	}
	return f.step(ops.Reshape, t, nil, x)
}

// step carries out an operation on x and others, and frees x.
func (f filler) step(op ops.Op, out ops.Type, attrs [][]int, x ops.ID, others ...ops.Operand) ops.ID {
	id := f.Do(op, out, attrs, append([]ops.Operand{{ID: x}}, others...)...)
	f.Free(x)
	return id
}

func word(x uint32) ops.Operand {
	return ops.Operand{Lit: &ops.Literal{Type: typed(ops.U32), Data: binary.LittleEndian.AppendUint32(nil, x)}}
}

func single(x float32) ops.Operand {
	return ops.Operand{Lit: &ops.Literal{Type: typed(ops.F32), Data: binary.LittleEndian.AppendUint32(nil, math.Float32bits(x))}}
}

// hashes returns n numbers of 32 bits: those from 0 on by the hash function lowbias32.
func (f filler) hashes(n int) ops.ID {
	t := typed(ops.U32, n)
	x := f.Do(ops.Iota, t, [][]int{{-1}})
	for _, c := range []struct{ shift, odd uint32 }{{16, 0x7feb352d}, {15, 0x846ca68b}, {16, 1}} {
		high := f.Do(ops.RightShift, t, nil, ops.Operand{ID: x}, word(c.shift))
		x = f.step(ops.BitwiseXor, t, nil, x, ops.Operand{ID: high})
		f.Free(high)
		if c.odd != 1 {
			x = f.step(ops.Multiply, t, nil, x, word(c.odd))
		}
	}
	return x
}

// elements returns n elements of a type.
func (f filler) elements(p *Param, d ops.DType, n int) ops.ID {
	if d.IsInteger() {
		return f.integers(p, d, n)
	}
	t := typed(ops.F32, n)
	x := f.step(ops.RightShift, typed(ops.U32, n), nil, f.hashes(n), word(8))
	x = f.step(ops.Multiply, t, nil, x, single(1.0/(1<<24))) // in [0, 1)
	switch p.Fill {
	case Uniform:
		x = f.step(ops.Multiply, t, nil, x, single(2))
		x = f.step(ops.Subtract, t, nil, x, single(1))
	case Positive:
		x = f.step(ops.Add, t, nil, x, single(1))
	case Rectified:
		x = f.step(ops.Multiply, t, nil, x, single(2))
		x = f.step(ops.Subtract, t, nil, x, single(1))
		x = f.step(ops.Max, t, nil, x, single(0))
	}
	if d.IsComplex() {
		x = f.step(ops.Multiply, typed(ops.C64, n), nil, x, direction)
	}
	return f.step(ops.AsType, typed(d, n), nil, x)
}

// direction is a complex number of modulus 1.
var direction = ops.Operand{Lit: &ops.Literal{Type: typed(ops.C64),
	Data: binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, math.Float32bits(0.6)), math.Float32bits(0.8))}}

func (f filler) integers(p *Param, d ops.DType, n int) ops.ID {
	t := typed(ops.U32, n)
	x := f.hashes(n)
	switch p.Fill {
	case Indices:
		x = f.step(ops.Remainder, t, nil, x, word(uint32(p.Bound)))
	case Positive:
		x = f.step(ops.BitwiseAnd, t, nil, x, word(7))
		x = f.step(ops.Add, t, nil, x, word(1))
	case Fraction:
		x = f.step(ops.BitwiseAnd, t, nil, x, word(1))
	}
	return f.step(ops.AsType, typed(d, n), nil, x)
}

// matrices returns twice the identity plus random matrices. Their norm is at most 1, nearly,
// if they are symmetric, and less if they are not: so the sum is well conditioned.
func (f filler) matrices(t ops.Type, symmetric bool) ops.ID {
	n, shape := t.Shape[len(t.Shape)-1], typed(ops.F32, t.Shape...)
	x := f.elements(&Param{Fill: Uniform}, ops.F32, t.Size())
	x = f.step(ops.Reshape, shape, nil, x)
	scale := 1 / float32(n)
	if symmetric {
		scale = float32(0.5 / math.Sqrt(float64(n)))
		axes := make([]int, len(t.Shape))
		for i := range axes {
			axes[i] = i
		}
		r := len(axes)
		axes[r-1], axes[r-2] = r-2, r-1
		mirror := f.Do(ops.Transpose, shape, [][]int{axes}, ops.Operand{ID: x})
		x = f.step(ops.Add, shape, nil, x, ops.Operand{ID: mirror})
		f.Free(mirror)
	}
	x = f.step(ops.Multiply, shape, nil, x, single(scale))
	square := typed(ops.F32, n, n)
	eye := f.step(ops.Multiply, square, nil, f.Do(ops.Eye, square, nil), single(2))
	x = f.step(ops.Add, shape, nil, x, ops.Operand{ID: eye})
	f.Free(eye)
	return f.step(ops.AsType, t, nil, x)
}
