package kernel

import "math"

// PackHalf is scalar.PackHalf: the nearest f16, ties to even.
func PackHalf(x float32) uint16 {
	sign, a := uint16(math.Float32bits(x)>>16&0x8000), math.Abs(float64(x))
	switch {
	case x != x:
		return 0x7e00
	case a >= 65520:
		return sign | 0x7c00
	case a < 0x1p-14:
		return sign | uint16(math.RoundToEven(a*0x1p24))
	}
	bits := math.Float32bits(float32(a))
	bits += 0xfff + bits>>13&1
	return sign | uint16(bits>>13-112<<10)
}

// UnpackHalf is scalar.UnpackHalf.
func UnpackHalf(h uint16) float32 {
	sign, exponent, fraction := uint32(h&0x8000)<<16, uint32(h>>10&31), uint32(h&1023)
	switch exponent {
	case 0:
		return float32(math.Copysign(float64(fraction)*0x1p-24, 1-float64(sign>>30)))
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}
