package hostmath

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// bigExp is e to the power of x with some 280 bits: the series of x/2^20, squared as
// often.
func bigExp(x float64) *big.Float {
	const halvings = 20
	number := func() *big.Float { return new(big.Float).SetPrec(300) }
	v, sum, term := number().SetFloat64(x), number().SetInt64(1), number().SetInt64(1)
	v.SetMantExp(v, -halvings)
	for i := range int64(40) {
		term.Mul(term, v).Quo(term, number().SetInt64(i+1))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// unitsOff is by how many units in the last place of the exact value x is off.
func unitsOff(x float64, exact *big.Float) float64 {
	near, _ := exact.Float64()
	unit := math.Nextafter(near, math.Inf(1)) - near
	off := new(big.Float).Sub(exact, new(big.Float).SetFloat64(x))
	units, _ := off.Quo(off, new(big.Float).SetFloat64(unit)).Float64()
	return math.Abs(units)
}

// The exponential is within 0.52 units in the last place over its whole range,
// subnormal results within 0.6, by itself and in a loop.
func TestExp(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	xs := []float64{0, 1, -1, 700, -700, 709.782712893384, -708.3964185322641, -745.1332191019411, 0x1p-60, -0x1p-1074}
	for range 3000 {
		xs = append(xs, r.NormFloat64()*math.Exp2(-20+25*r.Float64()), -708-37*r.Float64(), 700+9.7*r.Float64())
	}
	ys := slices.Clone(xs)
	ExpEach(ys)
	for i, x := range xs {
		most := 0.52
		if x < -708.3 {
			most = 0.6
		}
		if x < -745.1332191019411 || x > 709.782712893384 {
			continue
		}
		if u := unitsOff(Exp(x), bigExp(x)); u > most {
			t.Errorf("exp(%v) = %v is %.3f units off", x, Exp(x), u)
		}
		if math.Float64bits(ys[i]) != math.Float64bits(Exp(x)) {
			t.Errorf("exp(%v) is %v by itself and %v in a loop", x, Exp(x), ys[i])
		}
	}
}

func TestExpEnds(t *testing.T) {
	for _, x := range []struct{ x, want float64 }{
		{math.Inf(1), math.Inf(1)}, {math.Inf(-1), 0}, {709.7827128933841, math.Inf(1)}, {-745.1332191019412, 0},
		{1e308, math.Inf(1)}, {-1e308, 0},
	} {
		if got := Exp(x.x); got != x.want {
			t.Errorf("exp(%v) = %v, want %v", x.x, got, x.want)
		}
	}
	one := []float64{math.Float64frombits(0x7ff0000000000001)}
	if ExpEach(one); math.Float64bits(one[0]) != math.Float64bits(nan) {
		t.Errorf("exp(NaN) = %x", math.Float64bits(one[0]))
	}
}
