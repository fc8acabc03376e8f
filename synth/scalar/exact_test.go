package scalar

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// bitsOf draws operands: special floats, small integers, and anything.
func bitsOf(r *rand.Rand, t Type) uint64 {
	switch k := r.IntN(4); {
	case k == 0 && t.Float():
		return floatBits(specials[r.IntN(len(specials))], t)
	case k == 0:
		return []uint64{0, 1, ^uint64(0), 1 << 31, 1<<31 - 1, 1 << 63, 1<<63 - 1, 31, 32, 63, 64}[r.IntN(11)] & widthMask(t)
	case k == 1:
		small := float64(r.IntN(40) - 20)
		if t.Float() {
			return floatBits(small/2, t)
		}
		return uint64(int64(small)) & widthMask(t)
	}
	return r.Uint64() & widthMask(t)
}

// exactFloats are functions that give the same bits as Go's library; NaN is any
// NaN.
var exactFloats = map[string]func(x, y, z float64) float64{
	"abs(x)":     func(x, y, z float64) float64 { return math.Abs(x) },
	"-x":         func(x, y, z float64) float64 { return -x },
	"floor(x)":   func(x, y, z float64) float64 { return math.Floor(x) },
	"ceil(x)":    func(x, y, z float64) float64 { return math.Ceil(x) },
	"round(x)":   func(x, y, z float64) float64 { return math.Round(x) },
	"fmax(x, y)": func(x, y, z float64) float64 { return larger(x, y) },
	"fmin(x, y)": func(x, y, z float64) float64 { return -larger(-x, -y) },
	"clip(x, y, z)": func(x, y, z float64) float64 {
		if !(x > y) {
			x = y
		}
		if !(x < z) {
			x = z
		}
		return x
	},
	"sign(x)": func(x, y, z float64) float64 {
		if x == 0 || math.IsNaN(x) {
			return x
		}
		return math.Copysign(1, x)
	},
	"isnan(x) ? 1 : 0": func(x, y, z float64) float64 { return map[bool]float64{true: 1}[math.IsNaN(x)] },
	"isinf(x) ? 1 : 0": func(x, y, z float64) float64 { return map[bool]float64{true: 1}[math.IsInf(x, 0)] },
}

// larger is math.Max, except that NaN wins over infinity.
func larger(x, y float64) float64 {
	if math.IsNaN(x) || math.IsNaN(y) {
		return math.NaN()
	}
	return math.Max(x, y)
}

// These hold on a device that flushes subnormals too, but for rounding to
// integers, where a subnormal may count as zero.
func TestExactFloats(t *testing.T) {
	for name, want := range exactFloats {
		for _, typ := range []Type{F32, F64} {
			for _, dev := range devices {
				f := compile(t, name, typ, dev.env)
				r := rand.New(rand.NewPCG(5, 6))
				for range 20000 {
					a, b, c := bitsOf(r, typ), bitsOf(r, typ), bitsOf(r, typ)
					x, y, z := floatValue(typ, a), floatValue(typ, b), floatValue(typ, c)
					if dev.model.Flush && (name == "ceil(x)" || name == "floor(x)") && subnormal32(x) {
						continue
					}
					got, w := floatValue(typ, dev.model.Eval(f, a, b, c)), want(x, y, z)
					if got != w && !(math.IsNaN(got) && math.IsNaN(w)) {
						t.Fatalf("%s: %s of %s: %g, %g, %g give %g, want %g", dev.name, name, typ, x, y, z, got, w)
					}
				}
			}
		}
	}
}

