package hostmath

import (
	"math"
)

// Functions of the exponential, within 1 unit in the last place: by the tables of
// hyperbolic_table.go, and far from 0 by the parts of exp(x) = s (1 + t), where the larger parts
// are added last.

// Expm1 is (s - 1) + s t, near 0 the series.
func Expm1(x float64) float64 {
	if math.Abs(x) < 0x1p-5 {
		const c2, c3, c4, c5, c6, c7, c8, c9 = 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880
		z := x * x
		z2 := z * z
		return math.Copysign(x+z*(c2+x*c3+z*(c4+x*c5)+z2*(c6+x*c7+z*(c8+x*c9))), x)
	}
	if !(math.Abs(x) < expNear) {
		return expFar(x) - 1
	}
	scale, t := expReduced(x)
	s := math.Float64frombits(scale)
	y := s - 1
	v := y - s
	return y + (s - (y - v) - (1 + v) + s*t)
}

// SigmoidEach replaces each element by 1/(1 + exp(-x)).
func SigmoidEach(x []float64) {
	table := sigmoidTable()
	for i, v := range x {
		if !(math.Abs(v) < sigmoidMost) {
			x[i] = sigmoidFar(v)
			continue
		}
		c := &table[int((v+sigmoidCurved)*sigmoidCells)]
		x[i] = c.value + c.rest(v-c.at)
	}
}

// sigmoidFar is sigmoid where e = exp(-|x|) is small: e - e²/(1 + e) on the left,
// 1 - e/(1 + e) on the right.
func sigmoidFar(x float64) float64 {
	size := math.Abs(x)
	if !(size < expNear) {
		if x > 0 {
			return 1
		}
		return expFar(x)
	}
	scale, t := expReduced(-size)
	s := math.Float64frombits(scale)
	e := s + s*t
	if x > 0 {
		return 1 - e/(1+e)
	}
	return s + (s*t - e*e/(1+e))
}

// TanhEach replaces each element by its hyperbolic tangent.
func TanhEach(x []float64) {
	table := tanhTable()
	for i, v := range x {
		size := math.Abs(v)
		if !(size < tanhCurved) {
			x[i] = tanhFar(v)
			continue
		}
		c := &table[int(size*tanhCells)]
		d := size - c.at
		x[i] = math.Copysign(c.value+(d+c.rest(d)), v)
	}
}

// tanhFar is tanh where it is close to -1 or 1.
func tanhFar(x float64) float64 {
	size := math.Abs(x)
	if !(size < tanhOne) {
		return Sign(x)
	}
	return math.Copysign(1-2/(1+Exp(2*size)), x)
}

// SinhEach replaces each element by its hyperbolic sine.
func SinhEach(x []float64) {
	table, _ := sinhTables()
	for i, v := range x {
		size := math.Abs(v)
		if !(size < sinhCurved) {
			x[i] = math.Copysign(sinhFar(size), v)
			continue
		}
		c := &table[int(size*sinhCells)]
		d := size - c.at
		x[i] = math.Copysign(c.value+(d+c.rest(d)), v)
	}
}

// sinhFar is sinh(x) = exp(x)/2 - exp(-x)/2 far above 0, where the smaller one needs no
// parts.
func sinhFar(x float64) float64 {
	if !(x < expNear) {
		return halfExpFar(x)
	}
	scale, t := expReduced(x)
	s := 0.5 * math.Float64frombits(scale)
	return s + (s*t - 0.25/(s+s*t))
}

// CoshEach replaces each element by its hyperbolic cosine.
func CoshEach(x []float64) {
	_, table := sinhTables()
	for i, v := range x {
		size := math.Abs(v)
		if !(size < sinhCurved) {
			x[i] = coshFar(size)
			continue
		}
		c := &table[int(size*sinhCells)]
		x[i] = c.value + c.rest(size-c.at)
	}
}

// coshFar is cosh(x) = exp(x)/2 + exp(-x)/2 far above 0.
func coshFar(x float64) float64 {
	if !(x < expNear) {
		return halfExpFar(x)
	}
	scale, t := expReduced(x)
	s := 0.5 * math.Float64frombits(scale)
	return s + (s*t + 0.25/(s+s*t))
}

// halfExpFar is exp(x)/2 of NaN and of x above expNear.
func halfExpFar(x float64) float64 {
	if !(x < 720) {
		return expFar(x)
	}
	scale, t := expReduced(x)
	s := math.Float64frombits(scale - 1009<<52)
	return 0x1p1008 * (s + s*t)
}

func Sigmoid(x float64) float64 { return applyOne(SigmoidEach, x) }
func Tanh(x float64) float64    { return applyOne(TanhEach, x) }
func Sinh(x float64) float64    { return applyOne(SinhEach, x) }
func Cosh(x float64) float64    { return applyOne(CoshEach, x) }
