// Package jacobi computes eigenvalues and eigenvectors of Hermitian matrices by
// two-sided Jacobi rotations, and singular values by one-sided ones (Hestenes,
// 1958) of the triangle of a QR factorization. Pairs of blocks of rows are rotated
// side by side, in the round-robin order of Brent and Luk (1985), until a sweep
// has rotated nothing.
//
// The number of sweeps is bounded; steps of matrices that have converged do
// nothing. A sweep costs about 4n^3 operations.
package jacobi