// exactInts are integer functions with Go's own as their oracle, on values
// extended to 64 bits; w is the width.
var exactInts = map[string]struct {
	signed   func(x, y int64, w int) int64
	unsigned func(x, y uint64, w int) uint64
}{
	"idiv(x, y)": {
		func(x, y int64, w int) int64 {
			if y == 0 {
				return -1
			}
			return x / y
		},
		func(x, y uint64, w int) uint64 {
			if y == 0 {
				return ^uint64(0)
			}
			return x / y
		}},
	"irem(x, y)": {
		func(x, y int64, w int) int64 {
			if y == 0 {
				return x
			}
			return x % y
		},
		func(x, y uint64, w int) uint64 {
			if y == 0 {
				return x
			}
			return x % y
		}},
	"shl(x, y)": {
		func(x, y int64, w int) int64 { return x << min(uint64(y), 64) },
		func(x, y uint64, w int) uint64 { return x << min(y, 64) }},
	"shr(x, y)": {
		func(x, y int64, w int) int64 { return x >> min(uint64(y), 64) },
		func(x, y uint64, w int) uint64 { return x >> min(y, 64) }},
	"clz(x)": {
		func(x, y int64, w int) int64 {
			return int64(bits.LeadingZeros64(uint64(x)&(^uint64(0)>>(64-w))) - (64 - w))
		},
		func(x, y uint64, w int) uint64 { return uint64(bits.LeadingZeros64(x) - (64 - w)) }},
	"popcount(x)": {
		func(x, y int64, w int) int64 { return int64(bits.OnesCount64(uint64(x) & (^uint64(0) >> (64 - w)))) },
		func(x, y uint64, w int) uint64 { return uint64(bits.OnesCount64(x)) }},
	"ipow(x, y)": {signedPower, func(x, y uint64, w int) uint64 { return power(x, y) }},
}

func power(x, y uint64) uint64 {
	p := uint64(1)
	for ; y > 0; y >>= 1 {
		if y&1 != 0 {
			p *= x
		}
		x *= x
	}
	return p
}

func signedPower(x, y int64, _ int) int64 {
	switch {
	case y >= 0:
		return int64(power(uint64(x), uint64(y)))
	case x == 1 || x == -1 && y&1 == 0:
		return 1
	case x == -1:
		return -1
	}
	return 0
}

func TestExactInts(t *testing.T) {
	for name, want := range exactInts {
		for typ := I32; typ <= U64; typ++ {
			f := compile(t, name, typ, Env{})
			r := rand.New(rand.NewPCG(5, 6))
			for range 20000 {
				a, b := bitsOf(r, typ), bitsOf(r, typ)
				w := want.unsigned(a, b, typ.Width())
				if typ.Signed() {
					w = uint64(want.signed(signed(typ, a), signed(typ, b), typ.Width()))
				}
				if got := f.Eval(a, b, 0); got != w&widthMask(typ) {
					t.Fatalf("%s of %s: %#x, %#x give %#x, want %#x", name, typ, a, b, got, w&widthMask(typ))
				}
			}
		}
	}
}

// Quotients and remainders of integers of 8 and 16 bits, which are computed in f32, are those of
// Go's division on every kind of device: of all pairs of 8 bits, and of 16 bits for all dividends
// near multiples of drawn divisors and beside drawn ones.
func TestShortDivision(t *testing.T) {
	for _, dev := range devices {
		for _, typ := range []Type{I32, U32} {
			for _, width := range []int{8, 16} {
				t.Run(fmt.Sprintf("%s/%s/%d", dev.name, typ, width), func(t *testing.T) {
					t.Parallel()
					d := newShortDivision(t, dev, typ, width)
					if width == 8 {
						for n := range 1 << 16 {
							d.check(t, n>>8, n)
						}
						return
					}
					r := rand.New(rand.NewPCG(uint64(typ), 9))
					for range 1000 {
						y := r.IntN(1<<16) >> r.IntN(16)
						for range 8 {
							q := r.IntN(1<<16) / max(1, y&(1<<15-1))
							for off := -1; off <= 1; off++ {
								d.check(t, q*y+off, y)
							}
							d.check(t, r.IntN(1<<16), y)
						}
					}
					for n := range 1 << 16 {
						for _, special := range []int{3, 1 << 15, 1<<16 - 1} {
							d.check(t, n, special)
							d.check(t, special, n)
						}
					}
				})
			}
		}
	}
}

