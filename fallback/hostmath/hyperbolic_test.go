package hostmath

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/ops"
)

// bigLog is the logarithm of x with some 280 bits after the point, near being within
// 2^-30 of it: the rest is the series of log(1 + q), q = x/exp(near) - 1.
func bigLog(x *big.Float, near float64) *big.Float {
	number := func() *big.Float { return new(big.Float).SetPrec(300) }
	q := number().Quo(x, bigExp(near))
	q.Sub(q, number().SetInt64(1))
	sum, power := number().SetFloat64(near), number().SetInt64(1)
	for i := range int64(10) {
		power.Mul(power, q)
		term := number().Quo(power, number().SetInt64(i+1))
		if i%2 == 1 {
			term.Neg(term)
		}
		sum.Add(sum, term)
	}
	return sum
}

// within tries a function on arguments against exact values, in units in the last
// place.
func within(t *testing.T, op ops.Op, most float64, exact func(x float64) *big.Float, args []float64) {
	t.Helper()
	withinUnits(t, op, args, most, func(x, _ float64) *big.Float { return exact(x) })
}

// scattered are numbers of either sign, of exponents between two.
func scattered(r *rand.Rand, n int, from, to float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Copysign(math.Exp2(from+(to-from)*r.Float64()), r.Float64()-0.5)
	}
	return x
}

// around are numbers on both sides of some, close and less close.
func around(r *rand.Rand, n int, centers ...float64) []float64 {
	var x []float64
	for _, c := range centers {
		for range n {
			x = append(x, c*(1+math.Copysign(math.Exp2(-1-51*r.Float64()), r.Float64()-0.5)))
		}
	}
	return x
}

func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }

// above keeps those arguments that are greater than least.
func above(least float64, x []float64) []float64 {
	return slices.DeleteFunc(x, func(v float64) bool { return !(v > least) })
}

// half and twice change the exponent of a big number.
func half(x *big.Float) *big.Float  { return x.SetMantExp(x, -1) }
func twice(x *big.Float) *big.Float { return x.SetMantExp(x, 1) }

func TestLogDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	args := append(scattered(r, 3000, -1074, 1024), scattered(r, 3000, -1, 1)...)
	args = append(args, around(r, 1000, 1, 0.6875, 1.375, 1-0x1p-8, 1+0x1p-7)...)
	args = append(args, 0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp-1023, math.MaxFloat64, 1+0x1p-52, 1-0x1p-53)
	within(t, ops.Log, 0.8, func(x float64) *big.Float {
		fraction, exponent := math.Frexp(x)
		return bigLog(bigOf(x), math.Log(fraction)+float64(exponent)*math.Ln2)
	}, above(0, args))
}

func TestLog1pDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	args := append(scattered(r, 5000, -1074, 1024), scattered(r, 3000, -60, 0)...)
	args = append(args, scattered(r, 3000, -10, 0)...)
	args = append(args, around(r, 1000, -1, 1, 0x1p-7, -0x1p-8, 0x1p1000, 0x1p53)...)
	within(t, ops.Log1p, 0.8, func(x float64) *big.Float {
		if math.Abs(x) < 0x1p-100 { // x - x²/2
			y := bigOf(x)
			return y.Sub(y, bigOf(x).Mul(bigOf(x/2), bigOf(x)))
		}
		y := bigOf(1)
		return bigLog(y.Add(y, bigOf(x)), math.Log1p(x))
	}, above(-1, args))
}

// bigArea is log(x + sqrt(x² + side)).
func bigArea(x, side, near float64) *big.Float {
	if x > 0x1p1000 {
		return bigLog(twice(bigOf(x)), math.Log(x)+math.Ln2)
	}
	y := bigOf(x)
	y.Mul(y, y).Add(y, bigOf(side)).Sqrt(y)
	return bigLog(y.Add(y, bigOf(x)), near)
}

func TestAreaDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	args := append(above(0, scattered(r, 5000, -80, 1024)), scattered(r, 5000, -12, 12)...)
	args = append(args, around(r, 1000, 1, -0x1p-4, 0x1p500)...)
	args = append(args, math.Nextafter(4, 0), 4)
	within(t, ops.Asinh, 1, func(x float64) *big.Float { return bigArea(x, 1, math.Asinh(x)) }, args)

	args = append(scattered(r, 3000, 0, 1024), scattered(r, 4000, 0, 4)...)
	args = append(args, around(r, 2000, 1, 1, 2, 0x1p500)...)
	within(t, ops.Acosh, 1, func(x float64) *big.Float { return bigArea(x, -1, math.Acosh(x)) }, above(1, args))

	args = append(scattered(r, 3000, -80, 0), scattered(r, 3000, -8, 0)...)
	args = append(args, around(r, 1000, -1, -0.5, -0x1p-9)...)
	args = append(args, math.Nextafter(0.9375, 0), 0.9375, math.Nextafter(1, 0))
	within(t, ops.Atanh, 1, func(x float64) *big.Float {
		up, down := bigOf(1), bigOf(1)
		up.Add(up, bigOf(x)).Quo(up, down.Sub(down, bigOf(x)))
		return half(bigLog(up, 2*math.Atanh(x)))
	}, above(-1, args))
}

func TestHyperbolicDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	args := append(scattered(r, 2000, -60, 9.47), scattered(r, 2000, -10, 5)...)
	args = append(args, around(r, 200, 0x1p-4, -0x1p-5, 0x1p-5, 22, 37, -700, 700)...)
	args = append(args, math.Nextafter(8, 0), math.Nextafter(-8, 0), math.Nextafter(4, 0), 8, -8, 4)
	args = slices.DeleteFunc(args, func(x float64) bool { return math.Abs(x) > 709.78 })
	within(t, ops.Expm1, 0.8, func(x float64) *big.Float {
		y := bigExp(x)
		return y.Sub(y, bigOf(1))
	}, args)
	within(t, ops.Sigmoid, 0.6, func(x float64) *big.Float {
		y := bigExp(x)
		return y.Quo(y, bigOf(1).Add(bigOf(1), y))
	}, append(above(-708, slices.Clone(args)), 710))
	within(t, ops.Tanh, 0.8, func(x float64) *big.Float {
		y := bigExp(2 * x)
		return bigOf(0).Sub(y, bigOf(1)).Quo(bigOf(0).Sub(y, bigOf(1)), y.Add(y, bigOf(1)))
	}, slices.DeleteFunc(slices.Clone(args), func(x float64) bool { return math.Abs(x) > 350 }))
	args = append(args, 710.2, -710.47)
	within(t, ops.Sinh, 0.8, func(x float64) *big.Float {
		y := bigExp(x)
		return half(y.Sub(y, bigOf(1).Quo(bigOf(1), y)))
	}, args)
	within(t, ops.Cosh, 0.6, func(x float64) *big.Float {
		y := bigExp(x)
		return half(y.Add(y, bigOf(1).Quo(bigOf(1), y)))
	}, args)
}

func TestCbrtDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 9))
	args := append(scattered(r, 5000, -1074, 1024), scattered(r, 20000, -2, 2)...)
	args = append(args, 8, -27, 1, 0x1p-1074, math.MaxFloat64)
	within(t, ops.Cbrt, 0.6, func(x float64) *big.Float { // a step of Newton's
		y := bigOf(math.Cbrt(x))
		rest := bigOf(0).Mul(y, y)
		rest.Quo(bigOf(x), rest).Sub(rest, y).Quo(rest, bigOf(3))
		return y.Add(y, rest)
	}, args)
}

// What is exact is given bit for bit: zeros and their signs, infinities, the ends of
// domains, overflow.
func TestHyperbolicEnds(t *testing.T) {
	minus, tiny := math.Copysign(0, -1), 0x1p-1074
	for op, pairs := range map[ops.Op][][2]float64{
		ops.Log:     {{0, -infinity}, {minus, -infinity}, {1, 0}, {-1, nan}, {infinity, infinity}, {-infinity, nan}},
		ops.Log1p:   {{0, 0}, {minus, minus}, {-1, -infinity}, {-1.5, nan}, {infinity, infinity}, {-infinity, nan}, {tiny, tiny}, {-tiny, -tiny}},
		ops.Expm1:   {{0, 0}, {minus, minus}, {infinity, infinity}, {-infinity, -1}, {-800, -1}, {-60, -1}, {710, infinity}, {tiny, tiny}, {-tiny, -tiny}},
		ops.Sigmoid: {{0, 0.5}, {minus, 0.5}, {infinity, 1}, {-infinity, 0}, {800, 1}, {-800, 0}, {-745.1, tiny}},
		ops.Tanh:    {{0, 0}, {minus, minus}, {infinity, 1}, {-infinity, -1}, {20, 1}, {-400, -1}, {tiny, tiny}, {-tiny, -tiny}},
		ops.Sinh:    {{0, 0}, {minus, minus}, {infinity, infinity}, {-infinity, -infinity}, {710.48, infinity}, {-1e300, -infinity}, {tiny, tiny}, {-tiny, -tiny}},
		ops.Cosh:    {{0, 1}, {minus, 1}, {infinity, infinity}, {-infinity, infinity}, {710.48, infinity}, {-1e300, infinity}, {tiny, 1}},
		ops.Asinh:   {{0, 0}, {minus, minus}, {infinity, infinity}, {-infinity, -infinity}, {tiny, tiny}, {-tiny, -tiny}},
		ops.Acosh:   {{1, 0}, {0.5, nan}, {-1, nan}, {-infinity, nan}, {infinity, infinity}},
		ops.Atanh:   {{0, 0}, {minus, minus}, {1, infinity}, {-1, -infinity}, {1.5, nan}, {-infinity, nan}, {tiny, tiny}, {-tiny, -tiny}},
		ops.Cbrt:    {{0, 0}, {minus, minus}, {infinity, infinity}, {-infinity, -infinity}, {8, 2}, {-27, -3}, {0x1p-1074, 0x1p-358}},
	} {
		for _, p := range append(pairs, [2]float64{nan, nan}) {
			got := own[op].one(p[0])
			if math.Float64bits(got) != math.Float64bits(p[1]) && (got == got || p[1] == p[1]) {
				t.Errorf("%v(%v) = %v, want %v", op, p[0], got, p[1])
			}
		}
	}
}
