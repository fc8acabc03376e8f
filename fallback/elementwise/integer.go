package elementwise

import (
	"nxvk/fallback/dense"
	"nxvk/ops"
)

type integerClass interface {
	int64 | uint64
}

// ipow is x to the power of y, and wraps. A negative exponent gives 0, as in XLA, but for
// the bases 1 and -1.
func ipow[C integerClass](x, y C) C {
	if y < 0 {
		switch {
		case x == 1 || (x+1 == 0 && y&1 == 0):
			return 1
		case x+1 == 0:
			return x
		}
		return 0
	}
	z := C(1)
	for ; y > 0; y >>= 1 {
		if y&1 != 0 {
			z *= x
		}
		x *= x
	}
	return z
}

// quotient is all ones where the divisor is 0.
func quotient[C integerClass](x, y C) C {
	if y == 0 {
		return ^C(0)
	}
	return x / y
}

// remainder is the dividend where the divisor is 0.
func remainder[C integerClass](x, y C) C {
	if y == 0 {
		return x
	}
	return x % y
}

// integers enters the functions that both classes of integers share. The count of a shift
// is read without sign: a negative one shifts all bits out.
func integers[C integerClass](t *Scalars[C]) {
	ordered(t)
	t[ops.Pow], t[ops.Remainder], t[ops.Quotient] = two(ipow[C]), two(remainder[C]), two(quotient[C])
	t[ops.BitwiseAnd] = two(func(x, y C) C { return x & y })
	t[ops.BitwiseOr] = two(func(x, y C) C { return x | y })
	t[ops.BitwiseXor] = two(func(x, y C) C { return x ^ y })
	t[ops.BitwiseNot] = scalar[C]{each: notEach[C]}
	t[ops.LeftShift] = two(func(x, y C) C { return x << uint64(y) })
	t[ops.RightShift] = two(func(x, y C) C { return x >> uint64(y) })
	for _, op := range []ops.Op{ops.Ceil, ops.Floor, ops.Round} {
		t[op] = one(itself[C])
	}
	for _, op := range []ops.Op{ops.IsNaN, ops.IsInfinity} {
		t[op] = one(func(C) C { return 0 })
	}
}

var IntScalars = func() (t Scalars[int64]) {
	integers(&t)
	t[ops.Abs] = one(func(x int64) int64 { return max(x, -x) })
	t[ops.Sign] = scalar[int64]{each: signIntEach}
	return t
}()

var UintScalars = func() (t Scalars[uint64]) {
	integers(&t)
	t[ops.Abs] = one(itself[uint64])
	t[ops.Sign] = one(func(x uint64) uint64 { return dense.Truth[uint64](x > 0) })
	return t
}()