// shortDivision is a division of integers of fewer bits than they are computed in.
type shortDivision struct {
	device
	typ      Type
	width    int
	div, rem *Func
}

func newShortDivision(t *testing.T, dev device, typ Type, width int) *shortDivision {
	env := dev.env
	env.Bits = width
	return &shortDivision{dev, typ, width, compile(t, "idiv(x, y)", typ, env), compile(t, "irem(x, y)", typ, env)}
}

// check compares what the low bits of x and y give with Go's division.
func (d *shortDivision) check(t *testing.T, x, y int) {
	t.Helper()
	x, y = d.value(x), d.value(y)
	div, rem := -1, x
	if y != 0 {
		div, rem = x/y, x%y
	}
	a, b := uint64(x)&widthMask(d.typ), uint64(y)&widthMask(d.typ)
	if got := int(d.model.Eval(d.div, a, b)); d.value(got) != d.value(div) {
		t.Fatalf("%d / %d is %d, want %d", x, y, d.value(got), d.value(div))
	}
	if got := int(d.model.Eval(d.rem, a, b)); d.value(got) != d.value(rem) {
		t.Fatalf("%d %% %d is %d, want %d", x, y, d.value(got), d.value(rem))
	}
}

// value is the number that the low bits of x are.
func (d *shortDivision) value(x int) int {
	x &= 1<<d.width - 1
	if d.typ.Signed() && x >= 1<<(d.width-1) {
		x -= 1 << d.width
	}
	return x
}

// A float too large for an integer type becomes the nearest of its values.
func TestSaturation(t *testing.T) {
	for _, c := range []struct {
		name string
		x    float64
		want uint64
	}{
		{"to_i32(x)", math.NaN(), 0}, {"to_i32(x)", math.Inf(1), 1<<31 - 1}, {"to_i32(x)", -1e30, 1 << 31}, {"to_i32(x)", -2.75, 1<<32 - 2},
		{"to_u32(x)", -1, 0}, {"to_u32(x)", 1e30, 1<<32 - 1}, {"to_u32(x)", 3e9, 3e9}, {"to_u32(x)", math.NaN(), 0},
		{"to_i64(x)", math.NaN(), 0}, {"to_i64(x)", math.Inf(-1), 1 << 63}, {"to_i64(x)", 1e30, 1<<63 - 1}, {"to_i64(x)", -2.75, 1<<64 - 2},
		{"to_u64(x)", -1, 0}, {"to_u64(x)", 0x1p63, 1 << 63}, {"to_u64(x)", 1e30, 1<<64 - 1}, {"to_u64(x)", math.NaN(), 0},
	} {
		for _, typ := range []Type{F32, F64} {
			f := compile(t, c.name, typ, Env{})
			if got := f.Eval(floatBits(c.x, typ), 0, 0); got != c.want {
				t.Errorf("%s of %s %g: got %#x, want %#x", c.name, typ, c.x, got, c.want)
			}
		}
	}
}

// fma32 rounds the exact value once; sums that nearly cancel and sums with a
// tiny addend are those that go wrong otherwise.
func TestFmaRoundsOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 50000 {
		x := math.Float32frombits(r.Uint32()&0x807fffff | 0x3f800000)
		y := math.Float32frombits(r.Uint32()&0x80780000 | uint32(100+r.IntN(60))<<23)
		z := float32(math.Ldexp(float64(-x*y), -r.IntN(60)))
		p := new(big.Float).SetPrec(400).Mul(big.NewFloat(float64(x)), big.NewFloat(float64(y)))
		want, _ := p.Add(p, big.NewFloat(float64(z))).Float32()
		if got := fma32(x, y, z); got != want {
			t.Fatalf("%x * %x + %x: got %x, want %x", x, y, z, got, want)
		}
	}
}
