// Package notation is the text form of regions, of straight-line code and of programs.
//
//	(%1:f32[2,3], %2:f32) {
//	  %3:f32[2,3] = multiply %1, %2
//	  %4:f32[2] = sum %3 axes=[1] keep_axes=false
//	  give %4, f32(0.5)
//	}
//
// The package refuses to check what a text says: a region that it reads may be no program. Start reading at Print.
package notation
