package scalar

import (
	"math"
	"math/rand/v2"
	"testing"
)

// pair is a function of two operands with its oracles.
type pair struct {
	name  string
	draw  func(r *rand.Rand, bits int) (x, y float64)
	limit float64
	raw   bool // of subnormals, and where they are the result, it is the device's own
	f32   func(x, y float64) float64
	f64   func(x, y float64) scaled
}

var anything = sampler{low: -10, high: 10, near: []float64{0, 1, -1}}

func drawAny(r *rand.Rand, bits int) (x, y float64) {
	return anything.draw(r, bits), anything.draw(r, bits)
}

// drawPow spreads the results of x^y evenly over the exponents, overflow and
// underflow included, with whole y now and then.
func drawPow(r *rand.Rand, bits int) (x, y float64) {
	x = sampler{low: 0, high: 4, near: []float64{1, 1, 0}}.draw(r, bits)
	if bits == 32 {
		x = float64(float32(x))
	}
	span := map[int]float64{32: 310, 64: 2200}[bits]
	y = (r.Float64() - 0.5) * span / math.Log2(math.Abs(x))
	switch r.IntN(4) {
	case 0:
		y = math.Round(y)
		x = math.Copysign(x, r.Float64()-0.5)
	case 1:
		y = math.Round(y*2) / 2
	}
	return x, y
}

// drawNear draws a dividend of any size and a divisor below or above it.
func drawNear(r *rand.Rand, bits int) (x, y float64) {
	x, _ = drawAny(r, bits)
	if r.IntN(2) == 0 {
		return drawAny(r, bits)
	}
	y = x * math.Exp2((r.Float64()-0.8)*40)
	if r.IntN(4) == 0 {
		y = math.Round(y)
	}
	return x, y
}

// drawApart draws positive numbers of any exponents, the second with random,
// few or nearly all bits, or subnormal.
func drawApart(r *rand.Rand, _ int) (x, y float64) {
	const mantissa = 1<<52 - 1
	x = math.Float64frombits(r.Uint64() & (1<<63 - 1))
	b := r.Uint64() & (1<<63 - 1)
	switch r.IntN(4) {
	case 0:
		b |= mantissa
	case 1:
		b = b&^mantissa | r.Uint64()&(3<<29|3)
	case 2:
		b &= mantissa
	}
	return x, math.Float64frombits(b)
}

var pairs = []pair{
	{"pow(x, y)", drawPow, 2, false, math.Pow, powOracle},
	{"atan2(x, y)", drawNear, 2, true, math.Atan2, atan2Oracle},
	{"fmod(x, y)", drawNear, 0, false, math.Mod, func(x, y float64) scaled { return scaled{d(math.Mod(x, y)), 0} }},
	{"fmod(x, y)", drawApart, 0, false, math.Mod, func(x, y float64) scaled { return scaled{d(math.Mod(x, y)), 0} }},
	{"x / y", drawNear, 0.5001, true, func(x, y float64) float64 { return x / y }, nil},
}

func powOracle(x, y float64) scaled {
	sign := 1.0
	if x < 0 && math.Mod(y, 2) != 0 {
		sign = -1
	}
	e := ddExp(d(y).mul(ddLog(d(math.Abs(x)))))
	return scaled{e.v.mul(d(sign)), e.n}
}

// atan2Oracle keeps its products from overflowing.
func atan2Oracle(y, x float64) scaled {
	if max(math.Abs(x), math.Abs(y)) > 1e200 {
		x, y = x*0x1p-500, y*0x1p-500
	}
	return scaled{ddAtan2(d(y), d(x)), 0}
}

// drawPairs gives all pairs of special values, then samples.
func drawPairs(p pair, bits, n int) [][2]float64 {
	r := rand.New(rand.NewPCG(3, 4))
	var out [][2]float64
	for _, x := range specials {
		for _, y := range specials {
			out = append(out, [2]float64{x, y})
		}
	}
	for range n {
		x, y := p.draw(r, bits)
		out = append(out, [2]float64{x, y})
	}
	return out
}

func TestPairs32(t *testing.T) {
	for _, m := range pairs {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			xs := drawPairs(m, 32, samples())
			for _, dev := range devices {
				f := compile(t, m.name, F32, dev.env)
				worst, at := 0.0, [2]float64{}
				for _, v := range xs {
					x, y := float64(float32(v[0])), float64(float32(v[1]))
					raw := dev.model.LooseDiv && m.raw
					if (dev.model.Flush || raw) && (subnormal32(x) || subnormal32(y)) || raw && subnormal32(m.f32(x, y)) {
						continue
					}
					got := float(dev.model.Eval(f, floatBits(x, F32), floatBits(y, F32), 0))
					if u := ulps32(got, m.f32(x, y), dev.model.Flush); u > worst {
						worst, at = u, [2]float64{x, y}
					}
				}
				reportPair(t, dev.name, f, worst, at, m.limit)
			}
		})
	}
}

func subnormal32(x float64) bool { return x != 0 && math.Abs(x) < 0x1p-126 }

func TestPairs64(t *testing.T) {
	for _, m := range pairs {
		if m.f64 == nil {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for _, dev := range devices[:2] {
				f := compile(t, m.name, F64, dev.env)
				worst, at := 0.0, [2]float64{}
				for _, v := range drawPairs(m, 64, samples()/8) {
					x, y := v[0], v[1]
					want := scaled{d(m.f32(x, y)), 0}
					special := math.IsInf(x, 0) || math.IsInf(y, 0) || x == 0 || y == 0
					if !special && !math.IsNaN(want.v.hi) && want.v.hi != 0 {
						if w := m.f64(x, y); !math.IsNaN(w.v.hi) {
							want = w
						}
					}
					got := math.Float64frombits(dev.model.Eval(f, math.Float64bits(x), math.Float64bits(y), 0))
					if u := ulps64(got, want); u > worst {
						worst, at = u, [2]float64{x, y}
					}
				}
				reportPair(t, dev.name, f, worst, at, m.limit)
			}
		})
	}
}

func reportPair(t *testing.T, device string, f *Func, worst float64, at [2]float64, limit float64) {
	t.Helper()
	t.Logf("%s: %.2f ulp at %x, %d nodes", device, worst, at, len(f.Nodes))
	if worst > limit {
		t.Errorf("%s: %s%v: %.2f ulp, limit %g", device, f.Name, at, worst, limit)
	}
}
