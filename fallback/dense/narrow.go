package dense

import (
	"math"
)

// format describes a float of at most 16 bits.
type format struct {
	mantissa int    // stored bits of the significand
	bias     int    // of the exponent
	inf      uint16 // the pattern of infinity, or of the largest finite number where there is none
	nan      uint16
	sign     uint16
	top      uint16 // the largest finite pattern
}

// The narrow floats. The patterns of NaN are those that Nx writes.
var (
	formatF8   = format{2, 15, 0x7C, 0x7E, 0x80, 0x7B}
	formatE4M3 = format{3, 7, 0x7E, 0x7F, 0x80, 0x7E}
	formatBF16 = format{7, 127, 0x7F80, 0x7FC0, 0x8000, 0x7F7F}
	formatF16  = format{10, 15, 0x7C00, 0x7E00, 0x8000, 0x7BFF}
)

// Each of the four formats rounds in a way of its own, which is that of Nx.

// encodeBF16 rounds x to f32 and drops the lower half of its bits.
func encodeBF16(x float64) uint16 {
	if x != x {
		return formatBF16.nan
	}
	return uint16(math.Float32bits(float32(x)) >> 16)
}

// encodeF8 rounds x to f16 and drops the lower half of its bits.
func encodeF8(x float64) uint8 { return uint8(formatF16.encode(x) >> 8) }

// encodeE4M3 rounds the significand of x, halves away from zero. It does not round up to
// the next power of two. A number that is too large becomes the largest one.
func encodeE4M3(x float64) uint8 {
	f := &formatE4M3
	if x != x {
		return uint8(f.nan)
	}
	var sign uint8
	if math.Signbit(x) {
		sign, x = uint8(f.sign), -x
	}
	fraction, e := math.Frexp(min(x, f.decode(f.top)))
	e += f.bias - 1
	if x < 0x1p-6 { // steps of the smallest number
		return sign | uint8(min(7, math.Round(math.Ldexp(x, f.bias-1+f.mantissa))))
	}
	steps := min(7, uint8(math.Round((2*fraction-1)*8)))
	return sign | min(uint8(e)<<f.mantissa|steps, uint8(f.top))
}

// encode rounds x to the nearest number of the format, ties to even. A number that is too
// large becomes infinite.
func (f *format) encode(x float64) uint16 {
	b := math.Float64bits(x)
	var sign uint16
	if b>>63 != 0 {
		sign = f.sign
	}
	b &^= 1 << 63
	switch {
	case b > 0x7FF<<52:
		return f.nan
	case b == 0x7FF<<52:
		return sign | f.inf
	}
	e := int(b>>52) - 1023 + f.bias
	if e <= 0 {
		// A subnormal counts steps of the smallest one; rounding up into
		// the normal numbers gives their first pattern.
		steps := math.RoundToEven(math.Ldexp(math.Float64frombits(b), f.bias-1+f.mantissa))
		return sign | uint16(steps)
	}
	drop := 52 - f.mantissa
	v := uint64(e)<<52 | b&(1<<52-1)
	v += 1<<(drop-1) - 1 + v>>drop&1 // the carry moves into the exponent
	if p := v >> drop; p <= uint64(f.top) {
		return sign | uint16(p)
	}
	return sign | f.inf
}

// decode returns the number that a pattern stands for.
func (f *format) decode(p uint16) float64 {
	sign := 1.0
	if p&f.sign != 0 {
		sign = -1
	}
	p &^= f.sign
	if p > f.top {
		if p == f.inf {
			return math.Inf(int(sign))
		}
		return math.NaN()
	}
	e, m := int(p>>f.mantissa), float64(p&(1<<f.mantissa-1))
	if e == 0 {
		return sign * math.Ldexp(m, 1-f.bias-f.mantissa)
	}
	return sign * math.Ldexp(m+float64(int(1)<<f.mantissa), e-f.bias-f.mantissa)
}

// f8 is decoded by tables, since this happens for every element.
var f8Values, e4m3Values = decodeTable(&formatF8), decodeTable(&formatE4M3)

func decodeTable(f *format) *[256]float64 {
	var t [256]float64
	for i := range t {
		t[i] = f.decode(uint16(i))
	}
	return &t
}

func decodeBF16(p uint16) float64 {
	return float64(math.Float32frombits(uint32(p) << 16))
}

// Constants of f16: the bits of the exponent, the smallest normal number, and the first
// number that rounds to infinity.
const (
	f16Exponent = 0x7C00
	f16Normal   = 0x1p-14
	f16Beyond   = 65520
)

// encodeNormalF16 encodes a number whose magnitude is from f16Normal to f16Beyond. The
// carry of rounding moves into the exponent.
func encodeNormalF16(x float64) uint16 {
	const drop = 52 - 10
	b := math.Float64bits(x)
	v := b&^(1<<63) - (1023-15)<<52
	return uint16(b>>63<<15 | (v+1<<(drop-1)-1+v>>drop&1)>>drop)
}

// encodeSmallF16 encodes a smaller number. It adds a number whose last bit has the value of
// the smallest f16, so that the addition rounds to that bit.
func encodeSmallF16(x float64) uint16 {
	return uint16(math.Float64bits(x)>>63<<15 | math.Float64bits(math.Abs(x)+0x1p28)&0xFFFF)
}

func decodeF16(p uint16) float64 {
	if p&f16Exponent == f16Exponent {
		return formatF16.decode(p)
	}
	return decodeFiniteF16(p)
}

// decodeFiniteF16 moves the exponent in one multiplication, which also makes
// subnormals right.
func decodeFiniteF16(p uint16) float64 {
	const scale = 1 << 112 // 2^(127-15)
	return float64(math.Float32frombits(uint32(p&0x7FFF)<<13|uint32(p&0x8000)<<16) * scale)
}

// The stored forms of narrow floats.
type (
	e5m2 uint8
	e4m3 uint8
	bf16 uint16
	f16  uint16
)

type narrow interface {
	e5m2 | e4m3 | bf16 | f16
}

// decoder returns the function that decodes a stored type.
func decoder[T narrow]() func(T) float64 {
	var t T
	switch any(t).(type) {
	case e5m2:
		return func(p T) float64 { return f8Values[uint8(p)] }
	case e4m3:
		return func(p T) float64 { return e4m3Values[uint8(p)] }
	case bf16:
		return func(p T) float64 { return decodeBF16(uint16(p)) }
	}
	return func(p T) float64 { return decodeF16(uint16(p)) }
}

// encoder returns the function that encodes a stored type of 8 bits.
func encoder[T e5m2 | e4m3]() func(float64) T {
	var t T
	if _, is := any(t).(e5m2); is {
		return func(x float64) T { return T(encodeF8(x)) }
	}
	return func(x float64) T { return T(encodeE4M3(x)) }
}
