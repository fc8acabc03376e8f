// Package fallback computes instructions on the host: every operation of the
// table but those of control, for all element types. It serves where a
// machine has no device, where an element type or an operation has no device
// code, where a value is too small to be worth a submit, and as the oracle of
// the tests of device code.
//
// What an operation means is taken from Nx.BinaryBackend: floats compute in
// float64 and are rounded once, when they are stored; integers compute in 64
// bits and wrap when they are stored; complex numbers compute in complex128.
// The differences are on purpose and few:
//
//   - bf16 and f8 round to nearest even, where Nx cuts digits off;
//   - what raises there (1 / 0, exp(1000), an integer divided by zero) gives
//     what IEEE 754 or the comment of the operation's row says;
//   - expm1, log1p, cbrt and erf_inv are exact where Nx composes or
//     approximates them, so the last digits of f64 results differ;
//   - a Fourier transform along any axis leaves the others in their places.
//
// The package refuses to know where values live and who owns them: operands
// and results are dense bytes in little-endian order. Results depend on the
// instruction and on sizes alone, never on the number of cores.
//
// Start reading at Run, then at pointwise.go.
package fallback

import (
	"fmt"
	"unsafe"

	"nxvk/fallback/sched"
	"nxvk/ops"
)

// Value is a dense tensor in host memory: elements in row-major order, each
// little-endian, types of less than a byte in one byte an element.
type Value struct {
	Type ops.Type
	Data []byte
}

// call is an instruction that is carried out, and the worker that does it.
type call struct {
	*ops.Instr
	w *sched.Worker
}

// on is the call as another worker carries it out.
func (c *call) on(w *sched.Worker) *call { return &call{c.Instr, w} }

// kernel carries out the instructions of one operation. The instruction has
// been checked against the types of args and outs.
type kernel func(in *call, args, outs []Value) error

// kernels has an entry for each operation that the host computes. Functions of
// reductions run instructions, which looks kernels up: so init fills it.
var kernels [ops.Count]kernel

func init() {
	for op := ops.Op(0); op < ops.Count; op++ {
		if f := op.Info(); f.Kind == ops.Pointwise {
			kernels[op] = pointwise
		}
	}
	for _, family := range []map[ops.Op]kernel{
		elementKernels, bitKernels, createKernels, reduceKernels, movementKernels, contractKernels,
		indexKernels, orderKernels, windowKernels, transformKernels, linalgKernels, foldKernels,
	} {
		for op, k := range family {
			kernels[op] = k
		}
	}
}

// Supports reports whether Run computes the operation.
func Supports(op ops.Op) bool { return op < ops.Count && kernels[op] != nil }

// Run computes an instruction that ops.Instr.Check has accepted. args are its
// operands, literals included; outs are its results, allocated by the caller
// with the types that the instruction states. It may use all processors.
func Run(in *ops.Instr, args, outs []Value) error { return carryOut(nil, in, args, outs) }

// RunOn is Run by a worker, which shares the processors with others. Where the
// computation is cancelled the error is sched.ErrCancelled, and the results hold
// anything.
func RunOn(w *sched.Worker, in *ops.Instr, args, outs []Value) error {
	return sched.Caught(func() error { return carryOut(w, in, args, outs) })
}

func carryOut(w *sched.Worker, in *ops.Instr, args, outs []Value) error {
	k := kernels[in.Op]
	if k == nil {
		return fmt.Errorf("%v: %w", in.Op, ErrUnsupported)
	}
	c := &call{in, w}
	if aligned(args) && aligned(outs) {
		return k(c, args, outs)
	}
	return runMoved(k, c, args, outs)
}

// aligned reports whether elements can be read in place. It also holds the
// caller to sizes: everything behind it indexes without looking again.
func aligned(values []Value) bool {
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

// alignment is what the elements of a type need; a complex number is two
// floats.
func alignment(d ops.DType) uintptr { return uintptr(d.Real().Size()) }

// runMoved runs a kernel on copies: literals lie in a message at any address.
func runMoved(k kernel, in *call, args, outs []Value) error {
	margs, mouts := make([]Value, len(args)), make([]Value, len(outs))
	for i, v := range args {
		margs[i] = Value{v.Type, fresh(len(v.Data))}
		copy(margs[i].Data, v.Data)
	}
	for i, v := range outs {
		mouts[i] = Value{v.Type, fresh(len(v.Data))}
	}
	if err := k(in, margs, mouts); err != nil {
		return err
	}
	for i, v := range outs {
		copy(v.Data, mouts[i].Data)
	}
	return nil
}

// fresh returns n zero bytes that any element type can be read from.
func fresh(n int) []byte {
	words := make([]complex128, (n+15)/16)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*16)[:n]
}

// newValue returns a zero value of a type.
func newValue(t ops.Type) Value { return Value{t, fresh(t.Bytes())} }

// view reads bytes as elements. The bytes are aligned.
func view[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

// viewOf reads a buffer as elements.
func viewOf[T any](b *[chunk]complex128) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(b)), chunk)
}
