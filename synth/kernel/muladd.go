package kernel

import "math"

// MulAdd32 is x*y + z, rounded once. The product is exact in float64; the sum is
// rounded to odd there (Boldo and Melquiond, "Emulation of FMA and correctly rounded
// sums", 2008), which makes the second rounding, to float32, harmless.
func MulAdd32(x, y, z float32) float32 {
	p, c := float64(x)*float64(y), float64(z)
	s := p + c
	if t := s - p; !math.IsInf(s, 0) && s == s {
		lost := (p - (s - t)) + (c - t)
		b := math.Float64bits(s)
		if lost != 0 && b&1 == 0 {
			if (lost > 0) == (s > 0) {
				b++
			} else {
				b--
			}
			s = math.Float64frombits(b)
		}
	}
	return float32(s)
}
