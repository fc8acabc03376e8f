package codegen

import (
	"math/bits"

	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// ForUnits runs f for the units of work of this invocation: at most steps of them, a workgroup
// apart.
func (e *Emitter) ForUnits(units kernel.Value, steps int, f func(u kernel.Value)) {
	first := e.Add(e.Mul(e.Group(), e.Index(e.Local*steps)), e.Invocation())
	e.Loop(e.Index(0), e.Index(steps), e.Index(1), nil, func(i kernel.Value, _ []kernel.Value) []kernel.Value {
		u := e.Add(first, e.Mul(i, e.Index(e.Local)))
		e.If(e.Compare(scalar.Lt, u, units), func() []kernel.Value {
			f(u)
			return nil
		}, nil)
		return nil
	})
}

// Coordinates splits an index into coordinates; sizes are those of all dimensions except the first.
func (e *Emitter) Coordinates(i kernel.Value, sizes []kernel.Value) []kernel.Value {
	at := make([]kernel.Value, len(sizes)+1)
	for d := len(sizes); d > 0; d-- {
		i, at[d] = e.DivMod(i, sizes[d-1])
	}
	at[0] = i
	return at
}

// DivMod is the quotient and the remainder of two unsigned integers.
func (e *Emitter) DivMod(x, by kernel.Value) (quotient, rest kernel.Value) {
	q := e.Div(x, by)
	return q, e.Sub(x, e.Mul(q, by))
}

// Clamp is an integer of any type, clamped to [0, limit], as an index.
func (e *Emitter) Clamp(x, limit kernel.Value) kernel.Value {
	t := e.Type(x)
	if kernel.IsSigned(t) {
		zero := e.Int(t, 0)
		x = e.Select(e.Compare(scalar.Lt, x, zero), zero, x)
	}
	if !kernel.Is64(t) { // as unsigned numbers, which a limit of 64 bits takes
		x = e.Bitcast(x, scalar.U32)
		if e.IndexType == scalar.U64 {
			x = e.Convert(x, scalar.U64)
		}
	} else {
		x, limit = e.Bitcast(x, scalar.U64), e.Convert(limit, scalar.U64)
	}
	return e.Convert(e.Select(e.Compare(scalar.Lt, x, limit), x, limit), e.IndexType)
}

// Outside reports whether an integer of any type is not in [0, limit].
func (e *Emitter) Outside(x, limit kernel.Value) kernel.Value {
	t := e.Type(x)
	if kernel.Is64(t) {
		return e.IsLess(e.Convert(limit, scalar.U64), e.Bitcast(x, scalar.U64))
	}
	above := e.Bitcast(x, scalar.U32)
	if e.IndexType == scalar.U64 {
		above = e.Convert(above, scalar.U64)
	}
	if !kernel.IsSigned(t) || e.IndexType == scalar.U32 { // a negative one is above all limits of 31 bits
		return e.IsLess(limit, above)
	}
	return e.Or2(e.IsLess(x, e.Int(t, 0)), e.IsLess(limit, above))
}

// CheckBuffer is the word of check i of a plan.
func CheckBuffer(i int) Buffer {
	return Buffer{Ref: lowering.Ref{Kind: lowering.CheckWord, Index: i}, Elem: kernel.U32, Access: lowering.Write, Bytes: 4}
}

// Fail sets the word of a check. Invocations that fail it at the same time write the same value.
func (e *Emitter) Fail(buf int, failed kernel.Value) {
	e.IfThen(failed, func() { e.Store(buf, e.Index(0), e.Int(scalar.U32, 1)) })
}

// Offsets splits an index into coordinates and sums them times strides.
func (e *Emitter) Offsets(i kernel.Value, dims, strides []kernel.Value) kernel.Value {
	at := e.Index(0)
	for d := len(dims) - 1; d > 0; d-- {
		var c kernel.Value
		i, c = e.DivMod(i, dims[d])
		at = e.Add(at, e.Mul(c, strides[d]))
	}
	return e.Add(at, e.Mul(i, strides[0]))
}

// Log2 is the exponent of the smallest power of two that is at least n.
func Log2(n int) int { return bits.Len(uint(n - 1)) }
