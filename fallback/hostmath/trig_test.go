package hostmath

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
)

func longNumber(x float64) *big.Float { return new(big.Float).SetPrec(1400).SetFloat64(x) }

// bigSinCos is the sine and the cosine of x with some 280 bits, or 280 behind the
// point: the series at the distance of x from the nearest multiple of π/2.
func bigSinCos(x float64) (sin, cos *big.Float) {
	unit := new(big.Int).Lsh(big.NewInt(1), angleBits)
	halfPi := longNumber(0).SetInt(quarter())
	halfPi.Quo(halfPi, longNumber(0).SetInt(unit))
	turns, _ := longNumber(0).Add(longNumber(0).Quo(longNumber(math.Abs(x)), halfPi), longNumber(0.5)).Int(nil)
	r := longNumber(math.Abs(x))
	r.Sub(r, halfPi.Mul(halfPi, longNumber(0).SetInt(turns))).SetPrec(300)
	sin, cos = new(big.Float).SetPrec(300), new(big.Float).SetPrec(300)
	term := new(big.Float).SetPrec(300).SetInt64(1)
	for n := int64(0); n < 64; n++ {
		sum := []*big.Float{cos, sin}[n%2]
		if n%4 < 2 {
			sum.Add(sum, term)
		} else {
			sum.Sub(sum, term)
		}
		term.Mul(term, r).Quo(term, new(big.Float).SetInt64(n+1))
	}
	switch turns.Mod(turns, big.NewInt(4)).Int64() {
	case 1:
		sin, cos = cos, sin.Neg(sin)
	case 2:
		sin.Neg(sin)
		cos.Neg(cos)
	case 3:
		sin, cos = cos.Neg(cos), sin
	}
	if x < 0 {
		sin.Neg(sin)
	}
	return sin, cos
}

// bigArc is the angle of the direction x, y that is next to near: what is left of a
// turn by near is so small that its tangent is it.
func bigArc(near float64, y, x *big.Float) *big.Float {
	number := func() *big.Float { return new(big.Float).SetPrec(300) }
	s, c := bigSinCos(near)
	over := number().Sub(number().Mul(y, c), number().Mul(x, s))
	along := number().Add(number().Mul(x, c), number().Mul(y, s))
	return over.Add(number().Quo(over, along), number().SetFloat64(near))
}

// bigLeg is the square root of 1 - x².
func bigLeg(x float64) *big.Float {
	leg := new(big.Float).SetPrec(300).SetFloat64(x)
	leg.Sub(new(big.Float).SetInt64(1), leg.Mul(leg, leg))
	return leg.Sqrt(leg)
}

// everyScale is a number of either sign whose exponent is from low to high.
func everyScale(r *rand.Rand, low, high float64) float64 {
	return math.Copysign(math.Exp2(low+(high-low)*r.Float64()), r.Float64()-0.5)
}

// angles are of every scale, and close to multiples of π/2 and to steps of the table.
func angles() []float64 {
	xs := []float64{0x1p-1074, 0x1p-1022, 1e-300, 0x1p-538, 0x1p-27, 1e22, math.MaxFloat64, 6381956970095103 * 0x1p797}
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		xs = append(xs, everyScale(r, -60, 20), everyScale(r, -8, 4), everyScale(r, -1060, 1023))
		near := float64(r.IntN(1<<r.IntN(22))) * math.Pi / 2
		xs = append(xs, near, math.Nextafter(near, 9), near+everyScale(r, -60, -5))
		step := float64(r.IntN(1024)) * math.Pi / sineSteps
		xs = append(xs, step, step+math.Pi/sineSteps/2+everyScale(r, -60, -20))
	}
	return xs
}

// withinUnits checks a function alone and in its loop.
func withinUnits(t *testing.T, op ops.Op, xs []float64, most float64, exact func(x, near float64) *big.Float) {
	t.Helper()
	worst := 0.0
	for _, x := range xs {
		got := own[op].one(x)
		if each := own[op].each; each != nil {
			loop := []float64{x}
			if each(loop); math.Float64bits(loop[0]) != math.Float64bits(got) {
				t.Fatalf("%v(%v) is %v alone and %v in a loop", op, x, got, loop[0])
			}
		}
		u := unitsOff(got, exact(x, got))
		if worst = max(worst, u); !(u <= most) {
			t.Errorf("%v(%v) = %v is %.3f units off", op, x, got, u)
		}
	}
	t.Logf("%v: at most %.3f units off", op, worst)
}

func TestTrig(t *testing.T) {
	xs := angles()
	withinUnits(t, ops.Sin, xs, 0.54, func(x, _ float64) *big.Float { s, _ := bigSinCos(x); return s })
	withinUnits(t, ops.Cos, xs, 0.54, func(x, _ float64) *big.Float { _, c := bigSinCos(x); return c })
	withinUnits(t, ops.Tan, xs, 0.54, func(x, _ float64) *big.Float { s, c := bigSinCos(x); return s.Quo(s, c) })
}

