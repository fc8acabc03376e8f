package hostmath

import (
	"math"
	"sync"
)

// The error function, its complement and its inverse by tables of Taylor polynomials around
// the middles of cells that cover the range. The value of the function there has more digits
// than a float64, so that the sum rounds about once. The tables are made at the first call.

// cell is the Taylor polynomial of a function around a point: value + tail +
// slope (x - at) + ... .
type cell struct {
	at          float64
	value, tail float64
	slope       float64    // for erf and erfInv less 1, so that its digits count for less
	more        [8]float64 // the coefficients from that of the square on
}

// rest is the polynomial at x = at + d, less value.
func (c *cell) rest(d float64) float64 {
	d2 := d * d
	return c.tail + d*c.slope + d2*(c.more[0]+d*c.more[1]+
		d2*(c.more[2]+d*c.more[3]+d2*(c.more[4]+d*c.more[5]+d2*(c.more[6]+d*c.more[7]))))
}

const (
	erfCells = 32  // cells in 1
	erfWhole = 6   // from here on erf is 1
	erfcNear = 1   // from here on erfc is erfcFar
	invCells = 128 // cells in 1
	invNear  = 108 // the cells of erfInv; beyond them, where it is above 1, it is erfInvFar

	scaledLog     = 5 // the scaled complement has 2^scaledLog cells between powers of two
	scaledOctaves = 5 // from 1 on
)

var (
	erfTable    = sync.OnceValue(makeErf)
	invTable    = sync.OnceValue(makeErfInv)
	scaledTable = sync.OnceValue(makeScaled)
)

// ErfEach replaces each element by its error function, within 0.7 units in the last place.
func ErfEach(x []float64) {
	table := erfTable()
	for i, v := range x {
		size := math.Abs(v)
		if !(size < erfWhole) {
			x[i] = quietNaN(Sign(v))
			continue
		}
		c := &table[int(size*erfCells)]
		d := size - c.at
		x[i] = math.Copysign(c.value+(d+c.rest(d)), v)
	}
}

// ErfcEach replaces each element by 1 - erf, within 0.55 units in the last place; subnormal
// results are within 0.76.
func ErfcEach(x []float64) {
	table := erfTable()
	for i, v := range x {
		if !(v < erfcNear && v > -erfWhole) {
			x[i] = erfcFar(v)
			continue
		}
		size := math.Abs(v)
		c := &table[int(size*erfCells)]
		d := size - c.at
		value, p := math.Copysign(c.value, v), d+c.rest(d)
		p = math.Float64frombits(math.Float64bits(p) ^ math.Float64bits(v)&(1<<63))
		near := 1 - value
		x[i] = near + (1 - near - value - p)
	}
}

// erfcFar is erfc where it is close to 2, and where it is exp(-x^2) times the scaled complement.
// The square is split in two numbers, and the factors of the product in parts whose products
// are exact.
func erfcFar(x float64) float64 {
	switch {
	case x != x:
		return quietNaN(x)
	case x < 0:
		return 2
	case x > 28:
		return 0
	}
	const mask, up = 1<<27 - 1, 128
	top := math.Float64frombits(math.Float64bits(x) &^ mask)
	low := (x - top) * (x + top)
	bits, t := expReduced(-top * top)
	low *= -1 + low*(1.0/2-low/6) // exp(-low) - 1
	t += low + low*t
	s := math.Float64frombits(bits + up<<52)
	sTop := math.Float64frombits(math.Float64bits(s) &^ mask)
	c := scaledCell(x)
	rest := c.rest(x - c.at)
	return (sTop*c.value + ((s-sTop)*c.value + s*(rest+(c.value+rest)*t))) * 0x1p-128
}

// scaledCell is the cell of the scaled complement, exp(x^2) erfc(x), for x from 1 on.
func scaledCell(x float64) *cell {
	return &scaledTable()[math.Float64bits(x)>>(52-scaledLog)-1023<<scaledLog]
}

// ErfInvEach replaces each element by its inverse of erf, within one unit in the last place.
func ErfInvEach(x []float64) {
	table := invTable()
	for i, v := range x {
		size := math.Abs(v)
		if !(size < float64(invNear)/invCells) {
			x[i] = erfInvFar(v)
			continue
		}
		c := &table[int(size*invCells)]
		d := size - c.at
		x[i] = math.Copysign(c.value+(d+c.rest(d)), v)
	}
}

// erfInvGuess has the coefficients of a polynomial p, the highest first. It interpolates the
// inverse of erf at Chebyshev's points: with v = sqrt(-log(1 - x)), v + p(1/(v + 2)) is within
// 2^-26 of the inverse at x, for 1 - x below 0.1565.
var erfInvGuess = [...]float64{
	-1775.705111281, 2392.515483966, -1228.493364475, 312.8030429944, -14.53551706703,
	-12.2613057399, 4.227102003379, -1.831894469033, -0.01414871555382,
}

// erfInvFar is a step of Halley's method from a guess. With the scaled complement w and
// z = 1 - |x|,
//
//	(erfc(y) - z) / -erfc'(y) = sqrt(π)/2 (w(y) - z exp(y^2)).
func erfInvFar(x float64) float64 {
	z := 1 - math.Abs(x)
	switch {
	case z == 0:
		return math.Copysign(math.Inf(1), x)
	case !(z > 0):
		return nan
	}
	v := math.Sqrt(-math.Log(z))
	u, p := 1/(v+2), 0.0
	for _, a := range erfInvGuess {
		p = p*u + a
	}
	y := v + p
	c := scaledCell(y)
	r := invSlope * (c.value - z*Exp(y*y) + c.rest(y-c.at))
	return math.Copysign(y+(r+r*r*y), x)
}

func Erf(x float64) float64    { return applyOne(ErfEach, x) }
func Erfc(x float64) float64   { return applyOne(ErfcEach, x) }
func ErfInv(x float64) float64 { return applyOne(ErfInvEach, x) }
