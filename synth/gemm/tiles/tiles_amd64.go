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

// widenOf returns what converts widenTogether numbers at a time, nil where the processor has no instructions for it. A
// processor with AVX2 and FMA converts floats of 16 bits, too.
func widenOf[T Number](n Narrow) func(count int, from *byte, to *T) {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return nil
	}
	var widen any
	switch n {
	case BF16:
		widen = widenBF16
	case F16:
		widen = widenF16
	case S8:
		widen = widenS8
	case U8:
		widen = widenU8
	}
	f, _ := widen.(func(count int, from *byte, to *T))
	return f
}

// rowsOf returns what adds the products of fourRows rows of narrow numbers to sums, widenTogether at a time, nil where the
// processor has no instructions for it.
func rowsOf[T Number](n Narrow) func(count, step int, a *T, from *byte, sums *T) {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return nil
	}
	var rows any
	switch n {
	case BF16:
		rows = rowsBF16
	case F16:
		rows = rowsF16
	case S8:
		rows = rowsS8
	case U8:
		rows = rowsU8
	}
	f, _ := rows.(func(count, step int, a *T, from *byte, sums *T))
	return f
}

//go:noescape
func rowsBF16(count, step int, a *float32, from *byte, sums *float32)

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
