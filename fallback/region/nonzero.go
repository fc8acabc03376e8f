package region

import (
	"nxvk/fallback/dense"
)

// Nonzero reports whether a scalar, the predicate of a branch or a loop, is not zero.
// Negative zero is zero; NaN is not.
func Nonzero(v dense.Value) bool {
	d, part := v.Type.DType, len(v.Data)
	if d.IsComplex() {
		part /= 2
	}
	for i, b := range v.Data {
		if !d.IsInteger() && i%part == part-1 {
			b &= 0x7f
		}
		if b != 0 {
			return true
		}
	}
	return false
}
