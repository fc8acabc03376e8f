package scalar

// Type is the type of a scalar value.
type Type uint8

// The types of scalars.
const (
	Bool Type = iota
	I32
	U32
	I64
	U64
	F32
	F64
	C64  // of complex numbers, which a Builder of kernels takes apart: functions
	C128 // and kernels have none
)

// Op is a primitive operation. Every one maps to one SPIR-V instruction, or
// to one of GLSL.std.450 that IEEE devices round correctly, but for Exp2 and
// InverseSqrt. The language has no PackHalf, UnpackHalf and RoundHalf: kernels have them.
type Op uint8

// The primitive operations. Operands and result have the type of the node
// unless the comment says otherwise. Floating-point operations are never
// contracted, reassociated or relaxed.
const (
	Const       Op = iota // Bits holds the value
	Param                 // Index is the parameter
	Add                   // ints wrap
	Sub                   //
	Mul                   //
	Div                   // floats: IEEE; ints: the divisor is not zero and the quotient does not overflow
	Rem                   // ints, sign of the dividend; same conditions as Div
	Neg                   //
	Fma                   // floats, one rounding; three operands
	Sqrt                  // floats
	Floor                 // floats
	Ceil                  // floats
	Trunc                 // floats
	RoundEven             // floats
	Exp2                  // F32: 2 to the power of the operand, as good as the device makes it; see Env.Exp2
	InverseSqrt           // F32: likewise
	And                   // ints
	Or                    // ints
	Xor                   // ints
	Not                   // ints
	Shl                   // ints; the count is U32, below the width
	Shr                   // ints: logical for unsigned, arithmetic for signed; count as Shl
	MulHi                 // U32: high word of the 64-bit product
	FindMSB               // U32 operand, I32 result: index of the highest set bit, -1 for 0
	BitCount              // U32
	Eq                    // Bool result; operands of one type; floats are ordered: false with NaN
	Ne                    // Bool result; floats: true with NaN
	Lt                    // Bool result
	Le                    // Bool result
	AndB                  // Bool operands
	OrB                   // Bool operands
	NotB                  // Bool operand
	Select                // first operand Bool, then the two values
	Convert               // operand of another type: int to float rounds to nearest even, float to int truncates a value in range, ints wrap or extend, F32 to F64 and back
	Bitcast               // operand of the same width
	Pack                  // two U32, low word first, to F64, U64 or I64
	Lo                    // low word of a 64-bit operand; U32 result
	Hi                    // high word of a 64-bit operand; U32 result
	PackHalf              // F32 operand; U32 result: the nearest f16, ties to even, with zeros above; of a NaN any NaN
	UnpackHalf            // U32 operand, whose low half is an f16; F32 result
	RoundHalf             // F32: the nearest f16, ties to even; of a NaN any NaN
	Lookup                // operand I32 or U32: element of Table; within bounds
	Rare                  // operands: Bool, the value where it is false, then the arguments of Slow, whose result is the value where it is true; Slow runs only then
	opEnd
)

// Node is one operation of a Func. Operands are indices of earlier nodes.
type Node struct {
	Op    Op
	Type  Type
	Args  []int32
	Bits  uint64   // Const
	Index int      // Param
	Table []uint64 // Lookup: bits of the elements
	Slow  *Func    // Rare
}

// Func is a scalar function: nodes in topological order; the last is the
// result, unless there are two, the parts of a complex number. It is immutable
// once built.
type Func struct {
	Name   string
	Params []Type
	Nodes  []Node
	Pair   []int32 // the nodes of both results where there are two
}

// Result returns the type of the function's value, or of both its parts.
func (f *Func) Result() Type { return f.Nodes[f.Outs()[0]].Type }

// Outs returns the nodes of the results, one or two.
func (f *Func) Outs() []int32 {
	if f.Pair != nil {
		return f.Pair
	}
	return []int32{int32(len(f.Nodes) - 1)}
}
