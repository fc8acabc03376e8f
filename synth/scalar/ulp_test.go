package scalar

import (
	"math"
	"math/rand/v2"
)

// ulps32 is the distance of got from want in units in the last place of an
// f32. A device that flushes may give anything below the normal numbers for a want
// that is there.
func ulps32(got float32, want float64, flush bool) float64 {
	switch g := float64(got); {
	case math.IsNaN(want) || math.IsNaN(g):
		return differ(math.IsNaN(want) != math.IsNaN(g))
	case flush && math.Abs(want) < 0x1.00001p-126:
		return differ(math.Abs(g) > 0x1.00001p-126)
	case math.Abs(want) >= 0x1.ffffffp127:
		return differ(math.Abs(g) < math.MaxFloat32 || (g < 0) != (want < 0))
	case math.IsInf(g, 0):
		return differ(math.Abs(want) < 0x1.fffffcp127)
	case want == 0 || g == 0:
		if want == 0 && g == 0 {
			return differ(math.Signbit(want) != math.Signbit(g))
		}
		return math.Abs(g-want) / 0x1p-149
	default:
		return math.Abs(g-want) / math.Ldexp(1, max(exponentOf(want), -126)-23)
	}
}

// ulps64 is the same for f64.
func ulps64(got float64, want scaled) float64 {
	v, n := want.v, want.n
	e := exponentOf(v.hi) + n
	switch {
	case math.IsNaN(v.hi) || math.IsNaN(got):
		return differ(math.IsNaN(v.hi) != math.IsNaN(got))
	case math.IsInf(v.hi, 0) || e > 1024:
		return differ(math.Abs(got) < math.MaxFloat64 || (got < 0) != (v.hi < 0))
	case math.IsInf(got, 0):
		return differ(math.Ldexp(v.hi, n-10) < 0x1.fffffffffffffp1013)
	case v.hi == 0 && got == 0:
		return differ(math.Signbit(v.hi) != math.Signbit(got))
	}
	// In steps, so that the distance is not lost where the results are subnormal.
	unit := max(e, -1022) - 52
	return math.Abs(math.Ldexp(got, -unit) - math.Ldexp(v.hi, n-unit) - math.Ldexp(v.lo, n-unit))
}

func differ(bad bool) float64 {
	if bad {
		return math.Inf(1)
	}
	return 0
}

func exponentOf(x float64) int {
	_, e := math.Frexp(x)
	return e - 1
}

// sampler draws arguments: a third over all floats by their bits, a third
// evenly from an interval, a third close to given points.
type sampler struct {
	low, high float64
	near      []float64
	positive  bool
}

// specials are tried with every function.
var specials = []float64{0, math.Copysign(0, -1), 1, -1, 2, -2, 0.5, -0.5, math.Inf(1), math.Inf(-1), math.NaN(),
	math.MaxFloat32, -math.MaxFloat32, math.MaxFloat64, -math.MaxFloat64, 0x1p-126, -0x1p-126, 0x1p-149, -0x1p-149,
	0x1p-1022, -0x1p-1022, 5e-324, -5e-324, math.Pi, math.Pi / 2, -math.Pi / 4, 3, -3, 1e10, 1e22}

func (s sampler) draw(r *rand.Rand, bits int) float64 {
	var x float64
	switch k := r.IntN(3); {
	case k == 0 && bits == 32:
		x = float64(math.Float32frombits(r.Uint32()))
	case k == 0:
		x = math.Float64frombits(r.Uint64())
	case k == 1 || len(s.near) == 0:
		x = s.low + (s.high-s.low)*r.Float64()
	default:
		p := s.near[r.IntN(len(s.near))]
		x = p + math.Copysign(math.Ldexp(r.Float64(), -r.IntN(bits*7/8)), r.Float64()-0.5)*max(math.Abs(p), 0x1p-30)
	}
	if s.positive {
		x = math.Abs(x)
	}
	return x
}

// quarterTurns are floats close to multiples of pi/2, of all sizes.
func quarterTurns(bits int) []float64 {
	r := rand.New(rand.NewPCG(7, 7))
	var out []float64
	for range 500 {
		n := math.Floor(math.Exp2(r.Float64() * float64(bits) * 1.5))
		out = append(out, n*math.Pi/2)
	}
	return out
}
