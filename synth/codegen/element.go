package codegen

import (
	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// EncodeInteger encodes an integer or a truth value as an element of a type.
func (e *Emitter) EncodeInteger(d ops.DType, x kernel.Value) []kernel.Value {
	return e.EncodeParts(d, e.Complete([]kernel.Value{e.Convert(x, WideType(d))}, d))
}

// PartsOf is the number of values that represent an element: two if it is complex.
func PartsOf(d ops.DType) int {
	if d.IsComplex() {
		return 2
	}
	return 1
}

// WideType is the scalar type in which elements of a type, or their parts, compute.
func WideType(d ops.DType) scalar.Type { return lowering.ElemOf[d.Wide()].Type() }

// CheckReal returns an error for complex types. Lowerings without kernels for complex numbers
// call it.
func CheckReal(types ...ops.DType) error {
	for _, d := range types {
		if d.IsComplex() {
			return lowering.Unsupported("%v", d)
		}
	}
	return nil
}

// format is a narrow float: the position of the sign in the stored word, the
// bits of the mantissa and the bias of the exponent.
type format struct {
	Bits, Mantissa, Bias int
	Infinities           bool
}

var Formats = map[ops.DType]format{
	ops.F8:     {8, 2, 15, true},
	ops.F8E4M3: {8, 3, 7, false},
	ops.F16:    {16, 10, 15, true},
	ops.BF16:   {16, 7, 127, true},
}

// Decode converts a loaded element to the type in which it is computed.
func (e *Emitter) Decode(d ops.DType, x kernel.Value) kernel.Value {
	f, ok := Formats[d]
	switch {
	case !ok:
		return x
	case d == ops.BF16:
		return e.Bitcast(e.Shl(x, 16), scalar.F32)
	case d == ops.F16 && e.Target.Halves:
		return e.Prim(scalar.UnpackHalf, scalar.F32, x)
	}
	sign := e.Shl(e.And(x, 1<<(f.Bits-1)), 32-f.Bits)
	mag := e.And(x, 1<<(f.Bits-1)-1)
	if e.Target.Subnormals {
		return e.Bitcast(e.Or(e.scaled(f, mag), sign), scalar.F32)
	}
	bits := e.Add(e.Shl(mag, 23-f.Mantissa), e.Int(scalar.U32, (127-f.Bias)<<23))
	if f.Infinities {
		over := e.Int(scalar.U32, (1<<(f.Bits-1-f.Mantissa)-1)<<f.Mantissa)
		top := e.Add(bits, e.Int(scalar.U32, (127-f.Bias)<<23))
		bits = e.Select(e.Compare(scalar.Le, over, mag), top, bits)
	} else {
		isNaN := e.Compare(scalar.Eq, mag, e.Int(scalar.U32, 1<<(f.Bits-1)-1))
		bits = e.Select(isNaN, e.Int(scalar.U32, 0x7fc00000), bits)
	}
	// Below the least normal number the value is the mantissa times a power
	// of two, which is a normal number of f32.
	small := e.Prim(scalar.Mul, scalar.F32, e.Convert(mag, scalar.F32), e.pow2(1-f.Bias-f.Mantissa))
	least := e.Int(scalar.U32, 1<<f.Mantissa)
	bits = e.Select(e.Compare(scalar.Lt, mag, least), e.Bitcast(small, scalar.U32), bits)
	return e.Bitcast(e.Or(bits, sign), scalar.F32)
}

// scaled decodes the bits of a magnitude on a device that keeps subnormals. As an f32, the bits
// are the value times a power of two, also below the least normal number.
func (e *Emitter) scaled(f format, mag kernel.Value) kernel.Value {
	raw := e.Shl(mag, 23-f.Mantissa)
	bits := e.Bitcast(e.Prim(scalar.Mul, scalar.F32, e.Bitcast(raw, scalar.F32), e.pow2(127-f.Bias)), scalar.U32)
	if f.Infinities {
		over := e.Int(scalar.U32, (1<<(f.Bits-1-f.Mantissa)-1)<<f.Mantissa)
		return e.Select(e.Compare(scalar.Le, over, mag), e.Or(raw, e.Int(scalar.U32, 0x7f800000)), bits)
	}
	isNaN := e.Compare(scalar.Eq, mag, e.Int(scalar.U32, 1<<(f.Bits-1)-1))
	return e.Select(isNaN, e.Int(scalar.U32, 0x7fc00000), bits)
}

// pow2 is the constant 2^n of f32, for n of normal numbers.
func (e *Emitter) pow2(n int) kernel.Value {
	return e.Const(scalar.F32, uint64(n+127)<<23)
}

// Encode converts a computed value to the stored form of an element of type d, as Nx does:
// integers wrap, every NaN is the same one, f16 rounds to nearest even, f8 and bf16 drop the
// lower half of f16 and of f32, and f8_e4m3fn rounds halves away from zero within a power of two.
func (e *Emitter) Encode(d ops.DType, x kernel.Value) kernel.Value {
	switch d {
	case ops.U2:
		return e.And(x, 3)
	case ops.U4:
		return e.And(x, 15)
	case ops.S2:
		return e.Shr(e.Shl(x, 30), 30)
	case ops.S4:
		return e.Shr(e.Shl(x, 28), 28)
	case ops.F32, ops.F64:
		return e.quiet(x)
	case ops.F8:
		return e.Shr(e.Encode(ops.F16, x), 8)
	}
	f, ok := Formats[d]
	switch {
	case !ok:
		return x
	case d == ops.F16 && e.Target.Halves:
		isNumber := e.Compare(scalar.Eq, x, x)
		return e.Select(isNumber, e.Prim(scalar.PackHalf, scalar.U32, x), e.Int(scalar.U32, 0x7e00))
	}
	if d == ops.BF16 {
		return e.Shr(e.Select(e.isNaN(x), e.Int(scalar.U32, 0x7fc00000), e.Bitcast(x, scalar.U32)), 16)
	}
	bits := e.Bitcast(x, scalar.U32)
	mag := e.And(bits, 1<<31-1)
	isNaN := e.Compare(scalar.Lt, e.Int(scalar.U32, 0x7f800000), mag)
	sign := e.And(e.Shr(bits, 32-f.Bits), 1<<(f.Bits-1))
	out := e.round(d, f, mag)
	inf := e.Int(scalar.U32, (1<<(f.Bits-1-f.Mantissa)-1)<<f.Mantissa)
	nan := e.Int(scalar.U32, (1<<(f.Bits-1-f.Mantissa)-1)<<f.Mantissa|1<<(f.Mantissa-1))
	if !f.Infinities {
		inf, nan = e.Int(scalar.U32, 1<<(f.Bits-1)-2), e.Int(scalar.U32, 1<<(f.Bits-1)-1)
	}
	out = e.Or(e.Select(e.Compare(scalar.Lt, inf, out), inf, out), sign)
	return e.Select(isNaN, nan, out)
}

// isNaN reports whether an F32 is a NaN: by its bits where the device is free to assume that there are none.
func (e *Emitter) isNaN(x kernel.Value) kernel.Value {
	if e.Target.Preserve32 {
		return e.Compare(scalar.Ne, x, x)
	}
	mag := e.And(e.Bitcast(x, scalar.U32), 1<<31-1)
	return e.Compare(scalar.Lt, e.Int(scalar.U32, 0x7f800000), mag)
}

// quiet replaces every NaN by the one that Nx writes.
func (e *Emitter) quiet(x kernel.Value) kernel.Value {
	nan := uint64(0x7fc00000)
	if e.Type(x) == scalar.F64 {
		nan = 0x7ff8 << 48
	}
	return e.Select(e.Compare(scalar.Eq, x, x), x, e.Const(e.Type(x), nan))
}

// PositiveZero replaces -0 by 0. A sum that begins with 0 is never -0, but lavapipe drops the addition of a
// constant 0, which a short loop begins with once it is written out.
func (e *Emitter) PositiveZero(x kernel.Value) kernel.Value {
	zero := e.Const(e.Type(x), 0)
	return e.Select(e.Compare(scalar.Eq, x, zero), zero, x)
}

// round rounds the bits of a magnitude in f32 to the exponent and mantissa of a format. A
// magnitude that is too large becomes larger than all numbers of the format.
func (e *Emitter) round(d ops.DType, f format, mag kernel.Value) kernel.Value {
	if d == ops.F8E4M3 {
		return e.roundAway(f, mag)
	}
	return e.roundEven(f, mag)
}

// roundEven rounds to nearest, ties to even. Below the least normal number it adds a power of
// two, so that the last place of the sum is the smallest number of the format.
func (e *Emitter) roundEven(f format, mag kernel.Value) kernel.Value {
	shift := 23 - f.Mantissa
	odd := e.And(e.Shr(mag, shift), 1)
	up := e.Add(e.Add(mag, e.Int(scalar.U32, 1<<(shift-1)-1)), odd)
	out := e.Sub(e.Shr(up, shift), e.Int(scalar.U32, (127-f.Bias)<<f.Mantissa))
	unit := e.pow2(24 - f.Bias - f.Mantissa)
	sum := e.Prim(scalar.Add, scalar.F32, e.Bitcast(mag, scalar.F32), unit)
	whole := e.Sub(e.Bitcast(sum, scalar.U32), e.Bitcast(unit, scalar.U32))
	return e.Select(e.small(f, mag), whole, out)
}

// roundAway rounds to nearest, ties away from zero, but not up to the next power of
// two, nor from the subnormal numbers up to the least normal one.
func (e *Emitter) roundAway(f format, mag kernel.Value) kernel.Value {
	shift, most := 23-f.Mantissa, e.Int(scalar.U32, 1<<f.Mantissa-1)
	least := func(x, y kernel.Value) kernel.Value { return e.Select(e.Compare(scalar.Lt, y, x), y, x) }
	up := e.Shr(e.Add(mag, e.Int(scalar.U32, 1<<(shift-1))), shift)
	out := e.Sub(least(up, e.Or(e.Shr(mag, shift), most)), e.Int(scalar.U32, (127-f.Bias)<<f.Mantissa))
	small, scaled := e.steps(f, mag)
	whole := e.Convert(scaled, scalar.U32)
	rest := e.Prim(scalar.Sub, scalar.F32, scaled, e.Convert(whole, scalar.F32))
	half := e.Compare(scalar.Le, e.Float(scalar.F32, 0.5), rest)
	whole = least(e.Select(half, e.Add(whole, e.Int(scalar.U32, 1)), whole), most)
	return e.Select(small, whole, out)
}

// steps reports whether a magnitude is below the least normal number of a format. If so, scaled
// is the magnitude as a multiple of the format's smallest number.
func (e *Emitter) steps(f format, mag kernel.Value) (small, scaled kernel.Value) {
	scaled = e.Prim(scalar.Mul, scalar.F32, e.Bitcast(mag, scalar.F32), e.pow2(f.Bias+f.Mantissa-1))
	small = e.small(f, mag)
	// The conversion is defined for numbers in range alone.
	return small, e.Select(small, scaled, e.Float(scalar.F32, 0))
}

// small reports whether a magnitude is below the least normal number of a format.
func (e *Emitter) small(f format, mag kernel.Value) kernel.Value {
	return e.Compare(scalar.Lt, mag, e.Int(scalar.U32, (128-f.Bias)<<23))
}

// RoundTrip rounds a result as storing and loading it would.
func (e *Emitter) RoundTrip(d, from ops.DType, x kernel.Value) kernel.Value {
	if d == from {
		return x
	}
	x = e.Cast(x, from, d)
	if d == ops.F16 {
		x = e.RoundHalf(x)
	}
	x = e.Encode(d, x)
	if elem := lowering.ElemOf[d]; d.IsInteger() && elem.Size() < 4 {
		return e.widen(elem, x)
	}
	return x
}

// Settle gives what storing the parts of a computed element and loading them again gives, but for the bits of a NaN.
// stored is their form in memory, or nil where the values do not depend on it: then EncodeParts gives it.
func (e *Emitter) Settle(d ops.DType, xs []kernel.Value) (values, stored []kernel.Value) {
	switch {
	case lowering.ElemOf[d].Size() >= 4:
		return xs, nil
	case d == ops.BF16 && e.KeepsNaN(xs[0]):
		return []kernel.Value{e.Bitcast(e.And(e.Bitcast(xs[0], scalar.U32), 0xffff0000), scalar.F32)}, nil
	}
	stored = e.EncodeParts(d, xs)
	if d == ops.F16 { // of the two, drivers drop what is not used
		return []kernel.Value{e.RoundHalf(xs[0])}, stored
	}
	return e.DecodeStored(d, stored), stored
}

// RoundHalf rounds an f32 to f16 without encoding it. Where the device does not, it adds a power of
// two, so that the last place of the sum is the last place of the f16, and takes it away again. An
// f16 that is packed and unpacked in one kernel is no way: NVIDIA's driver takes it for the f32 that
// it was before.
func (e *Emitter) RoundHalf(x kernel.Value) kernel.Value {
	if e.Target.RoundHalf {
		return e.Prim(scalar.RoundHalf, scalar.F32, x)
	}
	f := Formats[ops.F16]
	shift := uint64(23 - f.Mantissa)
	bits := e.Bitcast(x, scalar.U32)
	mag := e.And(bits, 1<<31-1)
	sign := e.Prim(scalar.Xor, scalar.U32, bits, mag)
	least := e.Const(scalar.U32, uint64(128-f.Bias)<<23) // the least normal number
	power := e.And(mag, 0xff<<23)
	power = e.Select(e.Compare(scalar.Lt, power, least), least, power)
	unit := e.Bitcast(e.Add(power, e.Const(scalar.U32, shift<<23)), scalar.F32)
	sum := e.Prim(scalar.Add, scalar.F32, e.Bitcast(mag, scalar.F32), unit)
	out := e.Bitcast(e.Prim(scalar.Sub, scalar.F32, sum, unit), scalar.U32)
	over := e.Const(scalar.U32, 0x477ff000) // 65520, which is half way to 2^16
	inf := e.Const(scalar.U32, 0x7f800000)
	out = e.Or(e.Select(e.Compare(scalar.Lt, mag, over), out, inf), sign)
	isNaN := e.Compare(scalar.Lt, inf, mag)
	return e.Bitcast(e.Select(isNaN, e.Const(scalar.U32, 0x7fc00000), out), scalar.F32)
}

// DecodeStored decodes an element in its stored form.
func (e *Emitter) DecodeStored(d ops.DType, stored []kernel.Value) []kernel.Value {
	if elem := lowering.ElemOf[d]; d.IsInteger() && d.Bits() >= 8 && elem.Size() < 4 {
		return []kernel.Value{e.widen(elem, stored[0])}
	}
	return e.DecodeParts(d, stored)
}

// Read converts a value that a source loaded to an element of type as.
func (e *Emitter) Read(s *Source, from, as ops.DType, x kernel.Value) kernel.Value {
	if s.Kind == FromLiteral {
		return x // converted before it came
	}
	return e.Cast(e.Decode(from, x), from, as)
}
