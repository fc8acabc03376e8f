// Package linalg computes factorizations and solves systems on the host, a matrix of a
// batch at a time, in float64 or complex128.
//
// Real matrices: blocked LU with partial pivoting and blocked Cholesky (Golub and Van Loan,
// Matrix Computations, sections 3.2 and 4.2), singular values by gonum's LAPACK with its
// last stage written out (Demmel and Kahan, 1990), eigenvalues by Householder reflections
// and implicit QL and QR. Complex ones, and small Hermitian ones: one-sided and two-sided
// Jacobi rotations (Hestenes, 1958; Brent and Luk, 1985). QR is by Householder reflectors.
// Each takes a multiple of n³ operations, from 1/3 (Cholesky) to about 20 (singular values
// and vectors), and is cancelled between steps of at most n².
//
// A matrix has many factorizations; linalg.go says which one the package returns.
//
// The package registers a BLAS with gonum that yields to other sessions (blas.go). It knows
// no other operation.
package linalg
