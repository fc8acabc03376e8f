// Package graph rewrites instructions before they are fused and lowered. It has a
// text form of straight-line code and of programs, and the passes that simplify
// code.
//
//	(%1:f32[2,3], %2:f32) {
//	  %3:f32[2,3] = multiply %1, %2
//	  %4:f32[2] = sum %3 axes=[1] keep_axes=false
//	  give %4, f32(0.5)
//	}
//
// The package refuses to know devices, kernels and where values live; to fold
// constants it calls a function that computes an instruction. Start reading at
// Print, then at Simplify; Unroll and Sink change whole programs.
package graph