func TestArcs(t *testing.T) {
	var all, ones []float64
	r := rand.New(rand.NewPCG(7, 7))
	for range 1000 {
		all = append(all, everyScale(r, -1060, 1023), everyScale(r, -8, 8), everyScale(r, -1, 1))
		ones = append(ones, everyScale(r, -1060, 0), everyScale(r, -3, 0), everyScale(r, -1.1, -0.9),
			math.Copysign(1-everyScale(r, -53, -1), r.Float64()-0.5))
	}
	inside := ones[:0]
	for _, x := range append(ones, 0x1p-1074, 0.5, -0.5, math.Nextafter(0.5, 0), math.Nextafter(1, 0)) {
		if math.Abs(x) <= 1 {
			inside = append(inside, x)
		}
	}
	withinUnits(t, ops.Atan, all, 0.55, func(x, near float64) *big.Float { return bigArc(near, longNumber(x), longNumber(1)) })
	withinUnits(t, ops.Asin, inside, 0.75, func(x, near float64) *big.Float { return bigArc(near, longNumber(x), bigLeg(x)) })
	withinUnits(t, ops.Acos, inside, 0.75, func(x, near float64) *big.Float { return bigArc(near, bigLeg(x), longNumber(x)) })
}

// Quotients that are no normal numbers are rounded once.
func TestAtanOfTwo(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	worst := 0.0
	for range 1200 {
		y, x := everyScale(r, -1074, 1023), everyScale(r, -1074, 1023)
		for _, p := range [][2]float64{{y, x}, {y, y * everyScale(r, -70, 70)}, {y, y * everyScale(r, -4, 4)}, {everyScale(r, -3, 3), everyScale(r, -3, 3)}} {
			if math.IsInf(p[1], 0) {
				continue
			}
			got := Atan2(p[0], p[1])
			u := unitsOff(got, bigArc(got, longNumber(p[0]), longNumber(p[1])))
			if worst = max(worst, u); !(u <= 0.55) {
				t.Errorf("atan2(%v, %v) = %v is %.3f units off", p[0], p[1], got, u)
			}
		}
	}
	t.Logf("at most %.3f units off", worst)
}

// Zeros keep their sign, infinities have their limits, and what has no angle is NaN.
func TestTrigEnds(t *testing.T) {
	zero := math.Copysign(0, -1)
	for op, cases := range map[ops.Op][][2]float64{
		ops.Sin:   {{0, 0}, {zero, zero}, {infinity, nan}, {-infinity, nan}, {nan, nan}},
		ops.Cos:   {{0, 1}, {zero, 1}, {infinity, nan}, {-infinity, nan}, {nan, nan}},
		ops.Tan:   {{0, 0}, {zero, zero}, {infinity, nan}, {-infinity, nan}, {nan, nan}},
		ops.Atan:  {{0, 0}, {zero, zero}, {infinity, math.Pi / 2}, {-infinity, -math.Pi / 2}, {nan, nan}, {math.MaxFloat64, math.Pi / 2}},
		ops.Asin:  {{0, 0}, {zero, zero}, {1, math.Pi / 2}, {-1, -math.Pi / 2}, {math.Nextafter(1, 2), nan}, {-2, nan}, {infinity, nan}, {-infinity, nan}, {nan, nan}},
		ops.Acos:  {{0, math.Pi / 2}, {zero, math.Pi / 2}, {1, 0}, {-1, math.Pi}, {math.Nextafter(1, 2), nan}, {-2, nan}, {infinity, nan}, {-infinity, nan}, {nan, nan}},
		ops.Phase: {{0, 0}, {zero, math.Pi}, {3, 0}, {-3, math.Pi}, {infinity, 0}, {-infinity, math.Pi}, {nan, nan}},
	} {
		for _, c := range cases {
			if got := own[op].one(c[0]); !same(got, c[1]) {
				t.Errorf("%v(%v) = %v, want %v", op, c[0], got, c[1])
			}
			got := []float64{c[0]}
			if each := own[op].each; each == nil {
				continue
			} else if each(got); !same(got[0], c[1]) {
				t.Errorf("%v(%v) = %v in a loop, want %v", op, c[0], got[0], c[1])
			}
		}
	}
}

// same tells the signs of zeros apart, and holds for any two NaN.
func same(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
}

// Where the quotient is zero, infinite or NaN, atan2 is that of package math.
func TestAtanOfTwoEnds(t *testing.T) {
	ends := []float64{0, 1, 3, 0x1p-1074, math.MaxFloat64, infinity, nan}
	for _, x := range ends {
		ends = append(ends, -x, math.Copysign(x, -1))
	}
	for _, y := range ends {
		for _, x := range ends {
			if q := y / x; q != 0 && q-q == 0 {
				continue
			}
			if got, want := Atan2(y, x), math.Copysign(math.Atan2(y, x), y); !same(got, want) {
				t.Errorf("atan2(%v, %v) = %v, want %v", y, x, got, want)
			}
		}
	}
}
