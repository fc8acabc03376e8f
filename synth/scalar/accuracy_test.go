package scalar

import (
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/test/fewtest"
)

// measured is a function of the library with its oracles.
type measured struct {
	name    string
	sampler sampler
	limit   float64 // units in the last place
	raw     bool    // of subnormals it is the device's own
	f32     func(x float64) float64
	f64     func(x float64) scaled
}

// exactly makes an f64 oracle of one that has no need of an exponent.
func exactly(f func(x dd) dd) func(float64) scaled {
	return func(x float64) scaled { return scaled{f(d(x)), 0} }
}

var functions = []measured{
	{"exp(x)", sampler{low: -90, high: 90, near: []float64{0, 88.7, -87.3, -103.9, 709.7, -708.4, -745}}, 2, false, math.Exp,
		func(x float64) scaled { return ddExp(d(x)) }},
	{"expm1(x)", sampler{low: -20, high: 90, near: []float64{0, 1, -1, 88.7, 709.7}}, 2, false, math.Expm1,
		func(x float64) scaled { return ddExpm1(d(x)) }},
	{"log(x)", sampler{low: 0, high: 4, near: []float64{1, 0}}, 2, false, math.Log, exactly(ddLog)},
	{"log1p(x)", sampler{low: -1, high: 4, near: []float64{0, -1, 1}}, 2, false, math.Log1p, exactly(ddLog1p)},
	{"sigmoid(x)", sampler{low: -110, high: 40, near: []float64{0, -87.3, -708.4}}, 2, false,
		func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, sigmoidOracle},
	{"sin(x)", sampler{low: -2000, high: 2000, near: quarterTurns(32)}, 2, false, math.Sin,
		func(x float64) scaled { s, _ := ddTrig(x); return scaled{s, 0} }},
	{"cos(x)", sampler{low: -2000, high: 2000, near: quarterTurns(32)}, 2, false, math.Cos,
		func(x float64) scaled { _, c := ddTrig(x); return scaled{c, 0} }},
	{"tan(x)", sampler{low: -2000, high: 2000, near: quarterTurns(32)}, 2, false, math.Tan,
		func(x float64) scaled { s, c := ddTrig(x); return scaled{s.div(c), 0} }},
	{"sinh(x)", sampler{low: -5, high: 5, near: []float64{0, 1, -1, 89.4, 710.4}}, 2, false, math.Sinh, sinhOracle},
	{"cosh(x)", sampler{low: -5, high: 5, near: []float64{0, 1, -1, 89.4, 710.4}}, 2, false, math.Cosh, coshOracle},
	{"tanh(x)", sampler{low: -10, high: 10, near: []float64{0, 0.17, -0.35, 0.52, -0.6, 1, 9.01, 10}}, 2, false, math.Tanh, exactly(ddTanh)},
	{"asin(x)", sampler{low: -1, high: 1, near: []float64{0, 0.5, -0.5, 1, -1}}, 2, false, math.Asin, exactly(ddAsin)},
	{"acos(x)", sampler{low: -1, high: 1, near: []float64{0, 0.5, -0.5, 1, -1}}, 2, false, math.Acos, exactly(ddAcos)},
	{"atan(x)", sampler{low: -3, high: 3, near: []float64{0, 1, -1}}, 2, false, math.Atan,
		exactly(func(x dd) dd { return ddAtan2(x, one) })},
	{"asinh(x)", sampler{low: -3, high: 3, near: []float64{0, 1.18, -1.18}}, 2, false, math.Asinh, exactly(ddAsinh)},
	{"acosh(x)", sampler{low: 1, high: 4, near: []float64{1, 2}}, 2, false, math.Acosh, exactly(ddAcosh)},
	{"atanh(x)", sampler{low: -1, high: 1, near: []float64{0, 0.77, 1, -1}}, 2, false, math.Atanh, exactly(ddAtanh)},
	{"sqrt(x)", sampler{low: 0, high: 4, near: []float64{1}, positive: true}, 0.5001, true, math.Sqrt, nil},
	{"rsqrt(x)", sampler{low: 0, high: 4, near: []float64{1}, positive: true}, 2, true,
		func(x float64) float64 { return 1 / math.Sqrt(x) }, nil},
	{"cbrt(x)", sampler{low: -8, high: 8, near: []float64{1, 8}}, 2, false, math.Cbrt,
		func(x float64) scaled { return scaled{ddCbrt(x), 0} }},
	{"erf(x)", sampler{low: -5, high: 5, near: []float64{0, 1, -1}}, 2, false, math.Erf, exactly(ddErf)},
	{"erfc(x)", sampler{low: -3, high: 27.5, near: []float64{0, 0.5, -0.5, 9.2, 10}}, 2, false, math.Erfc,
		func(x float64) scaled { return ddErfc(d(x)) }},
	{"erf_inv(x)", sampler{low: -1, high: 1, near: []float64{0, 1, -1, 0.999}}, 2, false, math.Erfinv,
		func(x float64) scaled { return scaled{ddErfInv(x), 0} }},
}

func sigmoidOracle(x float64) scaled {
	if x >= 0 {
		return scaled{one.div(one.add(ddExp(d(-x)).dd())), 0}
	}
	e := ddExp(d(x))
	if e.n < -120 {
		return e
	}
	return scaled{e.dd().div(one.add(e.dd())), 0}
}

