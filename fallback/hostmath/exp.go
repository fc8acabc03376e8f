package hostmath

import (
	"math"
	"math/big"
)

// The exponential of float64 by a table of powers of two and a short polynomial, within 0.52
// units in the last place. The algorithm is exp of ARM's optimized routines, which musl and
// glibc use too. With z = x/ln 2 and k = round(128 z),
//
//	exp(x) = 2^(k/128) exp(r),  r = x - k ln 2/128, |r| <= ln 2/256.
const (
	expParts   = 128
	expInvLn2  = 0x1.71547652b82fep0 * expParts
	expLn2High = 0x1.62e42fefa0000p-1 / expParts // ends in zeros: k times it is exact
	expLn2Low  = 0x1.cf79abc9e3b39p-40 / expParts
	expShift   = 0x1.8p52 // x + expShift has the integer nearest to x in its low bits

	expC2 = 0x1.ffffffffffdbdp-2
	expC3 = 0x1.555555555543cp-3
	expC4 = 0x1.55555cf172b91p-5
	expC5 = 0x1.1111167a4d017p-7
)

// power is 2^(i/expParts): the bits of the nearest float64, less the bits that adding i to the
// exponent brings, and its rounding error, relative to it.
type power struct {
	bits uint64
	tail float64
}

var powers = makePowers()

// makePowers computes roots of 2 with 200 bits.
func makePowers() (table [expParts]power) {
	const precision = 200
	root := new(big.Float).SetPrec(precision).SetInt64(2)
	for n := 1; n < expParts; n *= 2 {
		root.Sqrt(root)
	}
	x := new(big.Float).SetPrec(precision).SetInt64(1)
	for i := range table {
		near, _ := x.Float64()
		rest := new(big.Float).SetPrec(precision).Sub(x, new(big.Float).SetFloat64(near))
		tail, _ := rest.Quo(rest, x).Float64()
		table[i] = power{math.Float64bits(near) - uint64(i)<<52/expParts, tail}
		x.Mul(x, root)
	}
	return table
}

// expReduced returns the parts of exp(x) = scale (1 + t): the bits of scale, whose exponent may
// overflow, and t.
func expReduced(x float64) (scale uint64, t float64) {
	z := x*expInvLn2 + expShift
	k := math.Float64bits(z)
	z -= expShift
	r := x - z*expLn2High - z*expLn2Low
	p := &powers[k%expParts]
	r2 := r * r
	return p.bits + k<<(52-7), p.tail + r + r2*(expC2+r*expC3+r2*(expC4+r*expC5))
}

// expNear bounds |x| so that all parts of the result are normal numbers.
const expNear = 700

// ExpEach replaces each element by its exponential.
func ExpEach(x []float64) {
	for i, v := range x {
		if !(math.Abs(v) < expNear) {
			x[i] = expFar(v)
			continue
		}
		scale, t := expReduced(v)
		s := math.Float64frombits(scale)
		x[i] = s + s*t
	}
}

func Exp(x float64) float64 {
	if !(math.Abs(x) < expNear) {
		return expFar(x)
	}
	scale, t := expReduced(x)
	s := math.Float64frombits(scale)
	return s + s*t
}

// expFar is the exponential of NaN and of x far from 0, where the result or a part of it is not
// a normal number.
func expFar(x float64) float64 {
	const largest, smallest = 0x1.62e42fefa39efp+9, -0x1.74910d52d3052p+9
	switch {
	case x != x:
		return quietNaN(x)
	case x > largest:
		return math.Inf(1)
	case x < smallest:
		return 0
	}
	scale, t := expReduced(x)
	if x > 0 {
		s := math.Float64frombits(scale - 1009<<52)
		return 0x1p1009 * (s + s*t)
	}
	s := math.Float64frombits(scale + 1022<<52)
	y := s + s*t
	if y < 1 { // the result is subnormal: round to its last bit once
		low := s - y + s*t
		high := 1 + y
		y = high + (1 - high + y + low) - 1
	}
	return 0x1p-1022 * y
}
