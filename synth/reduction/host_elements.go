package reduction

import (
	"math"
	"sync"
	"unsafe"

	"nxvk/ops"
	"nxvk/synth/kernel"
)

// elements are those of an operand, in the type in which they are added.
type elements[T float32 | float64] struct {
	wide   []T
	narrow []uint16
	values []float32 // of narrow elements, by their bits; nil of bf16
}

func elementsOf[T float32 | float64](d ops.DType, b []byte) (e elements[T]) {
	switch d {
	case ops.F16:
		e.values = halves()
		e.narrow = unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/2)
	case ops.BF16:
		e.narrow = unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/2)
	default:
		e.wide = wideOf[T](b)
	}
	return e
}

func wideOf[T float32 | float64](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

// halves are the numbers of f16 by their bits.
var halves = sync.OnceValue(func() []float32 {
	list := make([]float32, 1<<16)
	for i := range list {
		list[i] = kernel.UnpackHalf(uint16(i))
	}
	return list
})

// get gives as many elements from one on as there is room for: where they lie, or in the room.
func (e *elements[T]) get(at int, room []T) []T {
	if e.wide != nil {
		return e.wide[at : at+len(room)]
	}
	from := e.narrow[at : at+len(room)]
	if e.values == nil {
		for i, x := range from {
			room[i] = T(math.Float32frombits(uint32(x) << 16))
		}
		return room
	}
	for i, x := range from {
		room[i] = T(e.values[x])
	}
	return room
}

// results are stored as kernels do: see codegen.Emitter.Encode.
type results[T float32 | float64] struct {
	wide   []T
	narrow []uint16
	half   bool
}

func resultsOf[T float32 | float64](d ops.DType, b []byte) (r results[T]) {
	if d.Size() > 2 {
		r.wide = wideOf[T](b)
		return r
	}
	r.narrow, r.half = unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/2), d == ops.F16
	return r
}

// The bits of the NaN that is stored.
const (
	nanBF16 = 0x7fc0
	nanF16  = 0x7e00
)

func (r *results[T]) put(at int, x T) {
	switch {
	case r.wide != nil && x != x:
		r.wide[at] = T(math.Float32frombits(0x7fc00000))
	case r.wide != nil:
		r.wide[at] = x
	case x != x && r.half:
		r.narrow[at] = nanF16
	case x != x:
		r.narrow[at] = nanBF16
	case r.half:
		r.narrow[at] = kernel.PackHalf(float32(x))
	default:
		r.narrow[at] = uint16(math.Float32bits(float32(x)) >> 16)
	}
}
