package hostmath

import (
	"math"
)

// The logarithm of float64 by a table and a short series, within 0.8 units in the last
// place, also near 1. The algorithm is log of ARM's optimized routines. With x = 2^k z
// and c the middle of the interval of z,
//
//	log(x) = k ln 2 + log(c) + log(1 + r),  r = (z - c)/c, |r| <= 2^-7.
//
// In the two intervals next to 1, c is 1: r is exact there, and nothing cancels.
const (
	logParts = 256
	logFirst = 0x3fe6000000000000 // the bits of 0.6875, the least z
	logBits  = 52 - 8             // of a mantissa, below those that number the interval

	ln2High = 0x1.62e42fefa3800p-1 // ends in zeros: k times it is exact
	ln2Low  = 0x1.ef35793c76730p-45

	exponentBits = 0xfff << 52
	oneBits      = 0x3ff << 52
)

// logPart is c, 1/c and log(c): high ends in zeros, so that k ln2High + high is exact.
type logPart struct{ c, inverse, high, low float64 }

var logTable = makeLogTable()

func makeLogTable() (table [logParts]logPart) {
	for i := range table {
		from := math.Float64frombits(logFirst + uint64(i)<<logBits)
		to := math.Float64frombits(logFirst + uint64(i+1)<<logBits)
		c := (from + to) / 2
		if 1-0x1p-8 < c && c < 1+0x1p-7 {
			c = 1
		}
		l := logOf(c)
		high := math.Round(l.hi*0x1p42) * 0x1p-42
		table[i] = logPart{c, 1 / c, high, l.hi - high + l.lo}
	}
	return table
}

// logPlace splits a positive normal number, of the given bits, into 2^k z. The bits of
// k are those of an exponent.
func logPlace(bits uint64) (z float64, k uint64, p *logPart) {
	offset := bits - logFirst
	k = offset & exponentBits
	return math.Float64frombits(bits - k), k, &logTable[offset>>logBits%logParts]
}

// logBase is k ln 2 + log(c) in two parts.
func logBase(k uint64, p *logPart) (high, low float64) {
	n := float64(int64(k) >> 52)
	return n*ln2High + p.high, n*ln2Low + p.low
}

// logSeries is log(1 + r) - r.
func logSeries(r float64) float64 {
	const c2, c3, c4, c5, c6, c7, c8 = -1.0 / 2, 1.0 / 3, -1.0 / 4, 1.0 / 5, -1.0 / 6, 1.0 / 7, -1.0 / 8
	r2 := r * r
	return r2 * (c2 + r*c3 + r2*(c4+r*c5+r2*(c6+r*c7+r2*c8)))
}

// logFinish is log(2^k c (1 + r)), of the first two factors base + low.
func logFinish(base, low, r float64) float64 {
	y := base + r
	return y + (base - y + r + low + logSeries(r))
}

// The bits of positive normal numbers.
const leastBits, beyondBits = 1 << 52, 0x7ff << 52

func LogEach(x []float64) {
	for i, v := range x {
		bits := math.Float64bits(v)
		if bits-leastBits >= beyondBits-leastBits {
			x[i] = logFar(v)
			continue
		}
		z, k, p := logPlace(bits)
		base, low := logBase(k, p)
		x[i] = logFinish(base, low, (z-p.c)*p.inverse)
	}
}

func Log(x float64) float64 { return applyOne(LogEach, x) }

// logFar is the logarithm of a number that is not positive and normal.
func logFar(x float64) float64 {
	switch {
	case x == 0:
		return math.Inf(-1)
	case !(x > 0) || math.IsInf(x, 1):
		return math.Log(x)
	}
	const scale = 54
	z, k, p := logPlace(math.Float64bits(x * (1 << scale)))
	base, low := logBase(k-scale<<52, p)
	return logFinish(base, low, (z-p.c)*p.inverse)
}

// onePlus places u = 1 + x, for x > -1, and adds the rounding error of u to r. The error is not
// exact for large x, where it does not matter.
func onePlus(x float64) (k uint64, p *logPart, r float64) {
	u := 1 + x
	z, k, p := logPlace(math.Float64bits(u))
	return k, p, (z - p.c + (x-(u-1))*math.Float64frombits(oneBits-k)) * p.inverse
}

// log1pMost bounds x so that 1/2^k is normal.
const log1pMost = 0x1p1000

func Log1pEach(x []float64) {
	for i, v := range x {
		if !(v > -1 && v < log1pMost) || v == 0 {
			x[i] = log1pFar(v)
			continue
		}
		k, p, r := onePlus(v)
		base, low := logBase(k, p)
		x[i] = logFinish(base, low, r)
	}
}

func Log1p(x float64) float64 { return applyOne(Log1pEach, x) }

func log1pFar(x float64) float64 {
	if x > 1 {
		return Log(x)
	}
	return math.Log1p(x)
}
