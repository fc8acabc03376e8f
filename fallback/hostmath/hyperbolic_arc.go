package hostmath

import (
	"math"
)

// The inverse hyperbolic functions, within 1 unit in the last place, by the tables of
// hyperbolic_table.go, and far from 0 as logarithms.

// arcFar is the number from which on squares are avoided, since they overflow.
const arcFar = 0x1p500

// AsinhEach replaces each element by its inverse of sinh.
func AsinhEach(x []float64) {
	table := asinhTable()
	for i, v := range x {
		size := math.Abs(v)
		if !(size < asinhCurved) {
			x[i] = math.Copysign(asinhFar(size), v)
			continue
		}
		c := &table[int(size*asinhCells)]
		d := size - c.at
		x[i] = math.Copysign(c.value+(d+c.rest(d)), v)
	}
}

// asinhFar is asinh of large x, an infinity or NaN.
func asinhFar(x float64) float64 {
	if x < arcFar {
		return Log(x + math.Sqrt(1+x*x))
	}
	return logTwice(x)
}

// logTwice is log(2x) of large x, an infinity or NaN.
func logTwice(x float64) float64 {
	if !(x <= math.MaxFloat64) {
		return x
	}
	return logOf(x).plus(ln2).hi
}

// acoshCurved is the number up to which acosh is computed by the table of asinh.
const acoshCurved = 4

// AcoshEach replaces each element by its inverse of cosh: asinh(s) with s = sqrt(x² - 1), which
// is sqrt(2t + t²) with t = x - 1. A step of Newton's method gives the rounding error of s.
func AcoshEach(x []float64) {
	table := asinhTable()
	for i, v := range x {
		if !(v > 1 && v < acoshCurved) {
			x[i] = acoshFar(v)
			continue
		}
		t := v - 1
		square := float64(t * t)
		p := 2*t + square
		s := math.Sqrt(p)
		low := (2*t - p + square - math.FMA(s, s, -p)) / (2 * s)
		c := &table[int(s*asinhCells)]
		d := s - c.at
		x[i] = c.value + (d + (c.rest(d) + low + low*c.slope))
	}
}

func acoshFar(x float64) float64 {
	switch {
	case x == 1:
		return 0
	case !(x > 1):
		return nan
	case x < arcFar:
		return Log(x + math.Sqrt((x-1)*(x+1)))
	}
	return logTwice(x)
}

// AtanhEach replaces each element by its inverse of tanh.
func AtanhEach(x []float64) {
	table := atanhTable()
	for i, v := range x {
		size := math.Abs(v)
		if !(size < float64(atanhCurved)/atanhCells) {
			x[i] = atanhNearOne(v)
			continue
		}
		c := &table[int(size*atanhCells)]
		d := size - c.at
		x[i] = math.Copysign(c.value+(d+c.rest(d)), v)
	}
}

// atanhNearOne is (log(1 + x) - log(1 - x))/2. It subtracts the logarithms part by part.
func atanhNearOne(x float64) float64 {
	if !(math.Abs(x) < 1) {
		return math.Atanh(x)
	}
	k, p, r := onePlus(x)
	l, q, s := onePlus(-x)
	base, low := logBase(k, p)
	less, lessLow := logBase(l, q)
	base, low = 0.5*(base-less), 0.5*(low-lessLow)
	rest := 0.5 * (r - s)
	y := base + rest
	return y + (base - y + rest + low + 0.5*(logSeries(r)-logSeries(s)))
}

func Asinh(x float64) float64 { return applyOne(AsinhEach, x) }
func Acosh(x float64) float64 { return applyOne(AcoshEach, x) }
func Atanh(x float64) float64 { return applyOne(AtanhEach, x) }
