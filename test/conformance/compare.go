package conformance

import (
	"bytes"
	"fmt"
	"math"

	"nxvk/ops"
	"nxvk/test/draw"
)

// digits is how many bits of precision the elements of a float type have, the
// leading one included.
var digits = map[ops.DType]int{ops.F8: 3, ops.F8E4M3: 4, ops.BF16: 8, ops.F16: 11, ops.F32: 24, ops.F64: 53}

// smallest is the exponent of the smallest normal number.
var smallest = map[ops.DType]int{ops.F8: -14, ops.F8E4M3: -6, ops.BF16: -126, ops.F16: -14, ops.F32: -126, ops.F64: -1022}

// tolerance is how far an element may be from the oracle's.
type tolerance struct {
	ulp      float64 // units in the last place
	absolute float64 // or so much
	flush    bool    // the device flushes f32 subnormals
}

// compare returns the first element that is too far from the oracle's.
func compare(got, want []byte, t ops.Type, tol tolerance) error {
	if bytes.Equal(got, want) {
		return nil
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d bytes, want %d", len(got), len(want))
	}
	size := t.DType.Size()
	if t.DType.IsInteger() {
		for i := 0; i < len(got); i += size {
			if !bytes.Equal(got[i:i+size], want[i:i+size]) {
				one := ops.Type{DType: t.DType}
				return fmt.Errorf("element %d is %v, want %v", i/size, draw.Decode(got[i:i+size], one), draw.Decode(want[i:i+size], one))
			}
		}
	}
	g, w := draw.Decode(got, t), draw.Decode(want, t)
	for i := range g {
		a, b := got[i*size:(i+1)*size], want[i*size:(i+1)*size]
		if d := distance(g[i], w[i], t.DType, tol); d > tol.ulp {
			return fmt.Errorf("element %d is %v (%x), want %v (%x): %.3g ULP", i, g[i], a, w[i], b, d)
		}
		if math.IsNaN(w[i]) && !bytes.Equal(a, b) {
			return fmt.Errorf("element %d is the NaN %x, want %x", i, a, b)
		}
	}
	return nil
}

// distance is in units in the last place of the oracle's number.
func distance(got, want float64, t ops.DType, tol tolerance) float64 {
	low := math.Exp2(float64(smallest[t]))
	switch {
	case got == want, math.IsNaN(got) && math.IsNaN(want):
		return 0
	case math.Abs(got-want) <= tol.absolute:
		return 0
	case tol.flush && math.Abs(got) <= low && math.Abs(want) <= low:
		return 0
	case math.IsNaN(got) != math.IsNaN(want), math.IsInf(want, 0), math.IsInf(got, 0):
		return nearlyInfinite(got, want, t)
	}
	unit := math.Exp2(math.Floor(math.Log2(max(math.Abs(want), low))) - float64(digits[t]-1))
	return math.Abs(got-want) / unit
}

// nearlyInfinite lets a result that overflows in one and not in the other be
// one unit away.
func nearlyInfinite(got, want float64, t ops.DType) float64 {
	most := map[ops.DType]float64{ops.F32: math.MaxFloat32, ops.F64: math.MaxFloat64, ops.F16: 65504}[t]
	if most == 0 || math.IsNaN(got) || math.IsNaN(want) || math.Signbit(got) != math.Signbit(want) {
		return math.Inf(1)
	}
	if min(math.Abs(got), math.Abs(want)) >= most*(1-0x1p-20) {
		return 1
	}
	return math.Inf(1)
}
