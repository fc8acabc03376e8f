package scalar

import (
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/test/fewtest"
)

// halves are all numbers of f16, and bfloats all of bf16, as f32.
func halves() (xs []float64) {
	for c := range 1 << 16 {
		e, m := c>>10&31, c&1023
		x := math.Ldexp(float64(m), -24)
		if e == 31 {
			continue
		}
		if e > 0 {
			x = math.Ldexp(float64(1024+m), e-25)
		}
		xs = append(xs, math.Copysign(x, float64(-(c>>15))))
	}
	return xs
}

func bfloats() (xs []float64) {
	for c := range uint32(1 << 16) {
		xs = append(xs, float64(math.Float32frombits(c<<16)))
	}
	return xs
}

// narrowModels are devices with an exponential that is off by nothing or by a unit.
var narrowModels = []Model{{}, {LooseDiv: true, LooseExp2: true}}

// checkNarrow compares a result with the oracle's: its relative error is at most limit, and
// a result of eight bits is not below them.
func checkNarrow(t *testing.T, f *Func, m Model, limit, want float64, args ...float64) {
	t.Helper()
	var bits [3]uint64
	for i, x := range args {
		bits[i] = floatBits(x, F32)
	}
	got := float64(float(m.Eval(f, bits[0], bits[1], bits[2])))
	single := float64(float32(want))
	switch {
	case math.IsNaN(want) && math.IsNaN(got), got == single:
	case math.IsNaN(want) != math.IsNaN(got), math.IsInf(single, 0) != math.IsInf(got, 0) && math.Abs(single) < 0x1.fffp127 && math.Abs(got) < 0x1.fffp127:
		t.Fatalf("%s%v is %v, want %v", f.Name, args, got, want)
	case math.Abs(single) < 0x1p-126:
		if math.Abs(got-want) > 0x1p-140 {
			t.Fatalf("%s%v is %v, want %v", f.Name, args, got, want)
		}
	case !(math.Abs(got-want) <= limit*math.Abs(want)) && !math.IsInf(single, 0):
		t.Fatalf("%s%v is %v, want %v: relative error 2^%.1f", f.Name, args, got, want, math.Log2(math.Abs(got/want-1)))
	case single == want && math.Float32bits(float32(want))&0xffff == 0 &&
		math.Float32bits(float32(got))>>16 != math.Float32bits(float32(want))>>16:
		t.Fatalf("%s%v is %v, which bf16 does not have as %v", f.Name, args, got, want)
	}
}

// Functions of elements of 16 bits are right to more bits than these have, for all of them; with -short for one in five.
func TestNarrowFunctions(t *testing.T) {
	xs := append(halves(), bfloats()...)
	for _, m := range functions {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			f := compile(t, m.name, F32, Env{Bits: 16, Exp2: true, Subnormals: true})
			for _, dev := range narrowModels {
				for i, x := range xs {
					if !fewtest.OneIn(5, i) { // no power of two: fractions of every kind
						continue
					}
					if m.sampler.positive && x < 0 || m.raw && math.Abs(x) < 0x1p-126 {
						continue
					}
					checkNarrow(t, f, dev, 0x1p-15, m.f32(x), x)
				}
			}
		})
	}
}

// Powers of elements of 16 bits likewise, whole powers of small numbers among them.
func TestNarrowPowers(t *testing.T) {
	f := compile(t, "pow(x, y)", F32, Env{Bits: 16, Exp2: true, Subnormals: true})
	r := rand.New(rand.NewPCG(5, 6))
	for _, dev := range narrowModels {
		for x := -16.0; x <= 16; x++ {
			for y := -8.0; y <= 8; y += 0.5 {
				checkNarrow(t, f, dev, 0x1p-14, math.Pow(x, y), x, y)
			}
		}
		for range samples() {
			x, y := drawPow(r, 32)
			x, y = float64(math.Float32frombits(math.Float32bits(float32(x))&^0xffff)), float64(math.Float32frombits(math.Float32bits(float32(y))&^0xffff))
			if want := math.Pow(x, y); math.Abs(want) < 0x1p100 && math.Abs(want) > 0x1p-100 {
				checkNarrow(t, f, dev, 0x1p-14, want, x, y)
			}
		}
	}
}

// Quotients of elements drop to the same bf16 as those that are rounded correctly, and those of f16 are rounded correctly:
// of all significands, and of numbers at the ends of the range.
func TestNarrowQuotients(t *testing.T) {
	ends := []float64{0, math.Copysign(0, -1), 0x1p-133, 0x1.fcp-127, 0x1p-126, 0x1p-119, 0x1p119, 0x1p121, 0x1.fep127, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, m := range []struct {
		name       string
		bits, drop int      // of a significand, and of the f32 that the element does not have
		scales     [][2]int // exponents of dividends and divisors
	}{
		{"div_bf16", 8, 16, [][2]int{{0, 0}, {-133, 0}, {-130, 3}, {-100, 26}, {120, -7}, {100, -28}, {-7, 113}, {-7, -127}}},
		{"div_f16", 11, 0, [][2]int{{0, 0}, {-24, 5}, {5, -24}}},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for _, precise := range []bool{true, false} {
				f := compile(t, m.name+"(x, y)", F32, Env{Bits: 16, Exp2: true, Subnormals: true, PreciseDiv: precise})
				check := func(y, x float32) {
					want := y / x
					got := math.Float32frombits(uint32(Model{LooseDiv: !precise}.Eval(f, floatBits(float64(y), F32), floatBits(float64(x), F32), 0)))
					switch {
					case want != want && got != got:
					case math.Float32bits(got)>>m.drop != math.Float32bits(want)>>m.drop:
						t.Fatalf("precise %v: %v / %v is %v, want %v", precise, y, x, got, want)
					}
				}
				n := 1 << m.bits
				for i, s := range m.scales {
					for y := n / 2; y < n; y++ {
						for x := n/2 + i%2; x < n; x++ {
							if m.bits < 11 || fewtest.OneIn(37, x+y*n) {
								check(float32(math.Ldexp(float64(y), s[0])), -float32(math.Ldexp(float64(x), s[1])))
							}
						}
					}
				}
				if !precise {
					continue // beyond the ends, quotients are the device's own
				}
				for _, y := range ends {
					for _, x := range ends {
						if m.drop > 0 || math.IsInf(y, 0) || y == 0 || y != y { // f16 has no other
							check(float32(y), float32(x))
						}
					}
				}
			}
		})
	}
}
