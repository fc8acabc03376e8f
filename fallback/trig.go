package fallback

import (
	"math"
	"math/big"
	"sync"
)

// Package math reduces large angles with too few digits of π for all of
// float64. Beyond bigAngle they are reduced exactly; nobody needs that to be
// fast.
const bigAngle = 1 << 29

func sin(x float64) float64 {
	if !large(x) {
		return math.Sin(x)
	}
	quadrant, r := reduceAngle(x)
	return turn(quadrant, r)
}

func cos(x float64) float64 {
	if !large(x) {
		return math.Cos(x)
	}
	quadrant, r := reduceAngle(x)
	return turn(quadrant+1, r)
}

// tan adds the terms that math.Tan leaves out near 0.
func tan(x float64) float64 {
	if large(x) {
		quadrant, r := reduceAngle(x)
		return turn(quadrant, r) / turn(quadrant+1, r)
	}
	if z := x * x; z < 1e-6 {
		return x + x*z*(1.0/3+z*(2.0/15+z*(17.0/315)))
	}
	return math.Tan(x)
}

func large(x float64) bool { return math.Abs(x) >= bigAngle && !math.IsInf(x, 0) }

// turn is the sine of an angle after a number of quarter turns.
func turn(quadrant int, r float64) float64 {
	switch quadrant & 3 {
	case 0:
		return math.Sin(r)
	case 1:
		return math.Cos(r)
	case 2:
		return -math.Sin(r)
	}
	return -math.Cos(r)
}

// angleBits is enough for the largest number, and for what is left of one that
// is very close to a multiple of π/2.
const angleBits = 1024 + 192

// quarter is π/2 in units of 2^-angleBits, by Machin's formula.
var quarter = sync.OnceValue(func() *big.Int {
	const guard = 32
	unit := new(big.Int).Lsh(big.NewInt(1), angleBits+guard)
	pi := new(big.Int).Sub(arctan(unit, 5, 16), arctan(unit, 239, 4))
	return pi.Rsh(pi, guard+1)
})

// arctan is scale · arctan(1/n) in the given units.
func arctan(unit *big.Int, n, scale int64) *big.Int {
	term := new(big.Int).Mul(unit, big.NewInt(scale))
	term.Quo(term, big.NewInt(n))
	sum, part := new(big.Int).Set(term), new(big.Int)
	for k := int64(1); term.Sign() != 0; k++ {
		term.Quo(term, big.NewInt(n*n))
		part.Quo(term, big.NewInt(2*k+1))
		if k%2 == 0 {
			sum.Add(sum, part)
		} else {
			sum.Sub(sum, part)
		}
	}
	return sum
}

// reduceAngle splits a large angle into quarter turns, of which the last two bits
// count, and an angle of at most π/4.
func reduceAngle(x float64) (quadrant int, r float64) {
	m, e := math.Frexp(x)
	fixed := big.NewInt(int64(math.Ldexp(m, 53)))
	fixed.Lsh(fixed, uint(e-53+angleBits))
	half := new(big.Int).Rsh(quarter(), 1)
	turns, rest := new(big.Int).DivMod(fixed.Add(fixed, half), quarter(), new(big.Int))
	rest.Sub(rest, half)
	f, _ := new(big.Float).SetInt(rest).Float64()
	return int(turns.Bits()[0] & 3), math.Ldexp(f, -angleBits)
}
