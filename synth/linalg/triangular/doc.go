// Package triangular solves systems of triangular matrices, from both sides and of
// all transforms, by blocked substitution (LAPACK's trtrs): one step finds a block
// of unknowns in registers, then a product takes these off the rest. Where products
// fill the device they are those of halves, recursively. Blocks are solved by substitution
// and not by inverses, so the backward error is that of substitution.
//
// Two kernels solve a block. One has a right-hand side an invocation; where these are few, the other has a row of
// the matrix an invocation. The number of right-hand sides decides between them. Both multiply by reciprocals of
// the diagonal and correct the quotients, which then are those of divisions. The products of few right-hand sides
// have a kernel of their own, in which several invocations share a row.
//
// The cost is n^2 multiply-adds a right-hand side.
package triangular
