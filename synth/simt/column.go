package simt

import (
	"unsafe"

	"nxvk/synth/kernel"
)

// column is the elements of a value, of those invocations that are there.
func column[T any](m *machine, v kernel.Value) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(&m.columns[m.at[v]])), m.n)
}

// raw is the memory of a column.
func (m *machine) raw(v kernel.Value) []uint64 {
	n := (m.n*kernel.TypeSize(m.k.Types[v]) + 7) / 8
	return m.columns[m.at[v]:][:n]
}

// view is memory as elements, as many as are whole.
func view[T any](b []uint64) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), 8*len(b)/int(unsafe.Sizeof(t)))
}

// elements is a buffer as elements, as many as are whole.
func elements[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}
