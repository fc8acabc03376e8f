// Package lowering is the contract between an executor and the lowerings of
// operations. A lowering gets an instruction and a Target, which says what a
// device can do. It returns a Plan: a list of Steps. A Step is one dispatch of a
// Kernel with its buffers, push constants and grid.
//
// A lowering is a Func. It fails with an error that wraps ErrUnsupported if the
// device cannot execute the instruction, and the host may then try. A plan depends
// on the operation, attributes, types, shapes and the target, never on values, so
// plans can be kept.
//
// The package knows no operation and no session, and does not emit code.
package lowering
