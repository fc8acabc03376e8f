package conformance

import (
	"math"
	"slices"

	"nxvk/ops"
	"nxvk/test/draw"
)

// draw returns n elements of a type, the last operand of an operation where last is
// set. Large ones begin with special values.
func (s sampler) draw(t ops.Type, d ops.Domain, last bool) []byte {
	n := len(specialsOf(t.DType, d, last))
	return s.fill(t, d, last, func(i int) (special int, ok bool) { return i, i < n })
}

// operand is draw for operand k of several, of which the first two meet all pairs of
// special values.
func (s sampler) operand(t ops.Type, d ops.Domain, k int, last bool) []byte {
	n := len(specialsOf(t.DType, d, last))
	return s.fill(t, d, last, func(i int) (special int, ok bool) {
		if i >= n*n {
			return 0, false
		}
		return []int{i % n, i / n}[min(k, 1)], true
	})
}

func (s sampler) fill(t ops.Type, d ops.Domain, last bool, at func(i int) (special int, ok bool)) []byte {
	v, list := make([]float64, t.Size()), specialsOf(t.DType, d, last)
	for i := range v {
		v[i] = s.Number(t.DType, d, last)
		if k, ok := at(i); ok && len(v) > 8 {
			v[i] = list[k]
		}
	}
	return draw.Encode(v, t)
}

// specials are values that have caught somebody before.
var specials = []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 0.5, -0.5, 2, 3,
	math.Pi, math.Pi / 2, 1e-30, -1e-30, 1e30, -1e30, 88, -104, 0.9999999, 1.0000001}

// specialsOf lists the special values of a type, where operands may be anything. For
// floats they include the greatest, the smallest and the smallest normal number, and
// the greatest subnormal one unless the device flushes it to 0. For integers they
// include the least and the greatest, which infinities become.
func specialsOf(t ops.DType, d ops.Domain, last bool) []float64 {
	switch {
	case t.IsInteger() && (d == ops.Real || !last):
		return []float64{math.Inf(-1), math.Inf(1), 0, 1, -1, 2, -2}
	case !t.IsFloat() || d != ops.Real && d != ops.Positive:
		return nil
	}
	low, unit := math.Exp2(float64(smallest[t])), math.Exp2(float64(1-digits[t]))
	list := slices.Clone(specials)
	for _, x := range []float64{low, low * unit, low * (1 - unit), largestOf(t)} {
		if x >= 0x1p-126 || t.Wide() != ops.F32 || seesSubnormals {
			list = append(list, x, -x)
		}
	}
	return list
}

// largestOf is the largest finite number of a type.
func largestOf(t ops.DType) float64 {
	switch t {
	case ops.F64:
		return math.MaxFloat64
	case ops.F8E4M3:
		return 448
	}
	return math.Exp2(float64(2-smallest[t])) * (1 - math.Exp2(float64(-digits[t])))
}
