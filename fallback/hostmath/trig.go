package hostmath

import (
	"math"
	"math/big"
)

// Sine, cosine and tangent of float64 by a table of the sine and a short series, after
// Tang (Table-Lookup Algorithms for Elementary Functions and Their Error Analysis,
// 1991). With S and C the sine and the cosine of the nearest multiple of π/256, and r the rest
// of the angle,
//
//	sin(x) = (S + r) + (C-1) r + C (sin(r) - r) + S (cos(r) - 1),  |r| <= π/512
//
// where S + r is summed exactly; the other terms are small, also where S is small. The cosine is
// the sine of an angle a quarter turn further. There are no branches but rare ones, and results
// are within 0.54 units in the last place.
const (
	sineSteps = 256 // of half a turn
	perStep   = 0x1.45f306dc9c883p+6
	sineStep  = 0x1.921fb544p-7 // π/256 in 31 bits: up to 2^22 times it is exact
	sineStep2 = 0x1.0b4611a626331p-41

	wholeShift = 0x1.8p52 // x + wholeShift has the integer nearest to x in its low bits

	// farAngle is the least ratio of the squares of rest and angle for which sineStep2 has
	// enough digits. No angle beyond 2^15 reaches it.
	farAngle = 0x1p-45

	// The minimax polynomials of sin(r), cos(r) and tan(r) for |r| <= π/512: relative errors
	// 2^-61, 2^-58 and 2^-70.
	sin3, sin5       = -0x1.5555555554447p-3, 0x1.1110faba9d5e7p-7
	cos2, cos4       = -0x1.fffffffffc44fp-2, 0x1.55552e3e0b4e4p-5
	tan3, tan5, tan7 = 0x1.5555555555559p-2, 0x1.1111110fe160dp-3, 0x1.ba1ef2f1b74d4p-5
)

// Steps from the start of the table to the angles 0 and π/2.
const (
	sinStart = sineSteps / 2
	cosStart = sineSteps
)

// sinePoint is a step: its sine in two parts, and its cosine, which is not negative,
// less 1.
type sinePoint struct{ sin, sinLow, cosLess1 float64 }

// sineTable has the steps from -π/2 to π/2, without the last.
var sineTable = makeSineTable()

// makeSineTable halves a right angle down to a step, and turns by steps.
func makeSineTable() (table [sineSteps]sinePoint) {
	number := func() *big.Float { return new(big.Float).SetPrec(200) }
	one, stepCos := number().SetInt64(1), number()
	for n := 2; n < sineSteps; n *= 2 {
		stepCos.Add(stepCos, one)
		stepCos.Sqrt(stepCos.Quo(stepCos, number().SetInt64(2)))
	}
	stepSin := number().Mul(stepCos, stepCos)
	stepSin.Sqrt(stepSin.Sub(one, stepSin))
	s, c := number(), number().SetInt64(1)
	for i := range sinStart {
		high, low := twoParts(s)
		cosLess1, _ := number().Sub(c, one).Float64()
		table[sinStart+i] = sinePoint{high, low, cosLess1}
		table[sinStart-i] = sinePoint{-high, -low, cosLess1}
		next := number().Add(number().Mul(s, stepCos), number().Mul(c, stepSin))
		c.Sub(number().Mul(c, stepCos), number().Mul(s, stepSin))
		s = next
	}
	table[0] = sinePoint{-1, 0, -1}
	return table
}

// twoParts returns the float64 nearest to x, and the one nearest to the rest.
func twoParts(x *big.Float) (high, low float64) {
	high, _ = x.Float64()
	low, _ = new(big.Float).Sub(x, new(big.Float).SetFloat64(high)).Float64()
	return high, low
}

// toStep returns the step nearest to x, in the last bits of k, and the rest of the angle in two
// parts. It is good unless isFar holds.
func toStep(x float64) (k uint64, r, low float64) {
	z := x*perStep + wholeShift
	k = math.Float64bits(z)
	z -= wholeShift
	a := x - z*sineStep // exact
	b := z * sineStep2
	r = a - b
	return k, r, (a - r) - b
}

// isFar reports whether toStep is not good for x, as for 0, NaN and large numbers.
func isFar(x, r float64) bool { return !(r*r > x*x*farAngle) }

// toStepFar is toStep for all angles.
func toStepFar(x float64) (k uint64, r, low float64) {
	quadrant, y, yLow := reduceAngle(x)
	k, r, low = toStep(y)
	left := quickSum(r, low+yLow)
	return uint64(quadrant)*(sineSteps/2) + k, left.hi, left.lo
}

// at is the sine of the angle r + low after the step.
func (p *sinePoint) at(r, low float64) float64 {
	r2 := r * r
	s := r2 * r * (sin3 + r2*sin5)
	sum := p.sin + r
	return sum + (p.sin - sum + r + (p.sinLow + low) + (s + p.cosLess1*(r+s) + p.sin*(r2*(cos2+r2*cos4))))
}

// flip changes the sign of x where a is odd.
func flip(x float64, a uint64) float64 { return math.Float64frombits(math.Float64bits(x) ^ a<<63) }

// sinesFrom replaces each element by its sine, with steps counted from start.
func sinesFrom(x []float64, start uint64) {
	for i, v := range x {
		k, r, low := toStep(v)
		if isFar(v, r) {
			x[i] = sineFar(v, start)
			continue
		}
		k += start
		x[i] = flip(sineTable[k%sineSteps].at(r, low), k/sineSteps)
	}
}

func sineFar(x float64, start uint64) float64 {
	if x == 0 && start == sinStart {
		return x
	}
	k, r, low := toStepFar(x)
	k += start
	return flip(sineTable[k%sineSteps].at(r, low), k/sineSteps)
}

func SinEach(x []float64) { sinesFrom(x, sinStart) }
func CosEach(x []float64) { sinesFrom(x, cosStart) }

func Sin(x float64) float64 { return applyOne(SinEach, x) }
func Cos(x float64) float64 { return applyOne(CosEach, x) }

// leg is S + C tan(r + low), which is the sine over cos(r + low), with t = tan(r) - r. Its second
// part may be as large as r.
func (p *sinePoint) leg(r, low, t float64) double {
	sum := p.sin + r
	return double{sum, p.sin - sum + r + (p.sinLow + low) + (t + p.cosLess1*(r+t))}
}

// over is the quotient of two legs. Its first part has so few digits that products
// with it are exact.
func (a double) over(b double) float64 {
	inverse, top := 1/(b.hi+b.lo), float64(float32(b.hi))
	q := float64(float32((a.hi + a.lo) * inverse))
	return q + (a.hi-q*top-q*(b.hi-top)+(a.lo-q*b.lo))*inverse
}

// tanAt is the tangent of the angle r + low after step k.
func tanAt(k uint64, r, low float64) float64 {
	r2 := r * r
	t := r2 * r * (tan3 + r2*(tan5+r2*tan7))
	s, c := k+sinStart, k+cosStart
	y := sineTable[s%sineSteps].leg(r, low, t).over(sineTable[c%sineSteps].leg(r, low, t))
	return flip(y, s/sineSteps+c/sineSteps)
}

func Tan(x float64) float64 {
	k, r, low := toStep(x)
	if isFar(x, r) {
		return tanFar(x)
	}
	return tanAt(k, r, low)
}

func tanFar(x float64) float64 {
	if x == 0 {
		return x
	}
	return tanAt(toStepFar(x))
}
