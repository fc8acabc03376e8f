package kernel_test

import (
	"math"
	"testing"

	"nxvk/synth/kernel"
)

// Every f16 is packed as it was unpacked, and the middle of two neighbours to the even one.
func TestHalves(t *testing.T) {
	for h := range uint16(0x7c00) {
		x := kernel.UnpackHalf(h)
		if want := float32(math.Ldexp(float64(h&1023|min(h>>10, 1)<<10), int(max(h>>10, 1))-25)); x != want {
			t.Fatalf("%#x is %v, want %v", h, x, want)
		}
		for _, sign := range []uint16{0, 0x8000} {
			y := float32(math.Copysign(float64(x), 0.5-float64(sign)))
			if got := kernel.PackHalf(y); got != h|sign || kernel.UnpackHalf(got) != y {
				t.Fatalf("%v is packed as %#x, want %#x", y, got, h|sign)
			}
		}
		next := kernel.UnpackHalf(h + 1)
		if h == 0x7bff {
			next = 65536
		}
		middle, even := (x+next)/2, h+h&1
		if got := kernel.PackHalf(middle); got != even {
			t.Fatalf("%v is packed as %#x, want %#x", middle, got, even)
		}
		if below := math.Nextafter32(middle, 0); kernel.PackHalf(below) != h {
			t.Fatalf("%v is packed as %#x, want %#x", below, kernel.PackHalf(below), h)
		}
	}
	inf := float32(math.Inf(1))
	if kernel.PackHalf(inf) != 0x7c00 || kernel.UnpackHalf(0xfc00) != -inf || kernel.UnpackHalf(0x7e00) == kernel.UnpackHalf(0x7e00) {
		t.Error("infinities and NaN do not survive")
	}
}
