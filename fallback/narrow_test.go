package fallback

import (
	"math"
	"testing"

	"nxvk/ops"
)

// The loops over bf16 and f16 are their codecs: of every pattern, of what lies halfway
// between two, and of the numbers beside that.
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
		for i := range view[uint16](patterns) {
			view[uint16](patterns)[i] = uint16(i)
		}
		loadFloat[c.d](values, patterns, 0, 1)
		numbers := []float64{math.MaxFloat64, -math.MaxFloat64, 0x1p-1074, -0x1p-1074, 0x1p-25, -0x1p-25, 65520, -65519.99}
		for i, x := range values {
			if want := c.decode(uint16(i)); math.Float64bits(x) != math.Float64bits(want) && (x == x || want == want) {
				t.Fatalf("%v %04x is %v, want %v", c.d, i, x, want)
			}
			half := (x + c.decode(uint16(i)^1)) / 2
			numbers = append(numbers, x, half, math.Nextafter(half, 0), math.Nextafter(half, 2*half))
		}
		stored := make([]byte, 2*len(numbers))
		storeFloat[c.d](stored, 0, numbers)
		for i, p := range view[uint16](stored) {
			if want := c.encode(numbers[i]); p != want {
				t.Fatalf("%v is %v %04x, want %04x", numbers[i], c.d, p, want)
			}
		}
	}
}
