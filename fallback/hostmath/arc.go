package hostmath

import (
	"math"
	"math/big"
)

// The arctangent of float64 by a table of angles: within 0.53 units in the last place, and
// within 0.55 for a quotient. An octave has eight cells; with c the middle of the cell of x,
//
//	atan(x) = atan(c) + atan(r),  r = (x - c) / (1 + c x),  |r| <= 1/32
//
// where the difference is exact. Below 1/32 c is 0, and from 32 on it is infinite.
const (
	arcPerOctave = 8
	arcOctaves   = 10
	arcCount     = 1 + arcOctaves*arcPerOctave + 1
	arcBits      = 52 - 3                     // below those that tell the eighths
	arcStart     = (0x3ff-5)*arcPerOctave - 1 // 1/32 is in eighth 1
	arcUnit      = 1 << 9                     // c is a multiple of its inverse

	// The minimax polynomial of atan(r) for |r| <= 1/32: relative error 2^-62.
	atan3, atan5 = -0x1.55555555554edp-2, 0x1.999999979ea8bp-3
	atan7, atan9 = -0x1.2492314344a57p-3, 0x1.c6396930f521dp-4
)

// arcPoint is an angle in two parts and its tangent, num/den.
type arcPoint struct{ num, den, high, low float64 }

var arcs = makeArcs()

// makeArcs goes from each angle to the next by the arctangent of the difference.
func makeArcs() (table [arcCount]arcPoint) {
	const bits = 128
	unit := new(big.Int).Lsh(big.NewInt(1), bits)
	angle, last := new(big.Int), int64(0)
	next := func(num, den int64) (high, low float64) {
		f := new(big.Float).SetInt(angle.Add(angle, arctan(unit, num, den)))
		return twoParts(f.SetMantExp(f, -bits))
	}
	table[0].den = 1
	for i := range arcOctaves * arcPerOctave {
		c := int64(2*arcPerOctave+1+2*(i%arcPerOctave)) << (i / arcPerOctave)
		high, low := next(arcUnit*(c-last), arcUnit*arcUnit+c*last)
		table[1+i] = arcPoint{float64(c) / arcUnit, 1, high, low}
		last = c
	}
	high, low := next(arcUnit, last)
	table[arcCount-1] = arcPoint{1, 0, high, low}
	return table
}

// arcOf returns the point for the bits of a number that is not negative.
func arcOf(x uint64) *arcPoint { return &arcs[min(max(int(x>>arcBits)-arcStart, 0), arcCount-1)] }

// to returns the arctangent of a finite x >= 0 in two parts.
func (p *arcPoint) to(x float64) double {
	r := (x*p.den - p.num) / (p.den + p.num*x)
	r2 := r * r
	sum := p.high + r
	return double{sum, p.high - sum + r + (p.low + r2*r*(atan3+r2*atan5+r2*r2*(atan7+r2*atan9)))}
}

// Bits of float64.
const (
	signBit = 1 << 63
	infBits = 0x7ff << 52
)

func Atan(x float64) float64 { return applyOne(AtanEach, x) }

func AtanEach(x []float64) {
	for i, v := range x {
		sign := math.Float64bits(v) & signBit
		a := math.Float64bits(v) ^ sign
		if a >= infBits {
			x[i] = atanEnd(v)
			continue
		}
		y := arcOf(a).to(math.Float64frombits(a))
		x[i] = math.Float64frombits(math.Float64bits(y.hi+y.lo) | sign)
	}
}

// atanEnd is the arctangent of infinities and NaN.
func atanEnd(x float64) float64 {
	if x != x {
		return x
	}
	return math.Copysign(math.Pi/2, x)
}

// halfPlane is the angle that atan2 counts from, in two parts, and the direction.
type halfPlane struct{ high, low, factor float64 }

// halfPlanes are those of x >= 0 and x < 0.
var halfPlanes = [2]halfPlane{{0, 0, 1}, {2 * halfPi, 2 * halfPi2, -1}}

// Atan2 is the angle of the point (x, y). It adds the rounding error of the quotient, times
// the slope of the arctangent.
func Atan2(y, x float64) float64 {
	n, d := math.Abs(y), math.Abs(x)
	q := n / d
	if !(q >= 0x1p-60 && q <= 0x1p60 && d >= 0x1p-500 && d <= 0x1p500) {
		return atan2Far(y, x)
	}
	qHigh, dHigh := high(q), high(d)
	rest := n - qHigh*dHigh - qHigh*(d-dHigh) - (q-qHigh)*d
	arc := arcOf(math.Float64bits(q)).to(q)
	arc.lo += rest / (d + q*n)
	s := &halfPlanes[math.Float64bits(x)>>63]
	t := arc.hi * s.factor
	sum := s.high + t
	sum += s.high - sum + t + (s.low + s.factor*arc.lo)
	return math.Float64frombits(math.Float64bits(sum) | math.Float64bits(y)&signBit)
}

// atan2Far is atan2 of zeros, infinities, NaN, and of numbers whose size or quotient
// is far from 1.
func atan2Far(y, x float64) float64 {
	n, d := math.Abs(y), math.Abs(x)
	if math.IsInf(n, 0) && math.IsInf(d, 0) || n == 0 {
		return math.Copysign(cornerAngle(n, x), y)
	}
	switch q := n / d; {
	case q != q:
		return math.NaN()
	case q > 0x1p60:
		return math.Copysign(math.Pi/2, y)
	case q < 0x1p-60 && x < 0:
		return math.Copysign(math.Pi, y)
	case q < 0x1p-60:
		return math.Copysign(q, y)
	case d > 1:
		return Atan2(y*0x1p-600, x*0x1p-600)
	}
	return Atan2(y*0x1p600, x*0x1p600)
}

// cornerAngle is atan2 of n = 0, and of infinities.
func cornerAngle(n, x float64) float64 {
	switch {
	case x != x:
		return x
	case n == 0:
		return Phase(x)
	case x < 0:
		return 3 * (math.Pi / 4)
	}
	return math.Pi / 4
}

// Phase is atan2(0, x).
func Phase(x float64) float64 {
	if x != x {
		return x
	}
	negative := uint64(int64(math.Float64bits(x)) >> 63)
	return math.Float64frombits(negative & math.Float64bits(math.Pi))
}

func PhaseEach(x []float64) {
	for i, v := range x {
		x[i] = Phase(v)
	}
}

// high returns x without the lower half of its digits. The product of two such numbers is
// exact.
func high(x float64) float64 { return math.Float64frombits(math.Float64bits(x) &^ (1<<27 - 1)) }
