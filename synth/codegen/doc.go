// Package codegen makes kernels. A Program is one dispatch that is not compiled
// yet: its buffers, numbers and literals, and a body that emits code. NewStep
// compiles a program, or finds it in memory or in the archive, and fills in the
// dispatch.
//
// An Emitter is a kernel.Builder that knows the target and how elements of each
// type are loaded, converted, computed with and stored. Sizes, strides and offsets
// are parameters of a kernel, so one kernel serves all shapes.
//
// Expression compiles the scalar code of an operation (package scalar). The
// package knows no lowering.
package codegen
