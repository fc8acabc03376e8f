package dense

import (
	"bytes"
	"math"
	"testing"

	"nxvk/ops"
)

// The loops over bf16 and f16 give the bits of their codecs: for every pattern, for
// the numbers halfway between two, and for the neighbours of these.
func TestNarrowLoops(t *testing.T) {
	for _, c := range []struct {
		d      ops.DType
		decode func(uint16) float64
		encode func(float64) uint16
	}{
		{ops.BF16, formatBF16.decode, encodeBF16},
		{ops.F16, formatF16.decode, formatF16.encode},
	} {
		patterns, values := make([]byte, 2<<16), make([]float64, 1<<16)
		for i := range View[uint16](patterns) {
			View[uint16](patterns)[i] = uint16(i)
		}
		LoadFloat[c.d](values, patterns, 0, 1)
		numbers := []float64{math.MaxFloat64, -math.MaxFloat64, 0x1p-1074, -0x1p-1074, 0x1p-25, -0x1p-25, 65520, -65519.99}
		for i, x := range values {
			if want := c.decode(uint16(i)); math.Float64bits(x) != math.Float64bits(want) && (x == x || want == want) {
				t.Fatalf("%v %04x is %v, want %v", c.d, i, x, want)
			}
			half := (x + c.decode(uint16(i)^1)) / 2
			numbers = append(numbers, x, half, math.Nextafter(half, 0), math.Nextafter(half, 2*half))
		}
		stored := make([]byte, 2*len(numbers))
		StoreFloat[c.d](stored, 0, numbers)
		for i, p := range View[uint16](stored) {
			if want := c.encode(numbers[i]); p != want {
				t.Fatalf("%v is %v %04x, want %04x", numbers[i], c.d, p, want)
			}
		}
	}
}

// TestNarrowFormats walks every pattern there and back.
func TestNarrowFormats(t *testing.T) {
	for _, c := range []struct {
		name   string
		f      *format
		encode func(float64) uint16
		n      int
	}{
		{"f8", &formatF8, func(x float64) uint16 { return uint16(encodeF8(x)) }, 1 << 8},
		{"f8_e4m3fn", &formatE4M3, func(x float64) uint16 { return uint16(encodeE4M3(x)) }, 1 << 8},
		{"bf16", &formatBF16, encodeBF16, 1 << 16},
		{"f16", &formatF16, formatF16.encode, 1 << 16},
	} {
		for p := range c.n {
			x := c.f.decode(uint16(p))
			if x != x {
				continue
			}
			if got := c.encode(x); got != uint16(p) {
				t.Fatalf("%s: %#x is %v, which encodes to %#x", c.name, p, x, got)
			}
		}
	}
	for p := range 1 << 16 {
		x, y := formatF16.decode(uint16(p)), decodeF16(uint16(p))
		if x != y && x == x || (x == x) != (y == y) {
			t.Fatalf("f16 %#x decodes to %v and %v", p, x, y)
		}
	}
}

// TestNarrowRounding has numbers between two of a format, and what Nx writes.
func TestNarrowRounding(t *testing.T) {
	tensorOf := func(d ops.DType, x float64) []byte {
		v := New(ops.Type{DType: d, Shape: ops.Shape{1}})
		StoreFloat[d](v.Data, 0, []float64{x})
		return v.Data
	}
	for _, c := range []struct {
		to   ops.DType
		x    float64
		want []byte
	}{
		{ops.BF16, 1 + 255.0/32768, []byte{0x80, 0x3F}},       // dropped
		{ops.BF16, 1 + 1.0/128 - 0x1p-30, []byte{0x81, 0x3F}}, // rounded to f32 first
		{ops.BF16, 3.3961e38, []byte{0x7F, 0x7F}},             // not infinite
		{ops.F8, 1.249, []byte{0x3C}},                         // dropped
		{ops.F8, 61439, []byte{0x7B}},                         // not infinite
		{ops.F16, 1 + 3.0/2048, []byte{0x02, 0x3C}},           // a tie, to even
		{ops.F8E4M3, 1.0625, []byte{0x39}},                    // a tie, away from zero
		{ops.F8E4M3, 1.99, []byte{0x3F}},                      // below the next power of two
		{ops.F8E4M3, -1000, []byte{0xFE}},                     // the largest number
		{ops.F8E4M3, 0x1p-10, []byte{0x01}},                   // a tie of subnormals
		{ops.F8E4M3, 0.49999999 * 0x1p-9, []byte{0x00}},       // not one
		{ops.F8E4M3, 0x1p-6 - 0x1p-20, []byte{0x07}},          // below the least normal number
		{ops.F32, math.Copysign(math.NaN(), -1), []byte{0, 0, 0xC0, 0x7F}},
		{ops.F64, math.Copysign(math.NaN(), -1), []byte{0, 0, 0, 0, 0, 0, 0xF8, 0x7F}},
	} {
		if got := tensorOf(c.to, c.x); !bytes.Equal(got, c.want) {
			t.Errorf("%v as %v is %x, want %x", c.x, c.to, got, c.want)
		}
	}
}
