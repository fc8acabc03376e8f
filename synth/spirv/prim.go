package spirv

import (
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// column says how a type computes.
type column int

const (
	colFloat column = iota
	colSigned
	colUnsigned
	colBool
)

func columnOf(t scalar.Type) column {
	switch {
	case t == scalar.Bool:
		return colBool
	case kernel.IsFloat(t):
		return colFloat
	case kernel.IsSigned(t):
		return colSigned
	}
	return colUnsigned
}

// direct are the primitive operations that are one instruction: float, signed,
// unsigned, bool. 0 is none.
var direct = [...][4]uint32{
	scalar.Add:      {opFAdd, opIAdd, opIAdd, 0},
	scalar.Sub:      {opFSub, opISub, opISub, 0},
	scalar.Mul:      {opFMul, opIMul, opIMul, 0},
	scalar.Div:      {opFDiv, opSDiv, opUDiv, 0},
	scalar.Rem:      {0, 0, opUMod, 0}, // signed: see remainder
	scalar.Neg:      {opFNegate, opSNegate, opSNegate, 0},
	scalar.And:      {0, opBitwiseAnd, opBitwiseAnd, 0},
	scalar.Or:       {0, opBitwiseOr, opBitwiseOr, 0},
	scalar.Xor:      {0, opBitwiseXor, opBitwiseXor, 0},
	scalar.Not:      {0, opNot, opNot, 0},
	scalar.Shl:      {0, opShiftLeftLogical, opShiftLeftLogical, 0},
	scalar.Shr:      {0, opShiftRightArithmetic, opShiftRightLogical, 0},
	scalar.Eq:       {opFOrdEqual, opIEqual, opIEqual, opLogicalEqual},
	scalar.Ne:       {opFUnordNotEqual, opINotEqual, opINotEqual, opLogicalNotEqual},
	scalar.Lt:       {opFOrdLessThan, opSLessThan, opULessThan, 0},
	scalar.Le:       {opFOrdLessThanEqual, opSLessThanEqual, opULessThanEqual, 0},
	scalar.AndB:     {0, 0, 0, opLogicalAnd},
	scalar.OrB:      {0, 0, 0, opLogicalOr},
	scalar.NotB:     {0, 0, 0, opLogicalNot},
	scalar.Select:   {opSelect, opSelect, opSelect, opSelect},
	scalar.BitCount: {0, opBitCount, opBitCount, 0},
}

// extended are the primitive operations that GLSL.std.450 has. 0 is none.
var extended = [...]uint32{
	scalar.Fma: glslFma, scalar.Sqrt: glslSqrt, scalar.Floor: glslFloor, scalar.Ceil: glslCeil,
	scalar.Trunc: glslTrunc, scalar.RoundEven: glslRoundEven, scalar.Exp2: glslExp2, scalar.InverseSqrt: glslInverseSqrt, scalar.FindMSB: glslFindUMsb,
}

// prim writes a primitive operation and returns the id of its value.
func (m *module) prim(in *kernel.Inst) uint32 {
	var args [3]uint32
	for i, a := range in.Args {
		args[i] = m.ids[a]
	}
	a := args[:len(in.Args)]
	to := m.k.Types[in.Res[0]]
	from := m.k.Types[in.Args[len(in.Args)-1]]
	if in.Prim == scalar.Shl || in.Prim == scalar.Shr {
		from = to // the count is always unsigned
	}
	if id, ok := m.shifted(in, a); ok {
		return id
	}
	typ := m.typ(to)
	if p := int(in.Prim); p < len(extended) && extended[p] != 0 {
		words := [5]uint32{m.glsl, extended[p], args[0], args[1], args[2]}
		return m.exact(to, m.emit(opExtInst, typ, words[:2+len(a)]...))
	}
	if p := int(in.Prim); p >= len(direct) || direct[p] == [4]uint32{} {
		return m.reshape(in, from, to, a)
	}
	op := direct[in.Prim][columnOf(from)]
	if op == 0 && in.Prim == scalar.Rem {
		return m.remainder(typ, a[0], a[1])
	}
	if op == 0 {
		panic("BUG: primitive operation on a type that has none")
	}
	id := m.emit(op, typ, a...)
	if in.Prim == scalar.Select {
		return id
	}
	return m.exact(to, id)
}

// remainder writes the signed remainder out of the quotient: Vulkan leaves
// OpSRem of negative operands undefined, and drivers differ.
func (m *module) remainder(typ, x, y uint32) uint32 {
	q := m.emit(opSDiv, typ, x, y)
	return m.emit(opISub, typ, x, m.emit(opIMul, typ, q, y))
}

// exact forbids the driver to contract or reassociate floating-point arithmetic.
func (m *module) exact(t scalar.Type, id uint32) uint32 {
	if kernel.IsFloat(t) {
		m.decorate(id, decorNoContraction)
	}
	return id
}

// reshape writes the operations between types and halves.
func (m *module) reshape(in *kernel.Inst, from, to scalar.Type, a []uint32) uint32 {
	typ, word := m.typ(to), m.typ(scalar.U32)
	switch in.Prim {
	case scalar.Convert:
		return m.convert(from, to, a[0])
	case scalar.Bitcast:
		if columnOf(from) != colFloat && columnOf(to) != colFloat {
			return a[0]
		}
		return m.emit(opBitcast, typ, a[0])
	case scalar.Pack:
		pair := m.emit(opCompositeConstruct, m.vector(word, 2), a...)
		return m.emit(opBitcast, typ, pair)
	case scalar.Lo, scalar.Hi:
		pair := m.emit(opBitcast, m.vector(word, 2), a[0])
		return m.emit(opCompositeExtract, word, pair, uint32(in.Prim-scalar.Lo))
	case scalar.PackHalf:
		pair := m.emit(opCompositeConstruct, m.vector(m.typ(scalar.F32), 2), a[0], m.constant(scalar.F32, 0))
		return m.emit(opExtInst, word, m.glsl, glslPackHalf2x16, pair)
	case scalar.UnpackHalf:
		pair := m.emit(opExtInst, m.vector(typ, 2), m.glsl, glslUnpackHalf2x16, a[0])
		return m.emit(opCompositeExtract, typ, pair, 0)
	case scalar.RoundHalf:
		m.cap(capFloat16)
		half := m.unique(opTypeFloat, key{a: 16}, 16)
		return m.emit(opFConvert, typ, m.emit(opFConvert, half, a[0]))
	case scalar.MulHi:
		pair := m.unique(opTypeStruct, key{a: word, b: word}, word, word)
		both := m.emit(opUMulExtended, pair, a...)
		return m.emit(opCompositeExtract, word, both, 1)
	}
	panic("BUG: primitive operation without code")
}

// convert writes a conversion between any two types.
func (m *module) convert(from, to scalar.Type, x uint32) uint32 {
	typ, cf, ct := m.typ(to), columnOf(from), columnOf(to)
	switch {
	case from == to:
		return x
	case cf == colBool:
		return m.emit(opSelect, typ, x, m.one(to), m.constant(to, 0))
	case ct == colBool && cf == colFloat:
		return m.emit(opFUnordNotEqual, typ, x, m.constant(from, 0))
	case ct == colBool:
		return m.emit(opINotEqual, typ, x, m.constant(from, 0))
	case cf == colFloat && ct == colFloat:
		return m.emit(opFConvert, typ, x)
	case cf == colFloat && ct == colSigned:
		return m.emit(opConvertFToS, typ, x)
	case cf == colFloat:
		return m.emit(opConvertFToU, typ, x)
	case ct == colFloat && cf == colSigned:
		return m.emit(opConvertSToF, typ, x)
	case ct == colFloat:
		return m.emit(opConvertUToF, typ, x)
	case kernel.Is64(from) == kernel.Is64(to):
		return x
	case cf == colSigned && kernel.Is64(to):
		// Mesa's compiler compares a number wrongly with constants if it sees that its sign was extended: in 22.3 x > 0
		// holds for all x.
		flipped := m.emit(opBitwiseXor, m.typ(from), x, m.constant(from, 1<<31))
		return m.emit(opISub, typ, m.emit(opUConvert, typ, flipped), m.constant(to, 1<<31))
	}
	return m.emit(opUConvert, typ, x)
}

// one is the constant 1 of a type.
func (m *module) one(t scalar.Type) uint32 {
	switch t {
	case scalar.F32:
		return m.constant(t, 0x3f800000)
	case scalar.F64:
		return m.constant(t, 0x3ff0000000000000)
	}
	return m.constant(t, 1)
}
