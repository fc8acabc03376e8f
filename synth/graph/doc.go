// Package graph rewrites instructions before they are fused and lowered: it has the passes that simplify code,
// and those that change whole programs. Package notation has their text form.
//
// The package refuses to know devices, kernels and where values live; to fold
// constants it calls a function that computes an instruction. Start reading at
// Simplify; Unroll, Invariant and Sink change whole programs.
package graph
