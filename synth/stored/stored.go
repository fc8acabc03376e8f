// Package stored has elements in memory of the host as kernels load and store them: routines that carry out
// kernels on the host give the same bits. Narrow floats are computed in f32; a NaN is stored as the
// one NaN of its type.
package stored

import (
	"math"
	"sync"
	"unsafe"

	"nxvk/ops"
	"nxvk/synth/kernel"
)

// Number is the type in which kernels compute.
type Number interface {
	float32 | float64 | uint32 | uint64
}

// Computes reports whether there are elements of a type that kernels compute in a wide one.
func Computes(d, wide ops.DType) bool {
	if wide.IsComplex() || wide.Size() < 4 {
		return false
	}
	return d == wide || wide == ops.F32 && (d == ops.BF16 || d == ops.F16)
}

// Elements are those of an operand, in the type in which they are computed.
type Elements[T Number] struct {
	wide   []T
	narrow []uint16
	values []float32 // of narrow elements, by their bits; nil of bf16
}

// ElementsOf gives the elements of a type in memory: narrow floats for T = float32, or those that have the size of T.
func ElementsOf[T Number](d ops.DType, b []byte) (e Elements[T]) {
	switch d {
	case ops.F16:
		e.values = halves()
		e.narrow = unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/2)
	case ops.BF16:
		e.narrow = unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/2)
	default:
		e.wide = Wide[T](b)
	}
	return e
}

// Wide gives elements of the size of T in memory.
func Wide[T Number](b []byte) []T {
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

// Get gives as many elements from one on as there is room for: where they lie, or in the room.
func (e *Elements[T]) Get(at int, room []T) []T {
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

// Gather gives as many elements as there is room for, each so many places after the one before it: where they lie,
// or in the room.
func (e *Elements[T]) Gather(at, step int, room []T) []T {
	switch {
	case step == 1:
		return e.Get(at, room)
	case e.wide != nil:
		for i := range room {
			room[i] = e.wide[at]
			at += step
		}
	case e.values == nil:
		for i := range room {
			room[i] = T(math.Float32frombits(uint32(e.narrow[at]) << 16))
			at += step
		}
	default:
		for i := range room {
			room[i] = T(e.values[e.narrow[at]])
			at += step
		}
	}
	return room
}

// Results are stored as kernels do: see codegen.Emitter.Encode.
type Results[T Number] struct {
	wide   []T
	narrow []uint16
	half   bool
}

// ResultsOf gives the places of results of a type, as ElementsOf those of operands.
func ResultsOf[T Number](d ops.DType, b []byte) (r Results[T]) {
	if d.Size() > 2 {
		r.wide = Wide[T](b)
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

// Put stores a result.
func (r *Results[T]) Put(at int, x T) {
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

// Scatter stores elements of from, each apart from the one before it, as n results that are step places apart.
func (r *Results[T]) Scatter(at, step int, from []T, apart, n int) {
	if n == 0 {
		return
	}
	from = from[:(n-1)*apart+1]
	if r.wide == nil {
		for i := range n {
			r.Put(at+i*step, from[i*apart])
		}
		return
	}
	to := r.wide[at : at+(n-1)*step+1]
	for i := range n {
		x := from[i*apart]
		if x != x {
			r.Put(at+i*step, x)
			continue
		}
		to[i*step] = x
	}
}
