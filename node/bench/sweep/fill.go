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

// filler makes operands on a device, by operations.
type filler struct {
	*exectest.Driver
	made []ops.ID // values to free
}

// operand returns a new value that is filled as a param says.
func (f *filler) operand(p *Param) (ops.Operand, error) {
	if p.Fill == Literal {
		lit, err := p.literal()
		return ops.Operand{Lit: lit}, err
	}
	t, err := p.of()
	if err != nil {
		return ops.Operand{}, err
	}
	var id ops.ID
	switch p.Fill {
	case Dominant, Symmetric:
		id = f.matrices(t, p.Fill == Symmetric)
	default:
		n := t.Size()
		m := n
		if p.Fill != Indices {
			m = min(n, tile)
		}
		id = f.elements(p, t.DType, m)
		if n > m {
			rows := (n + m - 1) / m
			all := f.do(ops.BroadcastTo, typed(t.DType, rows, m), [][]int{{1}}, f.of(id))
			id = f.do(ops.Reshape, typed(t.DType, rows*m), nil, f.of(all))
			if rows*m > n {
				id = f.do(ops.Slice, typed(t.DType, n), [][]int{{0}, {n}, {1}}, f.of(id))
			}
		}
		id = f.do(ops.Reshape, t, nil, f.of(id))
	}
	kept := f.made[:0]
	for _, m := range f.made {
		if m != id {
			kept = append(kept, m)
		}
	}
	err = f.Err(id)
	f.Free(kept...)
	f.made = f.made[:0]
	return ops.Operand{ID: id}, err
}

func (f *filler) do(op ops.Op, out ops.Type, attrs [][]int, ins ...ops.Operand) ops.ID {
	id := f.Do(op, out, attrs, ins...)
	f.made = append(f.made, id)
	return id
}

func (f *filler) of(id ops.ID) ops.Operand { return ops.Operand{ID: id} }

func word(x uint32) ops.Operand {
	return ops.Operand{Lit: &ops.Literal{Type: typed(ops.U32), Data: binary.LittleEndian.AppendUint32(nil, x)}}
}

func real(x float32) ops.Operand {
	return ops.Operand{Lit: &ops.Literal{Type: typed(ops.F32), Data: binary.LittleEndian.AppendUint32(nil, math.Float32bits(x))}}
}

// hashes returns n numbers of 32 bits: those from 0 on by the hash function lowbias32.
func (f *filler) hashes(n int) ops.ID {
	t := typed(ops.U32, n)
	x := f.do(ops.Iota, t, [][]int{{-1}})
	for i, step := range []struct{ shift, odd uint32 }{{16, 0x7feb352d}, {15, 0x846ca68b}, {16, 1}} {
		high := f.do(ops.RightShift, t, nil, f.of(x), word(step.shift))
		x = f.do(ops.BitwiseXor, t, nil, f.of(x), f.of(high))
		if i < 2 {
			x = f.do(ops.Multiply, t, nil, f.of(x), word(step.odd))
		}
	}
	return x
}

// fractions returns n numbers of f32 in [0, 1).
func (f *filler) fractions(n int) ops.ID {
	high := f.do(ops.RightShift, typed(ops.U32, n), nil, f.of(f.hashes(n)), word(8))
	return f.do(ops.Multiply, typed(ops.F32, n), nil, f.of(high), real(1.0/(1<<24)))
}

// elements returns n elements of a type.
func (f *filler) elements(p *Param, d ops.DType, n int) ops.ID {
	if d.IsInteger() {
		return f.integers(p, d, n)
	}
	t := typed(ops.F32, n)
	x := f.fractions(n)
	switch p.Fill {
	case Uniform:
		x = f.do(ops.Multiply, t, nil, f.of(x), real(2))
		x = f.do(ops.Subtract, t, nil, f.of(x), real(1))
	case Positive:
		x = f.do(ops.Add, t, nil, f.of(x), real(1))
	}
	if d.IsComplex() { // the real part, rotated
		turn := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, math.Float32bits(0.6)), math.Float32bits(0.8))
		c := ops.Operand{Lit: &ops.Literal{Type: typed(ops.C64), Data: turn}}
		x = f.do(ops.Multiply, typed(ops.C64, n), nil, f.of(x), c)
	}
	return f.do(ops.AsType, typed(d, n), nil, f.of(x))
}

func (f *filler) integers(p *Param, d ops.DType, n int) ops.ID {
	t := typed(ops.U32, n)
	x := f.hashes(n)
	switch p.Fill {
	case Indices:
		x = f.do(ops.Remainder, t, nil, f.of(x), word(uint32(p.Bound)))
	case Positive:
		x = f.do(ops.BitwiseAnd, t, nil, f.of(x), word(7))
		x = f.do(ops.Add, t, nil, f.of(x), word(1))
	case Fraction:
		x = f.do(ops.BitwiseAnd, t, nil, f.of(x), word(1))
	}
	return f.do(ops.AsType, typed(d, n), nil, f.of(x))
}

// matrices returns random matrices beside twice the identity, which keeps them well
// conditioned: their random part has a norm of about 1 if they are symmetric, else of less.
func (f *filler) matrices(t ops.Type, symmetric bool) ops.ID {
	n := t.Shape[len(t.Shape)-1]
	single := typed(ops.F32, t.Shape...)
	x := f.elements(&Param{Fill: Uniform}, ops.F32, t.Size())
	x = f.do(ops.Reshape, single, nil, f.of(x))
	scale := 1 / float32(n)
	if symmetric {
		scale = float32(0.5 / math.Sqrt(float64(n)))
		axes := make([]int, len(t.Shape))
		for i := range axes {
			axes[i] = i
		}
		r := len(axes)
		axes[r-1], axes[r-2] = r-2, r-1
		mirror := f.do(ops.Transpose, single, [][]int{axes}, f.of(x))
		x = f.do(ops.Add, single, nil, f.of(x), f.of(mirror))
	}
	x = f.do(ops.Multiply, single, nil, f.of(x), real(scale))
	eye := f.do(ops.Multiply, typed(ops.F32, n, n), nil, f.of(f.do(ops.Eye, typed(ops.F32, n, n), nil)), real(2))
	x = f.do(ops.Add, single, nil, f.of(x), f.of(eye))
	return f.do(ops.AsType, t, nil, f.of(x))
}
