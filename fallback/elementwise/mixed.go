package elementwise

import (
	"math/bits"

	"nxvk/fallback/dense"
	"nxvk/ops"
)

// An operation of u64 and signed integers computes in s64, though neither type has all
// numbers of the other. Nx has integers of any size: operands keep their values, and the
// result wraps once. This makes a difference to comparison, division, right shift and
// power; other operations are the same modulo 2^64. Elements are loaded as s64, which keeps
// their bits, and large says which operands are u64.

// mixedOps has the functions of these operations.
var mixedOps = [ops.Count]func(large [dense.MaxOperands]bool) scalar[int64]{
	ops.Equal:        mixedTest(func(c int) bool { return c == 0 }),
	ops.NotEqual:     mixedTest(func(c int) bool { return c != 0 }),
	ops.Less:         mixedTest(func(c int) bool { return c < 0 }),
	ops.LessEqual:    mixedTest(func(c int) bool { return c <= 0 }),
	ops.Greater:      mixedTest(func(c int) bool { return c > 0 }),
	ops.GreaterEqual: mixedTest(func(c int) bool { return c >= 0 }),

	ops.Max:  mixedPick(func(c int) bool { return c < 0 }),
	ops.Min:  mixedPick(func(c int) bool { return c > 0 }),
	ops.Clip: mixedClip,

	ops.Quotient: func(large [dense.MaxOperands]bool) scalar[int64] {
		return two(func(x, y int64) int64 {
			q, _ := divideMixed(x, y, large[0], large[1])
			return q
		})
	},
	ops.Remainder: func(large [dense.MaxOperands]bool) scalar[int64] {
		return two(func(x, y int64) int64 {
			_, r := divideMixed(x, y, large[0], large[1])
			return r
		})
	},
	ops.RightShift: func(large [dense.MaxOperands]bool) scalar[int64] {
		return two(func(x, y int64) int64 {
			if large[0] {
				return int64(uint64(x) >> uint64(y))
			}
			return x >> uint64(y)
		})
	},
	ops.Pow: func(large [dense.MaxOperands]bool) scalar[int64] {
		return two(func(x, y int64) int64 {
			switch {
			case large[1]:
				return int64(ipow(uint64(x), uint64(y)))
			case y < 0 && large[0]:
				return dense.Truth[int64](x == 1)
			}
			return ipow(x, y)
		})
	},
}

// mixed returns the function of an element where u64 meets signed integers. It reports
// false where they do not meet, or where that makes no difference.
func mixed(in *dense.Call, args []dense.Value) (scalar[int64], bool) {
	var large [dense.MaxOperands]bool
	any, all := false, true
	for i := range args {
		large[i] = args[i].Type.DType == ops.U64
		any, all = any || large[i], all && large[i]
	}
	if f := mixedOps[in.Op]; f != nil && any && !all {
		return f(large), true
	}
	return scalar[int64]{}, false
}

// compareMixed orders two integers; each may be a u64.
func compareMixed(x, y int64, xLarge, yLarge bool) int {
	beyond, other := xLarge && x < 0, yLarge && y < 0
	switch {
	case beyond != other:
		return int(dense.Truth[int64](beyond) - dense.Truth[int64](other))
	case x < y:
		return -1
	}
	return int(dense.Truth[int64](x > y))
}

func mixedTest(holds func(c int) bool) func(large [dense.MaxOperands]bool) scalar[int64] {
	return func(large [dense.MaxOperands]bool) scalar[int64] {
		return two(func(x, y int64) int64 { return dense.Truth[int64](holds(compareMixed(x, y, large[0], large[1]))) })
	}
}

// mixedPick chooses the second operand where the comparison holds.
func mixedPick(second func(c int) bool) func(large [dense.MaxOperands]bool) scalar[int64] {
	return func(large [dense.MaxOperands]bool) scalar[int64] {
		return two(func(x, y int64) int64 {
			if second(compareMixed(x, y, large[0], large[1])) {
				return y
			}
			return x
		})
	}
}

func mixedClip(large [dense.MaxOperands]bool) scalar[int64] {
	return three(func(x, lo, hi int64) int64 {
		of := large[0]
		if compareMixed(x, lo, of, large[1]) <= 0 {
			x, of = lo, large[1]
		}
		if compareMixed(x, hi, of, large[2]) >= 0 {
			x = hi
		}
		return x
	})
}

// divideMixed divides magnitudes. A division by zero gives all ones as the quotient and the
// dividend as the remainder, as quotient and remainder do.
func divideMixed(x, y int64, xLarge, yLarge bool) (q, r int64) {
	if y == 0 {
		return -1, x
	}
	a, negative := sizeAndSign(x, xLarge)
	b, other := sizeAndSign(y, yLarge)
	high, rest := bits.Div64(0, a, b)
	q, r = int64(high), int64(rest)
	if negative != other {
		q = -q
	}
	if negative {
		r = -r
	}
	return q, r
}

func sizeAndSign(x int64, large bool) (abs uint64, negative bool) {
	if large || x >= 0 {
		return uint64(x), false
	}
	return -uint64(x), true
}
