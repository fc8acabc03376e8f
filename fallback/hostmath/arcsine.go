package hostmath

import (
	"math"
)

// The arcsine and the arccosine of float64, as fdlibm has them (e_asin.c) but for the
// polynomial: within 0.75 units in the last place.
//
//	asin(s) = s + s³ P(s²),  s <= 1/2
//	asin(x) = π/2 - 2 asin(s),  s = √((1 - x)/2),  x > 1/2
//
// and acos(x) = π/2 - asin(x). The rounding error of a root is added. The case is an index
// that is computed from the bits of x, since branches would be mispredicted.
const (
	// The minimax polynomial of asin(s) for s <= 1/2: relative error 2^-55.7.
	asin3, asin5   = 0x1.5555555555387p-3, 0x1.333333336f8bbp-4
	asin7, asin9   = 0x1.6db6db41d2236p-5, 0x1.f1c72c6dcc3f9p-6
	asin11, asin13 = 0x1.6e89ef6f38324p-6, 0x1.1c6c2850f9af7p-6
	asin15, asin17 = 0x1.c6f8735286e92p-7, 0x1.8ee4e5dd292c5p-7
	asin19, asin21 = 0x1.aab1ae483d4e3p-8, 0x1.40b32804adb0cp-6
	asin23, asin25 = -0x1.0af6b77e2d595p-6, 0x1.05cef6459f88ap-5
)

// arcCase is high + low + factor asin(s), its sign flipped by the bit. root is 1 where
// s is a root, 0 where it is |x|.
type arcCase struct {
	high, low, factor, root float64
	flip                    uint64
}

// arcCases are those of 0 <= x < 1/2, -1/2 < x < 0, x >= 1/2 and x <= -1/2.
type arcCases [4]arcCase

var (
	asinCases = arcCases{
		{factor: 1}, {factor: 1, flip: signBit},
		{halfPi, halfPi2, -2, 1, 0}, {halfPi, halfPi2, -2, 1, signBit},
	}
	acosCases = arcCases{
		{halfPi, halfPi2, -1, 0, 0}, {halfPi, halfPi2, 1, 0, 0},
		{factor: 2, root: 1}, {2 * halfPi, 2 * halfPi2, -2, 1, 0},
	}
)

func Asin(x float64) float64 { return applyOne(AsinEach, x) }
func Acos(x float64) float64 { return applyOne(AcosEach, x) }

func AsinEach(x []float64) { asinCases.each(x) }
func AcosEach(x []float64) { acosCases.each(x) }

func (cases *arcCases) each(xs []float64) {
	for i, v := range xs {
		a := math.Float64bits(v) &^ signBit
		large := (oneBits - 1<<52 - 1 - a) >> 63
		c := &cases[large*2|math.Float64bits(v)>>63]
		if a-1 >= oneBits-1 {
			xs[i] = c.end(v)
			continue
		}
		x := math.Float64frombits(a)
		half := 0.5 - 0.5*x
		root := math.Sqrt(half)
		rHigh := high(root)
		lacks := (half - rHigh*rHigh - (root-rHigh)*(root+rHigh)) * (0.5 / root)
		z, s := pickBits(large, half, x*x), pickBits(large, root, x)
		t := s * c.factor
		sum := c.high + t
		sum += c.high - sum + t + (c.low + c.factor*(c.root*lacks+s*z*arcSeries(z)))
		xs[i] = math.Float64frombits(math.Float64bits(sum) ^ c.flip)
	}
}

// arcSeries is P by Estrin's scheme.
func arcSeries(z float64) float64 {
	z2 := z * z
	z4 := z2 * z2
	low := asin3 + z*asin5 + z2*(asin7+z*asin9)
	mid := asin11 + z*asin13 + z2*(asin15+z*asin17)
	return low + z4*(mid+z4*(asin19+z*asin21+z2*(asin23+z*asin25)))
}

// pickBits is x where which is 1 and y where it is 0.
func pickBits(which uint64, x, y float64) float64 {
	b := math.Float64bits(y)
	return math.Float64frombits(b ^ (b^math.Float64bits(x))&-which)
}

// end returns the result for 0, 1 and -1, and NaN beyond.
func (c *arcCase) end(x float64) float64 {
	if x != 0 && math.Abs(x) != 1 {
		return math.NaN()
	}
	return math.Float64frombits(math.Float64bits(c.high) ^ c.flip)
}
