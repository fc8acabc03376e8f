// Package factor has what factorizations share: Job, which gathers the steps of
// one factorization of a batch; Matrices, strided matrices within a buffer; Arith,
// real or complex arithmetic in a kernel; panels in registers of a workgroup;
// products of blocks, tile by tile; and the check for a singular matrix.
//
// A factorization works in place, a block of columns at a time, as LAPACK's blocked
// routines do: a panel is factored by one workgroup, and the columns to its right
// lose the product of the panel.
package factor
