package kernel

import "nxvk/synth/scalar"

// Value is a scalar value of a kernel, an index of Kernel.Types. Those below zero
// are complex numbers, which a Builder knows and a kernel does not have.
type Value int32

// Elem is the type of the elements of a buffer in memory. Narrow elements are
// 32-bit values once loaded.
type Elem uint8

// The element types of buffers.
const (
	U8 Elem = iota
	I8
	U16
	I16
	U32
	I32
	U64
	I64
	F32
	F64
	elemEnd
)

var elems = [elemEnd]struct {
	name string
	size int
	typ  scalar.Type
}{
	U8:  {"u8", 1, scalar.U32},
	I8:  {"i8", 1, scalar.I32},
	U16: {"u16", 2, scalar.U32},
	I16: {"i16", 2, scalar.I32},
	U32: {"u32", 4, scalar.U32},
	I32: {"i32", 4, scalar.I32},
	U64: {"u64", 8, scalar.U64},
	I64: {"i64", 8, scalar.I64},
	F32: {"f32", 4, scalar.F32},
	F64: {"f64", 8, scalar.F64},
}

// Size returns the bytes of one element.
func (e Elem) Size() int { return elems[e].size }

// Type returns the type of a loaded element.
func (e Elem) Type() scalar.Type { return elems[e].typ }

// String returns the name of the element type.
func (e Elem) String() string { return elems[e].name }

// Buffer is a buffer that the kernel works on.
type Buffer struct {
	Elem  Elem
	Read  bool
	Write bool
}

// Param is a push-constant parameter. Offset is in bytes from the first
// parameter; what a target puts before that is its own affair.
type Param struct {
	Type   scalar.Type
	Offset int
}

// Shared is an array of the workgroup.
type Shared struct {
	Type scalar.Type
	Len  int
}

// Kernel is one compute shader.
type Kernel struct {
	Name         string
	Local        [3]uint32 // invocations of a workgroup
	SubgroupSize uint32    // invocations of a subgroup; 0 where the kernel has no instructions of subgroups
	Buffers      []Buffer
	Params       []Param
	Shared       []Shared
	Tables       [][]uint64    // constant tables of Lookup
	Types        []scalar.Type // of each value
	Head         []Inst        // constants, parameters and builtins: valid everywhere
	Body         Block
}

// ParamBytes returns the size of the parameter block, a multiple of 4.
func (k *Kernel) ParamBytes() int {
	n := 0
	for _, p := range k.Params {
		n = max(n, p.Offset+TypeSize(p.Type))
	}
	return n
}

// TypeSize returns the bytes of a scalar in a parameter or a shared array.
func TypeSize(t scalar.Type) int {
	if Is64(t) {
		return 8
	}
	return 4
}

// Is64 reports whether values of the type have 64 bits.
func Is64(t scalar.Type) bool {
	return t == scalar.I64 || t == scalar.U64 || t == scalar.F64
}

// IsFloat reports whether the type is a floating-point one.
func IsFloat(t scalar.Type) bool { return t == scalar.F32 || t == scalar.F64 }

// IsSigned reports whether the type is a signed integer.
func IsSigned(t scalar.Type) bool { return t == scalar.I32 || t == scalar.I64 }

// Op is what an instruction does.
type Op uint8

// The instructions. Prim covers all arithmetic; the others are memory and
// structure.
const (
	Const           Op = iota // Bits
	ParamOf                   // Index is the parameter
	Builtin                   // Index is one of the Builtins
	Prim                      // Prim on Args
	Lookup                    // element Args[0] of table Index
	Load                      // Index is the buffer; Args[0] counts groups of len(Res) elements
	Store                     // Index is the buffer; Args[0] counts groups of len(Args)-1 elements
	AddBuffer                 // element Args[0] of buffer Index, of U32, grows by Args[1], in one piece
	MaxBuffer                 // element Args[0] of buffer Index, of U32, becomes Args[1] if that is larger, in one piece
	LoadAtomic                // element Args[0] of buffer Index, of U32, which others may raise or add to meanwhile
	LoadWord                  // word Args[0], of 32 bits, of buffer Index, whatever its elements are
	LoadShared                // element Args[0] of shared array Index
	StoreShared               // element Args[0] of shared array Index becomes Args[1]
	AddShared                 // element Args[0] of shared array Index grows by Args[1], in one piece
	Barrier                   // of the workgroup and its shared arrays; in uniform control flow alone
	SubgroupBarrier           // of the subgroup, likewise
	Ballot                    // Args[0] of every invocation of the subgroup, a bit each, lowest first, 32 a word
	ExclusiveSum              // sum of Args[0] over the invocations of the subgroup before this one
	If                        // Args[0] is the condition; Blocks are both branches
	Loop                      // Args are first, limit, step, initial carried values; Blocks[0] has parameters index and carried
)

// Builtins of an invocation, U32 each. SubgroupInvocation and Subgroup are its places in its
// subgroup and of that in the workgroup.
const (
	LocalX = iota
	LocalY
	LocalZ
	GroupX
	GroupY
	GroupZ
	GroupsX
	GroupsY
	GroupsZ
	SubgroupInvocation
	Subgroup
	builtinEnd
)

// BuiltinNames are the names of the builtins in the text form.
var BuiltinNames = [builtinEnd]string{"local.x", "local.y", "local.z",
	"group.x", "group.y", "group.z", "groups.x", "groups.y", "groups.z", "subgroup.invocation", "subgroup"}

// Inst is one instruction. Its operands are defined before it, in its own or an
// enclosing block.
type Inst struct {
	Op     Op
	Prim   scalar.Op
	Res    []Value
	Args   []Value
	Index  int
	Bits   uint64
	Blocks []Block
}

// Block is a list of instructions. Yield are the values that it hands to the
// instruction that owns it.
type Block struct {
	Params []Value
	Insts  []Inst
	Yield  []Value
}
