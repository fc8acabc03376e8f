package hostmath

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
)

// infinity is the positive one.
var infinity = math.Inf(1)

// gomath has what package math computes in the place of a host function.
var gomath = map[ops.Op]func(float64) float64{
	ops.Exp: math.Exp, ops.Expm1: math.Expm1, ops.Log: math.Log, ops.Log1p: math.Log1p,
	ops.Sigmoid: func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	ops.Sin:     math.Sin, ops.Cos: math.Cos, ops.Tan: math.Tan,
	ops.Asin: math.Asin, ops.Acos: math.Acos, ops.Atan: math.Atan,
	ops.Sinh: math.Sinh, ops.Cosh: math.Cosh, ops.Tanh: math.Tanh,
	ops.Asinh: math.Asinh, ops.Acosh: math.Acosh, ops.Atanh: math.Atanh,
	ops.Cbrt: math.Cbrt, ops.Erf: math.Erf, ops.Erfc: math.Erfc, ops.ErfInv: math.Erfinv,
}

// own are the functions of this package, by operation: of one number, and of a slice.
var own = map[ops.Op]struct {
	one  func(float64) float64
	each func([]float64)
}{
	ops.Exp: {Exp, ExpEach}, ops.Expm1: {Expm1, nil}, ops.Log: {Log, LogEach}, ops.Log1p: {Log1p, Log1pEach},
	ops.Sigmoid: {Sigmoid, SigmoidEach},
	ops.Sin:     {Sin, SinEach}, ops.Cos: {Cos, CosEach}, ops.Tan: {Tan, nil},
	ops.Asin: {Asin, AsinEach}, ops.Acos: {Acos, AcosEach}, ops.Atan: {Atan, AtanEach},
	ops.Sinh: {Sinh, SinhEach}, ops.Cosh: {Cosh, CoshEach}, ops.Tanh: {Tanh, TanhEach},
	ops.Asinh: {Asinh, AsinhEach}, ops.Acosh: {Acosh, AcoshEach}, ops.Atanh: {Atanh, AtanhEach},
	ops.Cbrt: {Cbrt, nil}, ops.Phase: {Phase, PhaseEach}, ops.Erf: {Erf, ErfEach}, ops.Erfc: {Erfc, ErfcEach}, ops.ErfInv: {ErfInv, ErfInvEach},
}

// apart is how many units in the last place the results of package math are from those of
// this package, at most, of numbers of all sizes in the domain.
func apart(op ops.Op) float64 {
	r := rand.New(rand.NewPCG(3, 3))
	worst := 0.0
	for i := range 200_000 {
		x := everyScale(r, -3, 3)
		if i%2 == 0 {
			x = everyScale(r, -1000, 1000)
		}
		switch op {
		case ops.Log:
			x = math.Abs(x)
		case ops.Acosh:
			x = 1 + math.Abs(x)
		case ops.Log1p:
			x = math.Max(x, 1e-9-1)
		case ops.Asin, ops.Acos, ops.Atanh, ops.ErfInv:
			if math.Abs(x) > 1 {
				x = math.Copysign(r.Float64(), x)
			}
		}
		y, other := own[op].one(x), gomath[op](x)
		if size := math.Abs(y); size > 1e-300 && y != other {
			worst = max(worst, math.Abs(y-other)/(math.Nextafter(size, infinity)-size))
		}
	}
	return worst
}

// BenchmarkGoMath times functions against those of package math, in loops over numbers of
// a normal distribution, or of their domain. The package document has its figures.
func BenchmarkGoMath(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const n = 4096
	src, x := make([]float64, n), make([]float64, n)
	for op := ops.Op(0); op < ops.Count; op++ {
		f := gomath[op]
		if f == nil {
			continue
		}
		for i := range src {
			v := r.NormFloat64() * 3
			switch op {
			case ops.Log, ops.Acosh:
				v = 1 + math.Abs(v)
			case ops.Log1p:
				v = math.Abs(v)
			case ops.Asin, ops.Acos, ops.Atanh, ops.ErfInv:
				v = 2*r.Float64() - 1
			}
			src[i] = v
		}
		mine := own[op]
		b.Run(fmt.Sprintf("%v/own", op), func(b *testing.B) {
			for b.Loop() {
				copy(x, src)
				if mine.each != nil {
					mine.each(x)
				} else {
					for i, v := range x {
						x[i] = mine.one(v)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/elem")
		})
		b.Run(fmt.Sprintf("%v/math", op), func(b *testing.B) {
			for b.Loop() {
				copy(x, src)
				for i, v := range x {
					x[i] = f(v)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/elem")
			b.ReportMetric(apart(op), "ulp")
		})
	}
	second := make([]float64, n)
	for i := range src {
		src[i], second[i] = math.Exp(r.NormFloat64()), 3*r.NormFloat64()
	}
	for name, f := range map[string][2]func(x, y float64) float64{"pow": {Pow, math.Pow}, "atan2": {Atan2, math.Atan2}} {
		for i, which := range []string{"own", "math"} {
			b.Run(name+"/"+which, func(b *testing.B) {
				g := f[i]
				for b.Loop() {
					for k, v := range src {
						x[k] = g(v, second[k])
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/elem")
			})
		}
	}
}
