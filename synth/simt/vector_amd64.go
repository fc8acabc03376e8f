package simt

import (
	"unsafe"

	"golang.org/x/sys/cpu"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// On a processor with AVX2, the loops that kernels have most of take 32 bytes of a column at a time. They may go beyond
// the invocations that are there: a column has room for all of Width. Results have the bits of the loops in loops.go.

func init() {
	if !cpu.X86.HasAVX2 {
		return
	}
	floats, doubles := arithmetic[scalar.F32], arithmetic[scalar.F64]
	set(floats, 4, map[scalar.Op]any{scalar.Add: addFloat32, scalar.Sub: subFloat32, scalar.Mul: mulFloat32, scalar.Div: divFloat32, scalar.Neg: negFloat32,
		scalar.Sqrt: sqrtFloat32, scalar.Floor: floorFloat32, scalar.Ceil: ceilFloat32, scalar.Trunc: truncFloat32, scalar.RoundEven: evenFloat32})
	set(doubles, 8, map[scalar.Op]any{scalar.Add: addFloat64, scalar.Sub: subFloat64, scalar.Mul: mulFloat64, scalar.Div: divFloat64, scalar.Neg: negFloat64,
		scalar.Sqrt: sqrtFloat64, scalar.Floor: floorFloat64, scalar.Ceil: ceilFloat64, scalar.Trunc: truncFloat64, scalar.RoundEven: evenFloat64})
	for _, t := range []scalar.Type{scalar.I32, scalar.U32} {
		set(arithmetic[t], 4, map[scalar.Op]any{scalar.Add: addWord32, scalar.Sub: subWord32, scalar.Mul: mulWord32, scalar.Neg: negWord32,
			scalar.And: andBits, scalar.Or: orBits, scalar.Xor: xorBits, scalar.Not: notBits, scalar.Shl: shlWord32})
	}
	set(arithmetic[scalar.U32], 4, map[scalar.Op]any{scalar.Shr: shrUint32})
	set(arithmetic[scalar.I32], 4, map[scalar.Op]any{scalar.Shr: shrInt32})
	for _, t := range []scalar.Type{scalar.I64, scalar.U64} {
		set(arithmetic[t], 8, map[scalar.Op]any{scalar.Add: addWord64, scalar.Sub: subWord64,
			scalar.And: andBits, scalar.Or: orBits, scalar.Xor: xorBits, scalar.Not: notBits})
	}
	set(comparisons[scalar.F32], 4, map[scalar.Op]any{scalar.Eq: equalFloat32, scalar.Ne: unequalFloat32, scalar.Lt: lessFloat32, scalar.Le: atMostFloat32})
	set(comparisons[scalar.F64], 4, map[scalar.Op]any{scalar.Eq: equalFloat64, scalar.Ne: unequalFloat64, scalar.Lt: lessFloat64, scalar.Le: atMostFloat64})
	for _, t := range []scalar.Type{scalar.I32, scalar.U32, scalar.Bool} {
		set(comparisons[t], 4, map[scalar.Op]any{scalar.Eq: equalWord32, scalar.Ne: unequalWord32, scalar.Lt: lessUint32, scalar.Le: atMostUint32})
	}
	set(comparisons[scalar.I32], 4, map[scalar.Op]any{scalar.Lt: lessInt32, scalar.Le: atMostInt32})
	set(special, 4, map[scalar.Op]any{scalar.AndB: andBits, scalar.OrB: orBits, scalar.NotB: notTruth})
	mulAdd32, mulAdd64 = bind(4, mulAddFloat32), bind(8, mulAddFloat64)
	choose32, choose64, convertInt32 = bind(4, chooseWord32), bind(8, chooseWord64), bind(4, floatOfInt32)
	copy32, copy64 = bind(4, copyBits), bind(8, copyBits)
}

// set replaces operations by loops over columns whose results have a size.
func set(list map[scalar.Op]binder, size int, by map[scalar.Op]any) {
	for op, loop := range by {
		list[op] = bind(size, loop)
	}
}

// bind makes a binder of a loop of one to three operands.
func bind(size int, loop any) binder {
	return func(d kernel.Value, args []kernel.Value) op {
		x := args[0]
		switch f := loop.(type) {
		case func(d, x *byte, blocks int):
			return func(m *machine) { f(m.first(d), m.first(x), m.blocks(size)) }
		case func(d, x, y *byte, blocks int):
			y := args[1]
			return func(m *machine) { f(m.first(d), m.first(x), m.first(y), m.blocks(size)) }
		case func(d, x, y, z *byte, blocks int):
			y, z := args[1], args[2]
			return func(m *machine) { f(m.first(d), m.first(x), m.first(y), m.first(z), m.blocks(size)) }
		}
		panic("BUG: no loop over columns")
	}
}

// first is where a column begins.
func (m *machine) first(v kernel.Value) *byte {
	return (*byte)(unsafe.Pointer(&m.columns[m.at[v]]))
}

// blocks is how many times 32 bytes the results are that are there, of a size each.
func (m *machine) blocks(size int) int { return (m.n*size + 31) / 32 }
