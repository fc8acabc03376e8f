package tiles

import "golang.org/x/sys/cpu"

// Of returns what sums tiles of a type, nil where the processor has no instructions for it.
func Of[T Number]() Sum[T] {
	var sum any
	switch any(T(0)).(type) {
	case float32:
		sum = Sum[float32](sumFloat32)
	case float64:
		sum = Sum[float64](sumFloat64)
	case uint32:
		sum = Sum[uint32](sumUint32)
	default:
		return nil
	}
	if f, ok := sum.(Sum[T]); ok && cpu.X86.HasAVX2 {
		return f
	}
	return nil
}

// ColumnsOf returns what sums columns of a type, nil where the processor has no instructions for it.
func ColumnsOf[T Number]() Columns[T] {
	if f, ok := any(Columns[float32](columnsFloat32)).(Columns[T]); ok && cpu.X86.HasAVX2 {
		return f
	}
	return nil
}

// PackOf returns what packs columns of a type, nil where the processor has no instructions for it.
func PackOf[T Number]() Pack[T] {
	if f, ok := any(Pack[float32](packFloat32)).(Pack[T]); ok && cpu.X86.HasAVX2 {
		return f
	}
	return nil
}

// narrowCode is the code for a narrow type: it converts numbers, or adds the products of fourRows rows of them to sums, both
// widenTogether at a time.
type narrowCode struct{ widen, rows any }

var narrowCodes = [...]narrowCode{
	BF16: {widenBF16, rowsBF16},
	F16:  {widenF16, rowsF16},
	S8:   {widenS8, rowsS8},
	U8:   {widenU8, rowsU8},
	F32:  {nil, rowsF32},
}

// codeOf is the code for a narrow type, empty where the processor has no instructions for it. A processor with AVX2 and
// FMA converts floats of 16 bits, too.
func codeOf(n Narrow) narrowCode {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return narrowCode{}
	}
	return narrowCodes[n]
}

func widenOf[T Number](n Narrow) func(count int, from *byte, to *T) {
	f, _ := codeOf(n).widen.(func(count int, from *byte, to *T))
	return f
}

func rowsOf[T Number](n Narrow) func(count, step int, a *T, from *byte, sums *T) {
	f, _ := codeOf(n).rows.(func(count, step int, a *T, from *byte, sums *T))
	return f
}

//go:noescape
func rowsBF16(count, step int, a *float32, from *byte, sums *float32)

//go:noescape
func rowsF32(count, step int, a *float32, from *byte, sums *float32)

//go:noescape
func rowsF16(count, step int, a *float32, from *byte, sums *float32)

//go:noescape
func rowsS8(count, step int, a *uint32, from *byte, sums *uint32)

//go:noescape
func rowsU8(count, step int, a *uint32, from *byte, sums *uint32)

//go:noescape
func widenBF16(count int, from *byte, to *float32)

//go:noescape
func widenF16(count int, from *byte, to *float32)

//go:noescape
func widenS8(count int, from *byte, to *uint32)

//go:noescape
func widenU8(count int, from *byte, to *uint32)

//go:noescape
func packFloat32(fours, step int, b, to *float32)

//go:noescape
func columnsFloat32(fours, step int, a, b, sums *float32)

//go:noescape
func sumFloat32(k, step int, a0, a1, a2, a3, b, sums *float32)

//go:noescape
func sumFloat64(k, step int, a0, a1, a2, a3, b, sums *float64)

//go:noescape
func sumUint32(k, step int, a0, a1, a2, a3, b, sums *uint32)
