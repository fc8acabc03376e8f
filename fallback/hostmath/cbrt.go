package hostmath

import (
	"math"
	"math/big"
)

// The cube root of float64 by a table and a short series, within 0.52 units in the
// last place. With x = 8^n 2^j z, z in [1, 2), and c near the middle of the interval
// of z, 1/c of 20 bits,
//
//	cbrt(x) = 2^n cbrt(2^j c) (1 + r)^(1/3),  r = z/c - 1, |r| < 2^-8.
const (
	cbrtParts = 128
	cbrtBits  = 52 - 7 // of a mantissa, below those that number the interval
)

// cbrtPart is 1/c and the cube roots of 2^j c for j = 0, 1, 2: the bits of the nearest float64
// and its rounding error, relative to it.
type cbrtPart struct {
	inverse float64
	roots   [3]struct {
		near uint64
		tail float64
	}
}

var cbrtTable = makeCbrtTable()

// makeCbrtTable takes a step of Newton's method from the float64 near the root, with an exact
// difference.
func makeCbrtTable() (table [cbrtParts]cbrtPart) {
	const precision = 200
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }
	for i := range table {
		p := &table[i]
		p.inverse = math.Round(0x1p20/(1+(float64(i)+0.5)/cbrtParts)) * 0x1p-20
		for j := range p.roots {
			near := math.Cbrt(float64(int(1)<<j) / p.inverse)
			cube := number(near)
			cube.Mul(cube, number(near)).Mul(cube, number(near)).Mul(cube, number(p.inverse))
			rest := number(float64(int(1) << j))
			tail, _ := rest.Sub(rest, cube).Quo(rest, cube).Float64()
			p.roots[j].near, p.roots[j].tail = math.Float64bits(near), tail/3
		}
	}
	return table
}

func Cbrt(x float64) float64 {
	const (
		sign, least, beyond = 1 << 63, 1 << 52, 0x7ff << 52 // the bits of normal numbers
		mantissa            = 1<<52 - 1
		bias                = 3 * 400 // of the exponent, so that it is not negative

		c1, c2, c3, c4, c5, c6 = 1.0 / 3, -1.0 / 9, 5.0 / 81, -10.0 / 243, 22.0 / 729, -154.0 / 6561
	)
	bits := math.Float64bits(x)
	size := bits &^ sign
	if size-least >= beyond-least {
		return cbrtFar(x)
	}
	e := uint32(size>>52) + (bias - 1023)
	n := e / 3
	p := &cbrtTable[size>>cbrtBits%cbrtParts]
	root := &p.roots[e-3*n]
	z := math.Float64frombits(size&mantissa | oneBits)
	upper := upperPart(z)
	r := upper*p.inverse - 1 + (z-upper)*p.inverse
	y := math.Float64frombits((root.near + uint64(n)<<52 - bias/3<<52) | bits&sign)
	r2 := r * r
	return y + y*(root.tail+r*(c1+r*c2+r2*(c3+r*c4+r2*(c5+r*c6))))
}

// cbrtFar is the cube root of a number that is not normal.
func cbrtFar(x float64) float64 {
	if x == 0 || x != x || math.IsInf(x, 0) {
		return x
	}
	return 0x1p-18 * Cbrt(0x1p54*x)
}

// upperPart is x rounded to 32 bits, whose product with 20 bits is exact.
func upperPart(x float64) float64 {
	return math.Float64frombits((math.Float64bits(x) + 1<<20) &^ (1<<21 - 1))
}
