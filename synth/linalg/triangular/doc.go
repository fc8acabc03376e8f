// Package triangular solves systems of triangular matrices, from both sides and of
// all transforms, by blocked substitution (LAPACK's trtrs): one step finds a block
// of unknowns in registers, then a product takes these off the rest.
//
// The cost is n^2 multiply-adds a right-hand side.
package triangular
