package hostmath

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func big300(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }

// gauss300 is 2/sqrt(π) exp(-x^2).
func gauss300(x float64) *big.Float {
	slope, _ := big300(0).SetString("1.1283791670955125738961589031215451716881012586579977136881714434")
	square := big300(x)
	near, tail := split(square.Mul(square, square))
	slope.Quo(slope, bigExp(near))
	return slope.Quo(slope, bigExp(tail))
}

// seriesErf is erf of x up to 6 by the series of positive terms
//
//	2/sqrt(π) exp(-x^2) (x + 2 x^3/3 + 4 x^5/(3 5) + ...).
func seriesErf(x float64) *big.Float {
	square, term, sum := big300(2*x), big300(x), big300(0)
	square.Mul(square, big300(x))
	for n := 3.0; n < 5 || term.MantExp(nil) > sum.MantExp(nil)-300; n += 2 {
		sum.Add(sum, term)
		term.Mul(term, square).Quo(term, big300(n))
	}
	return sum.Mul(sum, gauss300(x))
}

// bigErfc is erfc, from 2 on by the continued fraction of Laplace,
//
//	exp(-x^2)/sqrt(π) 1/(x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ...)))).
func bigErfc(x float64) *big.Float {
	if x < 2 {
		y := seriesErf(math.Abs(x))
		if x < 0 {
			y.Neg(y)
		}
		return y.Sub(big300(1), y)
	}
	y := big300(x)
	for k := math.Floor(50 + 2000/(x*x)); k > 0; k-- {
		y.Quo(big300(k/2), y)
		y.Add(y, big300(x))
	}
	gauss := gauss300(x)
	return gauss.Quo(gauss, y.Add(y, y))
}

// atMost fails where a function is off by more units in the last place.
func atMost(t *testing.T, most float64, name string, x, y float64, exact *big.Float) {
	t.Helper()
	if u := unitsOff(y, exact); !(u <= most) {
		t.Errorf("%s(%v) = %v is %.3f units off", name, x, y, u)
	}
}

// Cells have the largest errors where they begin and end.
func TestErf(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	edge := func(n, cells int) float64 { return math.Nextafter(float64(r.IntN(n))/float64(cells), 6*r.Float64()) }
	for range 300 {
		for _, x := range []float64{erfWhole * r.Float64(), math.Exp2(-60 * r.Float64()), edge(erfWhole*erfCells, erfCells)} {
			exact := seriesErf(x)
			atMost(t, 0.7, "erf", x, Erf(x), exact)
			atMost(t, 0.7, "erf", -x, -Erf(-x), exact)
			atMost(t, 0.55, "erfc", x, Erfc(x), bigErfc(x))
			atMost(t, 0.55, "erfc", -x, Erfc(-x), bigErfc(-x))
		}
		for _, x := range []float64{1 + 2*r.Float64(), 1 + 25.5*r.Float64(), 1 + edge(32, 32)} {
			atMost(t, 0.55, "erfc", x, Erfc(x), bigErfc(x))
		}
		below := 26.543 + 0.68*r.Float64() // the result is subnormal
		atMost(t, 0.76, "erfc", below, Erfc(below), bigErfc(below))
		for _, x := range []float64{r.Float64(), math.Exp2(-60 * r.Float64()), 1 - math.Exp2(-53*r.Float64()), edge(invCells, invCells)} {
			y := ErfInv(x)
			exact := seriesErf(y) // how much erf(y) is off, over its slope, is how much y is
			exact.Sub(exact, big300(x)).Quo(exact, gauss300(y))
			atMost(t, 1, "erf_inv", x, y, exact.Sub(big300(y), exact))
		}
	}
}

func TestErfEnds(t *testing.T) {
	zero, signalling := math.Copysign(0, -1), math.Float64frombits(0xFFF0000000000001)
	for _, c := range []struct {
		name         string
		x, got, want float64
	}{
		{"erf", 0, Erf(0), 0}, {"erf", zero, Erf(zero), zero}, {"erf", infinity, Erf(infinity), 1}, {"erf", -infinity, Erf(-infinity), -1},
		{"erf", 6, Erf(6), 1}, {"erf", -1e300, Erf(-1e300), -1}, {"erf", 0x1p-1074, Erf(0x1p-1074), 0x1p-1074},
		{"erf", signalling, Erf(signalling), nan},
		{"erfc", 0, Erfc(0), 1}, {"erfc", zero, Erfc(zero), 1}, {"erfc", infinity, Erfc(infinity), 0}, {"erfc", -infinity, Erfc(-infinity), 2},
		{"erfc", -6, Erfc(-6), 2}, {"erfc", -1e300, Erfc(-1e300), 2}, {"erfc", 27.3, Erfc(27.3), 0}, {"erfc", 1e300, Erfc(1e300), 0},
		{"erfc", 27.226, Erfc(27.226), 0x1p-1074}, {"erfc", signalling, Erfc(signalling), nan},
		{"erf_inv", 0, ErfInv(0), 0}, {"erf_inv", zero, ErfInv(zero), zero}, {"erf_inv", 1, ErfInv(1), infinity},
		{"erf_inv", -1, ErfInv(-1), -infinity}, {"erf_inv", 1.5, ErfInv(1.5), nan}, {"erf_inv", -infinity, ErfInv(-infinity), nan},
		{"erf_inv", signalling, ErfInv(signalling), nan}, {"erf_inv", -0x1p-1074, ErfInv(-0x1p-1074), -0x1p-1074},
	} {
		if math.Float64bits(c.got) != math.Float64bits(c.want) {
			t.Errorf("%s(%v) = %v, want %v", c.name, c.x, c.got, c.want)
		}
	}
}
