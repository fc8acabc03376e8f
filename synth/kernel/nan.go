package kernel

import (
	"math"
	"slices"

	"nxvk/synth/scalar"
)

// A bf16 is the upper half of an f32. A mask drops the lower half, but makes an infinity of a NaN whose mantissa is zero
// in the upper half. A Builder proves for most values that they are no such NaN. Such a NaN is a signaling one, which
// memory may have; the mantissa of a quiet one begins with a one, and every result of arithmetic that is a NaN is quiet
// (IEEE 754, 6.2). A driver may leave out the addition or the multiplication of a constant, and then nothing is quieted.

// facts is what a Builder knows of the bits of a value.
type facts uint8

const (
	upperNaN  facts = 1 << iota // as an F32, it is no NaN, or one whose mantissa is not zero in the upper half
	lowerZero                   // the lower 16 bits are 0
	signAlone                   // no bit but that of the sign is set
)

// KeepsNaN reports whether an F32, if it is a NaN, is proven to be one without its lower 16 bits as well.
func (b *Builder) KeepsNaN(x Value) bool { return b.facts[x]&upperNaN != 0 }

// know records facts of a value, and those that follow from them.
func (b *Builder) know(v Value, f facts) {
	if f&signAlone != 0 {
		f |= lowerZero
	}
	if f&lowerZero != 0 {
		f |= upperNaN
	}
	b.facts[v] |= f
}

// knowConst records the facts of a constant.
func (b *Builder) knowConst(v Value, t scalar.Type, bits uint64) {
	var f facts
	if bits&^(1<<31) == 0 {
		f |= signAlone
	}
	if bits&0xffff == 0 {
		f |= lowerZero
	}
	if x := math.Float32frombits(uint32(bits) &^ 0xffff); t == scalar.F32 && (x != x || !math.IsNaN(float64(math.Float32frombits(uint32(bits))))) {
		f |= upperNaN
	}
	b.know(v, f)
}

// learn returns the facts of the result of a primitive operation of 32 bits.
func (b *Builder) learn(op scalar.Op, t scalar.Type, args []Value) facts {
	all := func(vs []Value) facts {
		f := upperNaN | lowerZero | signAlone
		for _, v := range vs {
			f &= b.facts[v]
		}
		return f
	}
	switch {
	case op == scalar.Select:
		return all(args[1:])
	case op == scalar.Bitcast:
		return b.facts[args[0]]
	case op == scalar.Convert && t == scalar.F32:
		if from := b.Type(args[0]); from != scalar.F64 {
			return upperNaN // a number
		}
	case t == scalar.F32 && arithmetic(op) && !slices.ContainsFunc(args, b.isConst):
		return upperNaN
	case t == scalar.F32 && (arithmetic(op) || rounds(op)):
		return all(args) & upperNaN
	case t == scalar.U32:
		return b.learnBits(op, args, all(args))
	}
	return 0
}

func (b *Builder) isConst(v Value) bool {
	_, ok := b.IsConst(v)
	return ok
}

// arithmetic reports whether the results of an operation on floats that are NaNs are quiet.
func arithmetic(op scalar.Op) bool {
	switch op {
	case scalar.Add, scalar.Sub, scalar.Mul, scalar.Div, scalar.Fma, scalar.Sqrt, scalar.Exp2, scalar.InverseSqrt:
		return true
	}
	return false
}

// rounds reports whether an operation on one float may leave it as it is, but for its sign.
func rounds(op scalar.Op) bool {
	switch op {
	case scalar.Neg, scalar.Floor, scalar.Ceil, scalar.Trunc, scalar.RoundEven:
		return true
	}
	return false
}

// learnBits returns the facts of the result of an operation on bits; all are those of every operand.
func (b *Builder) learnBits(op scalar.Op, args []Value, all facts) (f facts) {
	switch op {
	case scalar.And:
		for i, a := range args {
			other := args[1-i]
			f |= b.facts[a] & (lowerZero | signAlone)
			if mask, ok := b.bits[a]; ok && mask&math.MaxInt32 == math.MaxInt32 {
				f |= b.facts[other] // but for the sign
			}
		}
	case scalar.Or, scalar.Xor:
		f = all & (lowerZero | signAlone)
		for i, a := range args {
			if b.facts[a]&signAlone != 0 {
				f |= b.facts[args[1-i]] & upperNaN
			}
		}
	case scalar.Shl:
		if n, ok := b.bits[args[1]]; ok && n >= 16 {
			f = lowerZero
		}
	}
	return f
}
