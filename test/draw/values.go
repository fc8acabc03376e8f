package draw

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"nxvk/fallback"
	"nxvk/ops"
)

// Sampler draws operands. The same seed gives the same values.
type Sampler struct{ *rand.Rand }

// New returns the sampler of a seed.
func New(seed uint64) Sampler { return Sampler{rand.New(rand.NewPCG(seed, 7))} }

// Number draws one element from a domain.
func (s Sampler) Number(t ops.DType, d ops.Domain, last bool) float64 {
	if t.IsInteger() {
		return s.integer(t, d, last)
	}
	switch wide := 2*s.Float64() - 1; d {
	case ops.Positive:
		return math.Exp2(40 * wide)
	case ops.Unit, ops.OpenUnit:
		return wide
	case ops.AboveOne:
		return 1 + math.Exp2(20*wide)
	case ops.NonZero:
		if last {
			return math.Copysign(0.1+4*s.Float64(), wide)
		}
		return 100 * wide
	case ops.Small:
		if last {
			return 4 * wide
		}
		return 4 * s.Float64()
	default:
		return wide * math.Exp2(12*s.Float64()-4)
	}
}

func (s Sampler) integer(t ops.DType, d ops.Domain, last bool) float64 {
	bits := t.Bits()
	span := math.Exp2(float64(min(bits, 52)))
	v := math.Floor(s.Float64() * span)
	if t.Class() == ops.Signed {
		v -= span / 2
	}
	switch {
	case d == ops.ShiftBy && last:
		return float64(s.IntN(max(bits-1, 1)))
	case d == ops.Small && last:
		return float64(s.IntN(4))
	case d == ops.NonZero && last && v == 0:
		return 1
	case s.IntN(4) == 0:
		return math.Mod(v, 5)
	}
	return v
}

// Encode writes numbers as elements of a type; NaN is the one that Nx writes.
func Encode(v []float64, t ops.Type) []byte {
	raw := make([]byte, 0, 8*len(v))
	for _, x := range v {
		bits := math.Float64bits(x)
		if x != x {
			bits = 0x7FF8 << 48 // Go's has another bit
		}
		raw = binary.LittleEndian.AppendUint64(raw, bits)
	}
	out := make([]byte, t.Bytes())
	src := fallback.Value{Type: ops.Type{DType: ops.F64, Shape: t.Shape}, Data: raw}
	if err := fallback.Convert(fallback.Value{Type: t, Data: out}, src); err != nil {
		panic("BUG: " + err.Error())
	}
	return out
}

// Decode reads elements of a type as numbers.
func Decode(data []byte, t ops.Type) []float64 {
	raw := make([]byte, 8*t.Size())
	dst := fallback.Value{Type: ops.Type{DType: ops.F64, Shape: t.Shape}, Data: raw}
	if err := fallback.Convert(dst, fallback.Value{Type: t, Data: data}); err != nil {
		panic("BUG: " + err.Error())
	}
	v := make([]float64, t.Size())
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	return v
}
