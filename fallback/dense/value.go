package dense

import (
	"fmt"
	"unsafe"

	"nxvk/ops"
)

// Value is a dense tensor in host memory: elements in row-major order, each
// little-endian, types of less than a byte in one byte an element.
type Value struct {
	Type ops.Type
	Data []byte
}

// Aligned reports whether elements can be read in place. It panics where the length of a
// value's data is not that of its type: kernels index without looking again.
func Aligned(values []Value) bool {
	ok := true
	for i := range values {
		v := &values[i]
		if len(v.Data) != v.Type.Bytes() {
			panic(fmt.Sprintf("BUG: %v has %d bytes", v.Type, len(v.Data)))
		}
		if uintptr(unsafe.Pointer(unsafe.SliceData(v.Data)))%alignment(v.Type.DType) != 0 {
			ok = false
		}
	}
	return ok
}

// alignment returns the alignment of a type's elements. A complex number is two floats.
func alignment(d ops.DType) uintptr { return uintptr(d.Real().Size()) }

// RunMoved runs a kernel on aligned copies: literals lie in a message at any address.
func RunMoved(k Kernel, in *Call, args, outs []Value) error {
	margs, mouts := make([]Value, len(args)), make([]Value, len(outs))
	for i, v := range args {
		margs[i] = Value{v.Type, Alloc(len(v.Data))}
		copy(margs[i].Data, v.Data)
	}
	for i, v := range outs {
		mouts[i] = Value{v.Type, Alloc(len(v.Data))}
	}
	if err := k(in, margs, mouts); err != nil {
		return err
	}
	for i, v := range outs {
		copy(v.Data, mouts[i].Data)
	}
	return nil
}

// Alloc returns n zero bytes that any element type can be read from.
func Alloc(n int) []byte {
	words := make([]complex128, (n+15)/16)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*16)[:n]
}

// New returns a zero value of a type.
func New(t ops.Type) Value { return Value{t, Alloc(t.Bytes())} }

// View reads bytes as elements. The bytes are aligned.
func View[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

// viewOf reads a buffer as elements.
func viewOf[T any](b *[Chunk]complex128) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(b)), Chunk)
}
