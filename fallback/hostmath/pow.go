package hostmath

import (
	"math"
)

// Pow is x to the power of y, within 0.6 units in the last place, and within about one above
// e^700 and below e^-700; math.Pow loses up to a hundred. The logarithm has some 11 bits more
// than a float64, because y multiplies its error.
func Pow(x, y float64) float64 {
	a := math.Abs(x)
	switch {
	case y == 2:
		return x * x
	case y == 1:
		return x
	case !(a >= 0x1p-1022 && a <= math.MaxFloat64) || x == 1 || y == 0 || !(math.Abs(y) <= math.MaxFloat64):
		return math.Pow(x, y) // special values and subnormals
	case x < 0:
		whole, part := math.Modf(y)
		if part != 0 {
			return math.NaN()
		}
		if math.Mod(whole, 2) != 0 {
			return -expOf(logNormal(a).scaled(y))
		}
	}
	return expOf(logNormal(a).scaled(y))
}

// double is the unevaluated sum of a number and a much smaller one.
type double struct{ hi, lo float64 }

// quickSum adds two numbers, where |a| >= |b| (Dekker, 1971).
func quickSum(a, b float64) double {
	s := a + b
	return double{s, b - (s - a)}
}

func (a double) plus(b double) double {
	s := a.hi + b.hi
	t := s - a.hi
	return quickSum(s, (a.hi-(s-t))+(b.hi-t)+a.lo+b.lo)
}

func (a double) times(y float64) double {
	p := a.hi * y
	return quickSum(p, math.FMA(a.hi, y, -p)+a.lo*y)
}

func (a double) product(b double) double {
	p := a.hi * b.hi
	return quickSum(p, math.FMA(a.hi, b.hi, -p)+a.hi*b.lo+a.lo*b.hi)
}

// ln2, third and fifth are ln 2, 1/3 and 1/5 in twice the precision.
var (
	ln2   = double{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}
	third = double{0x1.5555555555555p-2, 0x1.5555555555555p-56}
	fifth = double{0x1.999999999999ap-3, -0x1.999999999999ap-57}
)

// logOf is the natural logarithm of a normal number in twice the precision: the logarithm of
// its power of two plus the logarithm of its mantissa m, 2 atanh(s) with s = (m - 1) / (m + 1).
// Only the first terms of the series are computed in twice the precision.
func logOf(x float64) double {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	num, den := m-1, quickSum(m, 1)
	if m < 1 {
		den = quickSum(1, m)
	}
	q := num / den.hi
	s := quickSum(q, (math.FMA(-q, den.hi, num)-q*den.lo)/den.hi)
	z := s.product(s)
	tail := 1.0 / 27
	for d := 25.0; d >= 7; d -= 2 {
		tail = tail*z.hi + 1/d
	}
	series := third.plus(z.product(fifth.plus(z.times(tail))))
	log := s.plus(s.product(z).product(series))
	return ln2.times(float64(e)).plus(double{2 * log.hi, 2 * log.lo})
}

// logNormal is the logarithm of a positive normal number with a relative error of 2^-64, by the
// table of log. r = (z - c)/c and its square are in two parts, which are exact because c has
// few digits.
func logNormal(x float64) double {
	z, k, p := logPlace(math.Float64bits(x))
	base, low := logBase(k, p)
	d := z - p.c
	q := d * p.inverse
	r := math.Float64frombits(math.Float64bits(q) &^ (1<<12 - 1))
	rest := (d - r*p.c) * p.inverse
	top := high(r)
	first := quickSum(base, r)
	sum := quickSum(first.hi, -0.5*top*top)
	const c3, c4, c5, c6, c7, c8, c9 = 1.0 / 3, -1.0 / 4, 1.0 / 5, -1.0 / 6, 1.0 / 7, -1.0 / 8, 1.0 / 9
	q2 := q * q
	series := q * q2 * (c3 + q*c4 + q2*(c5+q*c6+q2*(c7+q*c8+q2*c9)))
	return double{sum.hi, sum.lo + first.lo + (low + rest - 0.5*(r-top)*(r+top) - r*rest + series)}
}

// scaled is times, without math.FMA, which is slow on some processors.
func (a double) scaled(y float64) double {
	top := high(a.hi)
	most := high(y)
	return quickSum(most*top, (y-most)*top+y*(a.hi-top+a.lo))
}

// expOf is e to the power of a sum.
func expOf(a double) float64 {
	if !(math.Abs(a.hi) < expNear) {
		r := Exp(a.hi)
		if r == 0 || math.IsInf(r, 1) {
			return r
		}
		return r + r*a.lo
	}
	scale, t := expReduced(a.hi)
	s := math.Float64frombits(scale)
	return s + s*(t+(a.lo+a.lo*t))
}
