package conformance

import (
	"math"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/draw"
)

// transforms are an operation with the types that it takes and gives.
var transforms = []struct {
	op       ops.Op
	from, to ops.DType
}{
	{ops.FFT, ops.C64, ops.C64}, {ops.FFT, ops.C128, ops.C128}, {ops.FFT, ops.F32, ops.C64}, {ops.FFT, ops.U8, ops.C64},
	{ops.IFFT, ops.C64, ops.C64}, {ops.IFFT, ops.C128, ops.C128}, {ops.IFFT, ops.F16, ops.C64},
	{ops.RFFT, ops.F32, ops.C64}, {ops.RFFT, ops.F64, ops.C128}, {ops.RFFT, ops.S64, ops.C64},
	{ops.IRFFT, ops.C64, ops.F32}, {ops.IRFFT, ops.C128, ops.F64},
}

// Fourier transforms of lengths with every radix and with prime factors that
// have none, of lines that are cut, filled and strided.
func TestFourier(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, tr := range transforms {
			for _, length := range []int{1, 2, 7, 13, 64, 360, 1001, 1009, 4096, 4736, 7141, 44100} {
				for i, s := range []ops.Shape{{length}, {2, length}, {length, 3}, {2, length + 5, 2}, {1 + length/2}} {
					axis := [...]int{0, 1, 0, 1, 0}[i]
					c := instr{op: tr.op, types: []ops.Type{{DType: tr.from, Shape: s}}, attrs: [][]int{{length}, {axis}, {0}}}
					c.infer(t, tr.to)
					if rarely(8, &c) {
						fourier(t, &n, d, host, &c)
					}
				}
			}
		}
		n.report(t)
	})
}

// Transforms along two axes.
func TestFourier2(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, op := range []ops.Op{ops.FFT2, ops.IFFT2} {
			for _, dt := range []ops.DType{ops.F32, ops.C64, ops.C128} {
				c := instr{op: op, types: []ops.Type{{DType: dt, Shape: ops.Shape{3, 20, 31}}}, attrs: [][]int{{24, 31}, {1, 2}, {0}}}
				out := ops.C64
				if dt == ops.C128 {
					out = dt
				}
				c.infer(t, out)
				fourier(t, &n, d, host, &c)
			}
		}
		n.report(t)
	})
}

// The transform of an impulse is the unit circle, for a long prime length too.
func TestFourierImpulse(t *testing.T) {
	const length = 65537
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		for _, dt := range []ops.DType{ops.F32, ops.F64} {
			c := instr{op: ops.FFT, types: []ops.Type{{DType: dt, Shape: ops.Shape{length}}}, attrs: [][]int{{length}, {0}, {0}}}
			out := map[ops.DType]ops.DType{ops.F32: ops.C64, ops.F64: ops.C128}[dt]
			c.infer(t, out)
			v, want := make([]float64, length), make([]float64, 2*length)
			v[1] = 1
			for k := range length {
				sin, cos := math.Sincos(2 * math.Pi * float64(k) / length)
				want[2*k], want[2*k+1] = cos, -sin
			}
			c.data = [][]byte{draw.Encode(v, c.types[0])}
			got, err := c.run(d)
			if err != nil {
				t.Fatal(err)
			}
			flat := ops.Type{DType: dt, Shape: ops.Shape{2 * length}}
			bound := 32 * math.Exp2(float64(-digits[dt]))
			if err := compare(got, draw.Encode(want, flat), flat, tolerance{absolute: bound}); err != nil {
				t.Errorf("%v: %v", &c, err)
			}
		}
		if n := d.Exec.Counters().Fallbacks; n > 0 {
			t.Errorf("%d transforms ran on the host", n)
		}
	})
}

// fourier compares a transform with the host's, which computes in f64: the error
// is bounded by the largest part of the result. Where the length has a prime factor that no
// pass has, three transforms give the result, so the bound is twice as large.
func fourier(t *testing.T, n *tally, d, host *exectest.Driver, c *instr) {
	t.Helper()
	c.data = [][]byte{sampleSignal(c)}
	got, want, ok := n.both(t, d, host, c)
	if !ok {
		return
	}
	flat := ops.Type{DType: c.out.DType, Shape: c.out.Shape}
	if c.out.DType.IsComplex() {
		flat = ops.Type{DType: c.out.DType.Real(), Shape: ops.Shape{2 * c.out.Size()}}
	}
	norm := 0.0
	for _, x := range draw.Decode(want, flat) {
		norm = max(norm, math.Abs(x))
	}
	bound := 8.0
	if flat.DType == ops.F64 {
		bound = 64 // the host rounds as often, more so where the length is prime
	} else if hasPrimeAbove(31, c.attrs[0]) {
		bound *= 2
	}
	bound *= math.Exp2(float64(-digits[flat.DType]))
	if err := compare(got, want, flat, tolerance{absolute: bound * norm}); err != nil {
		t.Errorf("%v: %v", c, err)
	}
}

// hasPrimeAbove reports whether a length has a prime factor above the limit.
func hasPrimeAbove(limit int, lengths []int) bool {
	for _, n := range lengths {
		for p := 2; p <= limit; p++ {
			for n%p == 0 {
				n /= p
			}
		}
		if n > 1 {
			return true
		}
	}
	return false
}

// sampleSignal draws parts from -1 to 1, or small integers.
func sampleSignal(c *instr) []byte {
	typ := c.types[0]
	s := newSampler(seed(c.op, typ.DType, typ.Size()))
	if typ.DType.IsComplex() {
		typ = ops.Type{DType: typ.DType.Real(), Shape: ops.Shape{2 * typ.Size()}}
	}
	return s.draw(typ, ops.Small, true)
}
