package hostmath

import (
	"math"
	"math/big"
)

// The tables of erf.go. math/big gives the values. Recurrences give the coefficients, whose
// last digits do not matter.

const (
	erfSlope = 2 / math.SqrtPi // of erf at 0
	invSlope = math.SqrtPi / 2
)

// bigSlope is erfSlope with more digits.
var bigSlope, _ = bigNumber(0).SetString("1.12837916709551257389615890312154517168810125865799771368817")

func bigNumber(x float64) *big.Float { return new(big.Float).SetPrec(128).SetFloat64(x) }

// split returns the float64 nearest to x, and its rounding error.
func split(x *big.Float) (near, tail float64) {
	near, _ = x.Float64()
	tail, _ = new(big.Float).Sub(x, bigNumber(near)).Float64()
	return near, tail
}

// middle is the middle of the cell from i/cells on. The middle of the first cell is 0, so that
// its polynomial has all digits of the smallest numbers.
func middle(i, cells int) float64 {
	if i == 0 {
		return 0
	}
	return (float64(i) + 0.5) / float64(cells)
}

// hermite returns the coefficients around x, from that of the square on, of a function whose
// derivative at x is a and whose second derivative is -2x times the first.
func hermite(x, a float64) (more [8]float64) {
	before := 0.0
	for k := range more {
		n := float64(k + 1)
		before, a = a, -2*(x*a+before*(n-1)/n)/(n+1)
		more[k] = a
	}
	return more
}

// makeErf adds up the integrals of 2/sqrt(π) exp(-x^2) from the middle of a cell to the next
// one, a distance of 2h around an edge. Each is 2h times the function at the edge and a small
// correction. The integral from -h to h is twice erf(h).
func makeErf() *[erfWhole * erfCells]cell {
	const h = 0.5 / erfCells
	var table [erfWhole * erfCells]cell
	value, slope, part := bigNumber(0), bigNumber(0).Set(bigSlope), bigNumber(0)
	ratio, square := bigGauss(2*h), bigGauss(2*h) // of slopes at two edges, and of ratios
	square.Mul(square, square)
	for i := range table {
		c := &table[i]
		at, edge := middle(i, erfCells), hermite(float64(i)/erfCells, 1)
		part.Mul(slope, bigNumber(h*h*h*2*(edge[1]+h*h*(edge[3]+h*h*(edge[5]+h*h*edge[7])))))
		part.Add(part, bigNumber(0).Mul(slope, bigNumber(2*h)))
		if i == 0 {
			value.Mul(part, bigNumber(0.5))
		} else {
			value.Add(value, part)
			c.value, c.tail = split(value)
		}
		c.at, c.slope = at, erfSlope-1+erfSlope*math.Expm1(-at*at)
		c.more = hermite(at, erfSlope*Exp(-at*at))
		slope.Mul(slope, ratio)
		ratio.Mul(ratio, square)
	}
	return &table
}

// bigGauss is exp(-x^2) for small x, by its series.
func bigGauss(x float64) *big.Float {
	sum, term := bigNumber(0), bigNumber(1)
	for n := 1.0; term.MantExp(nil) > -130; n++ {
		sum.Add(sum, term)
		term.Mul(term, bigNumber(-x*x)).Quo(term, bigNumber(n))
	}
	return sum
}

// makeErfInv puts the points of its cells where the inverse is exactly a float64 y; there x has
// a tail. The coefficients follow from u' = 2 y u^2 for the derivative u = y'.
func makeErfInv() *[invNear]cell {
	var table [invNear]cell
	for i := range table {
		c := &table[i]
		c.value = math.Erfinv(middle(i, invCells))
		near := &erfTable()[int(c.value*erfCells)]
		d := c.value - near.at
		at := double{hi: near.value}.plus(double{d, near.rest(d)})
		c.at = at.hi
		y, u := [10]float64{c.value}, [10]float64{invSlope * Exp(c.value*c.value)}
		for n := range 9 {
			y[n+1] = u[n] / float64(n+1)
			for j := range n + 1 {
				for k := range n + 1 - j {
					u[n+1] += 2 * y[j] * u[k] * u[n-j-k] / float64(n+1)
				}
			}
		}
		c.slope = invSlope - 1 + invSlope*math.Expm1(c.value*c.value)
		c.tail = -at.lo * u[0]
		copy(c.more[:], y[2:])
	}
	return &table
}

// makeScaled makes the cells of w(x) = exp(x^2) erfc(x). Its coefficients around x
// are (-2)^k J(k), where J(0) = w(x) and the others are its repeated integrals, scaled
// as it is. In
//
//	J(k-2) = 2k J(k) + 2x J(k-1),  J(-1) = 2/sqrt(π),
//
// which has no differences, all follow but for a factor from any two numbers far
// enough above (Miller's algorithm; for erfc see Gautschi 1961).
func makeScaled() *[scaledOctaves << scaledLog]cell {
	const cells = 1 << scaledLog
	var table [scaledOctaves * cells]cell
	for i := range table {
		c := &table[i]
		c.at = math.Ldexp(middle(cells+i%cells, cells), i/cells)
		var a [10]float64
		w := scaledIntegrals(c.at, &a)
		c.value = float64(float32(a[0])) // so that erfcFar has room for a product
		c.tail, _ = w.Sub(w, bigNumber(c.value)).Float64()
		c.slope = -2 * a[1]
		for k := range c.more {
			c.more[k] = math.Ldexp(a[k+2], k+2) * (1 - 2*float64(k%2))
		}
	}
	return &table
}

// scaledIntegrals gives J(0) and, with fewer digits, it and those that follow.
func scaledIntegrals(x float64, j *[10]float64) *big.Float {
	twice, part, count, w := bigNumber(2*x), bigNumber(0), bigNumber(0), bigNumber(0)
	high, low := bigNumber(0), bigNumber(1)
	var first [len(j)]*big.Float
	for k := 20 + int(350/(x*x)); k > 0; k-- { // high is J(k), low J(k-1)
		if k <= len(j) {
			first[k-1] = bigNumber(0).Set(low)
		}
		high.Mul(high, count.SetInt64(int64(2*k)))
		high.Add(high, part.Mul(twice, low))
		high, low = low, high
	}
	scale := low.Quo(bigSlope, low)
	for k, x := range first {
		j[k], _ = part.Mul(x, scale).Float64()
	}
	return w.Mul(first[0], scale)
}
