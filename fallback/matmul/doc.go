// Package matmul computes matrix products and convolutions on the host.
//
// Floats are multiplied by gonum's BLAS in tiles of 64, which all processors share; f32
// accumulates in float64 where a product is small, as Nx does. Integers and complex numbers
// are summed in order, as are floats that are not finite, since BLAS leaves out the terms
// of zeros. A convolution is the product of the filters with the patches that they see
// (im2col); 2^17 elements of these are laid out at a time.
//
// The order of a sum follows from the shapes alone. The package knows no other operation
// but the movement of axes.
package matmul