func sinhOracle(x float64) scaled {
	e := ddExpm1(d(math.Abs(x)))
	sign := d(math.Copysign(0.5, x))
	if e.n > 0 {
		return scaled{e.v.mul(sign), e.n}
	}
	return scaled{e.v.add(e.v.div(e.v.add(one))).mul(sign), 0}
}

func coshOracle(x float64) scaled {
	e := ddExp(d(math.Abs(x)))
	if e.n > 60 {
		return scaled{e.v.scale(0.5), e.n}
	}
	return scaled{e.dd().add(one.div(e.dd())).scale(0.5), 0}
}

func ddTanh(x dd) dd {
	if math.Abs(x.hi) > 40 {
		return d(math.Copysign(1, x.hi))
	}
	e := ddExpm1(x.scale(2)).dd()
	return e.div(e.add(two))
}

func ddAsin(x dd) dd { return ddAtan2(x, one.sub(x).mul(one.add(x)).sqrt()) }
func ddAcos(x dd) dd { return ddAtan2(one.sub(x).mul(one.add(x)).sqrt(), x) }

func ddAsinh(x dd) dd {
	a := x.abs()
	var r dd
	if a.hi > 1e100 {
		r = ddLog(a).add(ddLn2)
	} else {
		z := a.mul(a)
		r = ddLog1p(a.add(z.div(one.add(one.add(z).sqrt()))))
	}
	if x.hi < 0 {
		return r.neg()
	}
	return r
}

func ddAcosh(x dd) dd {
	if x.hi > 1e100 {
		return ddLog(x).add(ddLn2)
	}
	t := x.sub(one)
	return ddLog1p(t.add(t.mul(t.add(two)).sqrt()))
}

func ddAtanh(x dd) dd {
	a := x.abs()
	r := ddLog1p(a.scale(2).div(one.sub(a))).scale(0.5)
	if x.hi < 0 {
		return r.neg()
	}
	return r
}

// device is a model with the environment that it is compiled for.
type device struct {
	name  string
	env   Env
	model Model
}

var devices = []device{
	{"ieee", Env{PreciseDiv: true, Subnormals: true}, Model{}},
	{"split fma", Env{PreciseDiv: true, Subnormals: true}, Model{SplitFma: true}},
	{"flush, loose division, no NaN", Env{}, Model{Flush: true, LooseDiv: true, DropNaN: true}},
	{"loose division", Env{Subnormals: true}, Model{LooseDiv: true}},
	{"loose exponential", Env{Exp2: true}, Model{Flush: true, LooseDiv: true, LooseExp2: true}},
	{"loose exponential, subnormals", Env{Exp2: true, Subnormals: true}, Model{LooseDiv: true, LooseExp2: true}},
}

func samples() int { return fewtest.Of(1<<16, 1<<14) }

func compile(t *testing.T, expression string, typ Type, env Env) *Func {
	t.Helper()
	f, err := Compile(expression, typ, operands(typ), env)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Functions of one f32 stay within their limit on every kind of device.
func TestAccuracy32(t *testing.T) {
	for _, m := range functions {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			xs := draw(m.sampler, 32, samples())
			want := make([]float64, len(xs))
			for i, x := range xs {
				xs[i] = float64(float32(x))
				want[i] = m.f32(xs[i])
			}
			for _, dev := range devices {
				f := compile(t, m.name, F32, dev.env)
				worst, at := 0.0, 0.0
				for i, x := range xs {
					if (dev.model.Flush || dev.model.LooseDiv && m.raw) && math.Abs(x) < 0x1p-126 && x != 0 {
						continue
					}
					got := float(dev.model.Eval(f, floatBits(x, F32), 0, 0))
					if u := ulps32(got, want[i], dev.model.Flush); u > worst {
						worst, at = u, x
					}
				}
				report(t, dev.name, f, worst, at, m.limit)
			}
		})
	}
}

// Functions of one f64 stay within their limit.
func TestAccuracy64(t *testing.T) {
	for _, m := range functions {
		if m.f64 == nil {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			xs := draw(m.sampler, 64, samples()/8)
			want := make([]scaled, len(xs))
			for i, x := range xs {
				want[i] = oracle64(m, x)
			}
			for _, dev := range devices[:2] {
				f := compile(t, m.name, F64, dev.env)
				worst, at := 0.0, 0.0
				for i, x := range xs {
					got := math.Float64frombits(dev.model.Eval(f, math.Float64bits(x), 0, 0))
					if u := ulps64(got, want[i]); u > worst {
						worst, at = u, x
					}
				}
				report(t, dev.name, f, worst, at, m.limit)
			}
		})
	}
}

// oracle64 takes the answer of Go's library where it is not a finite number or
// x is special.
func oracle64(m measured, x float64) scaled {
	plain := m.f32(x)
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(plain) || math.Abs(x) < 1e-30 && plain == x {
		return scaled{d(plain), 0}
	}
	if y := m.f64(x); !math.IsNaN(y.v.hi) {
		return y
	}
	return scaled{d(plain), 0}
}

func draw(s sampler, bits, n int) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	xs := append([]float64(nil), specials...)
	for range n {
		xs = append(xs, s.draw(r, bits))
	}
	return xs
}

func report(t *testing.T, device string, f *Func, worst, at, limit float64) {
	t.Helper()
	t.Logf("%s: %.2f ulp at %x, %d nodes", device, worst, at, len(f.Nodes))
	if worst > limit {
		t.Errorf("%s: %s(%g = %x): %.2f ulp, limit %g", device, f.Name, at, at, worst, limit)
	}
}
