package hostmath

import (
	"math"
	"math/big"
	"sync"
)

// Tables of Taylor polynomials around the middles of cells, as in erf.go, for tanh, sinh, cosh,
// sigmoid, asinh and atanh, whose formulas take longer. The coefficients follow from the
// differential equation of each function.
const (
	tanhCells  = 32 // in 1
	tanhCurved = 4  // from here on tanh is tanhFar

	sinhCells  = 32 // in 1
	sinhCurved = 4  // from here on sinh and cosh are sinhFar and coshFar

	sigmoidCells  = 32          // in 1
	sigmoidCurved = 8           // the cells are this far on either side
	sigmoidMost   = 8 - 0x1p-20 // from here on sigmoid is sigmoidFar: sums with sigmoidCurved may round up

	asinhCells  = 32 // in 1
	asinhCurved = 4  // from here on asinh is asinhFar

	atanhCells  = 512 // in 1
	atanhCurved = 480 // the cells of atanh; beyond them it is atanhNearOne
)

var (
	tanhTable    = sync.OnceValue(makeTanh)
	sinhTables   = sync.OnceValues(makeSinh)
	sigmoidTable = sync.OnceValue(makeSigmoid)
	asinhTable   = sync.OnceValue(makeAsinh)
	atanhTable   = sync.OnceValue(makeAtanh)
)

// bigExpSmall is exp(x) for small x, by its series.
func bigExpSmall(x float64) *big.Float {
	sum, term := bigNumber(0), bigNumber(1)
	for n := 1.0; term.MantExp(nil) > -130; n++ {
		sum.Add(sum, term)
		term.Mul(term, bigNumber(x)).Quo(term, bigNumber(n))
	}
	return sum
}

// makeTanh uses the derivative 1 - y² of y = tanh(x) = 1 - 2/(exp(2x) + 1).
func makeTanh() *[tanhCurved * tanhCells]cell {
	var table [tanhCurved * tanhCells]cell
	power, ratio := bigExpSmall(1.0/tanhCells), bigExpSmall(2.0/tanhCells)
	for i := range table {
		c := &table[i]
		if c.at = middle(i, tanhCells); i > 0 {
			y, below := bigNumber(-2), bigNumber(1)
			y.Quo(y, below.Add(below, power))
			c.value, c.tail = split(y.Add(y, bigNumber(1)))
		}
		c.slope = -c.value * c.value
		y := [10]float64{c.value, 1 + c.slope}
		for n := 1; n < 9; n++ {
			for j := range n + 1 {
				y[n+1] -= y[j] * y[n-j] / float64(n+1)
			}
		}
		copy(c.more[:], y[2:])
		power.Mul(power, ratio)
	}
	return &table
}

// makeSinh makes the cells of sinh and of cosh, each of which is the derivative of the
// other, from exp(x).
func makeSinh() (sinh, cosh *[sinhCurved * sinhCells]cell) {
	sinh, cosh = new([sinhCurved * sinhCells]cell), new([sinhCurved * sinhCells]cell)
	power, ratio := bigExpSmall(0.5/sinhCells), bigExpSmall(1.0/sinhCells)
	for i := range sinh {
		s, c := &sinh[i], &cosh[i]
		s.at, c.at, c.value = middle(i, sinhCells), middle(i, sinhCells), 1
		if i > 0 {
			fall, half := bigNumber(1), bigNumber(0.5)
			fall.Quo(fall, power)
			s.value, s.tail = split(bigNumber(0).Mul(half, bigNumber(0).Sub(power, fall)))
			c.value, c.tail = split(fall.Mul(half, fall.Add(power, fall)))
		}
		s.slope, c.slope = s.value*s.value/(1+c.value), s.value
		factorial := 1.0
		for k := range s.more {
			factorial *= float64(k + 2)
			s.more[k], c.more[k] = s.value/factorial, c.value/factorial
			if k%2 == 1 {
				s.more[k], c.more[k] = c.more[k], s.more[k]
			}
		}
		power.Mul(power, ratio)
	}
	return sinh, cosh
}

// makeSigmoid uses the derivative y - y² of y = sigmoid(x) = exp(x)/(exp(x) + 1).
func makeSigmoid() *[2 * sigmoidCurved * sigmoidCells]cell {
	var table [2 * sigmoidCurved * sigmoidCells]cell
	power, ratio := bigExpSmall(0.5/sigmoidCells), bigExpSmall(1.0/sigmoidCells)
	for i := range sigmoidCurved * sigmoidCells {
		right, left := &table[len(table)/2+i], &table[len(table)/2-1-i]
		right.at = (float64(i) + 0.5) / sigmoidCells
		left.at = -right.at
		below := bigNumber(1)
		below.Add(below, power)
		right.value, right.tail = split(bigNumber(0).Quo(power, below))
		left.value, left.tail = split(below.Quo(bigNumber(1), below))
		for _, c := range []*cell{left, right} {
			c.slope = left.value * right.value
			y := [10]float64{c.value, c.slope}
			for n := 1; n < 9; n++ {
				y[n+1] = y[n] / float64(n+1)
				for j := range n + 1 {
					y[n+1] -= y[j] * y[n-j] / float64(n+1)
				}
			}
			copy(c.more[:], y[2:])
		}
		power.Mul(power, ratio)
	}
	return &table
}

// makeAsinh uses the equation (1 + x²) dy'/dx = -x y' of y = asinh(x) = log(x + sqrt(1 + x²)).
func makeAsinh() *[asinhCurved * asinhCells]cell {
	var table [asinhCurved * asinhCells]cell
	for i := range table {
		c := &table[i]
		t := middle(i, asinhCells)
		root := bigNumber(1 + t*t) // exact
		high, low := split(root.Add(root.Sqrt(root), bigNumber(t)))
		l := logOf(high).plus(double{low / high, 0})
		s := math.Sqrt(1 + t*t)
		c.at, c.value, c.tail, c.slope = t, l.hi, l.lo, -t*t/(s*(1+s))
		a := [10]float64{1: 1 / s}
		for n := range 8 {
			k := float64(n)
			a[n+2] = -(t*(k+1)*(2*k+1)*a[n+1] + k*k*a[n]) / ((1 + t*t) * (k + 1) * (k + 2))
		}
		copy(c.more[:], a[2:])
	}
	return &table
}

// makeAtanh uses the equation (1 - x²) dy'/dx = 2x y' of y = atanh(x) = (log(1 + x) - log(1 - x))/2.
func makeAtanh() *[atanhCurved]cell {
	var table [atanhCurved]cell
	for i := range table {
		c := &table[i]
		t := middle(i, atanhCells)
		below := logOf(1 - t)
		l := logOf(1 + t).plus(double{-below.hi, -below.lo})
		c.at, c.value, c.tail, c.slope = t, l.hi/2, l.lo/2, t*t/(1-t*t)
		a := [10]float64{1: 1 + c.slope}
		for n := range 8 {
			k := float64(n)
			a[n+2] = (2*t*(k+1)*a[n+1] + k*a[n]) / ((1 - t*t) * (k + 2))
		}
		copy(c.more[:], a[2:])
	}
	return &table
}
