// Package codegen makes kernels. A Program is one dispatch that is not compiled
// yet: its buffers, numbers and literals, and a body that emits code. Its work is
// divided into units, such as one result or a vector of four; an invocation
// executes one unit or a few. NewStep compiles a program, or finds it in memory or
// in the archive, and fills in the dispatch. Compiling a kernel takes some hundred
// microseconds (go test ./synth -bench BenchmarkCompile).
//
// An Emitter is a kernel.Builder that knows the target and how elements of each
// type are loaded, converted, computed with and stored. Sizes, strides and offsets
// are parameters of a kernel, so one kernel serves all shapes.
//
// Expression compiles the scalar code of an operation (package scalar). The
// package knows no lowering.
package codegen
