package hostmath

import (
	"math"
	"math/big"
	"sync"
)

// bigAngle is where exact reduction of angles begins. Package math reduces with too few digits
// of π: near its multiples the sine and the cosine lose theirs. Below bigAngle an angle is
// reduced in two float64, and beyond exactly, which need not be fast.
const bigAngle = 1 << 29

// π/2 in three parts of 53 bits.
const (
	halfPi  = 0x1.921fb54442d18p+0
	halfPi2 = 0x1.1a62633145c07p-54
	halfPi3 = -0x1.f1976b7ed8fbcp-110
)

// reduceAngle splits an angle into quarter turns, modulo 4 in the last two bits, and an angle
// of at most π/4 in two parts.
func reduceAngle(x float64) (quadrant int, r, low float64) {
	switch abs := math.Abs(x); {
	case abs <= math.Pi/4 || math.IsNaN(x) || math.IsInf(x, 0):
		return 0, x, 0
	case abs >= bigAngle:
		return reduceLarge(x)
	}
	n := math.RoundToEven(x * (2 / math.Pi))
	y := math.FMA(-n, halfPi, x) // exact: a multiple of 2^-52 below 1
	t := n * halfPi2
	r = y - t
	low = (y - r) - t - math.FMA(n, halfPi2, -t) - n*halfPi3
	return int(n), r, low
}

// angleBits is enough for the largest number, and for the remainder of a number that is very
// close to a multiple of π/2.
const angleBits = 1024 + 192

// quarter is π/2 in units of 2^-angleBits, by Machin's formula.
var quarter = sync.OnceValue(func() *big.Int {
	const guard = 32
	unit := new(big.Int).Lsh(big.NewInt(1), angleBits+guard)
	eighth := arctan(unit, 1, 5)
	eighth.Lsh(eighth, 2).Sub(eighth, arctan(unit, 1, 239))
	return eighth.Rsh(eighth, guard-1)
})

// arctan is arctan(num/den) in the given units, by its series.
func arctan(unit *big.Int, num, den int64) *big.Int {
	term := new(big.Int).Mul(unit, big.NewInt(num))
	term.Quo(term, big.NewInt(den))
	up, down := big.NewInt(num*num), big.NewInt(den*den)
	sum, part := new(big.Int).Set(term), new(big.Int)
	for k := int64(1); term.Sign() != 0; k++ {
		term.Quo(term.Mul(term, up), down)
		part.Quo(term, big.NewInt(2*k+1))
		if k%2 == 0 {
			sum.Add(sum, part)
		} else {
			sum.Sub(sum, part)
		}
	}
	return sum
}

// reduceLarge is reduceAngle in integer arithmetic.
func reduceLarge(x float64) (quadrant int, r, low float64) {
	m, e := math.Frexp(x)
	fixed := big.NewInt(int64(math.Ldexp(m, 53)))
	fixed.Lsh(fixed, uint(e-53+angleBits))
	half := new(big.Int).Rsh(quarter(), 1)
	turns, rest := new(big.Int).DivMod(fixed.Add(fixed, half), quarter(), new(big.Int))
	f := new(big.Float).SetInt(rest.Sub(rest, half))
	r, _ = f.SetMantExp(f, -angleBits).Float64()
	low, _ = f.Sub(f, new(big.Float).SetFloat64(r)).Float64()
	return int(rest.And(turns, big.NewInt(3)).Int64()), r, low
}
