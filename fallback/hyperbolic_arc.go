package fallback

import "math"

// The inverse hyperbolic functions, within 1 unit in the last place: each is a
// logarithm, the argument of which is computed in two parts.

// arcFar is where the square of a number overflows, or soon will.
const arcFar = 0x1p500

// halfPart is x with the first half of the bits of its mantissa: products of two such
// are exact.
func halfPart(x float64) float64 { return math.Float64frombits(math.Float64bits(x) &^ (1<<27 - 1)) }

// asinhRoot gives log's argument less 1, in two parts: x + x²/(1 + sqrt(1 + x²)).
func asinhRoot(x float64) (t, low float64) {
	square := float64(x * x)
	b := square / (1 + math.Sqrt(1+square))
	t = x + b
	return t, x - t + b
}

// asinhSeries is near 0.
func asinhSeries(x float64) float64 {
	const c3, c5, c7, c9, c11, c13, c15 = -1.0 / 6, 3.0 / 40, -5.0 / 112, 35.0 / 1152, -63.0 / 2816, 231.0 / 13312, -143.0 / 10240
	z := x * x
	z2 := z * z
	return math.Copysign(x+x*z*(c3+z*c5+z2*(c7+z*c9+z2*(c11+z*c13+z2*c15))), x)
}

// asinh is that of |x|, with the sign of x.
func asinh(x float64) float64 {
	a := math.Abs(x)
	if a < 0x1p-4 {
		return asinhSeries(x)
	}
	if !(a < arcFar) {
		return math.Copysign(logTwice(a), x)
	}
	k, p, r := onePlus(asinhRoot(a))
	base, low := logBase(k, p)
	return math.Copysign(logFinish(base, low, r), x)
}

// acoshRoot gives log's argument less 1, in two parts: t + s with t = x - 1 and
// s = sqrt(2t + t²), which is corrected by a step of Newton's, whose denominator may be
// an eighth off.
func acoshRoot(x float64) (sum, low float64) {
	t := x - 1
	square := float64(t * t)
	p := 2*t + square
	s := math.Sqrt(p)
	upper := halfPart(s)
	lower := s - upper
	off := p - upper*upper - 2*upper*lower - lower*lower + (2*t - p + square)
	sum = s + t
	return sum, s - sum + t + off*roughInverse(2*s)
}

// roughInverse is 1/x, an eighth off at most: the logarithm of x is almost linear in
// its bits.
func roughInverse(x float64) float64 {
	return math.Float64frombits(0x7fdd_e000_0000_0000 - math.Float64bits(x))
}

func acosh(x float64) float64 {
	if !(x > 1 && x < arcFar) {
		return acoshFar(x)
	}
	k, p, r := onePlus(acoshRoot(x))
	base, low := logBase(k, p)
	return logFinish(base, low, r)
}

func acoshFar(x float64) float64 {
	switch {
	case x == 1:
		return 0
	case x > 1:
		return logTwice(x)
	}
	return math.NaN()
}

// logTwice is log(2x) of a large number, an infinity or NaN.
func logTwice(x float64) float64 {
	if !(x <= math.MaxFloat64) {
		return x
	}
	return logOf(x).plus(ln2).hi
}

// atanh is (log(1 + x) - log(1 - x))/2, of which like parts are subtracted.
func atanh(x float64) float64 {
	if !(math.Abs(x) < 1) || x == 0 {
		return math.Atanh(x)
	}
	k, p, r := onePlus(x, 0)
	l, q, s := onePlus(-x, 0)
	base, low := logBase(k, p)
	less, lessLow := logBase(l, q)
	base, low = 0.5*(base-less), 0.5*(low-lessLow)
	rest := 0.5 * (r - s)
	y := base + rest
	return y + (base - y + rest + low + 0.5*(logSeries(r)-logSeries(s)))
}
