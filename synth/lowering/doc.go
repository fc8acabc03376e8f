// Package lowering is the contract between an executor and the lowerings of
// operations: what a lowering gets, a Target that says what a device can do, and
// what it gives back, a Plan of Steps, each one dispatch of a Kernel with its
// buffers, push constants and grid.
//
// A lowering is a Func. It fails with an error that wraps ErrUnsupported where the
// device cannot carry out the instruction, and the host may then try. A plan
// depends on the operation, attributes, types, shapes and the target, never on
// values, so plans can be kept.
//
// The package knows no operation and no session, and does not emit code.
package lowering
