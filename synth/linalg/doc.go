// Package linalg lowers operations on batches of matrices, in f32, f64, c64 and
// c128: it has the table from operations to the factorizations of its folders, and
// the solutions of systems. Factors and pivots stay on the device; whether a system
// has a solution is a check of its plan.
//
// Folders: factor has what all share; cholesky, lu, qr and jacobi (eigenvalues and
// singular values) have one factorization each; triangular has substitution. Where
// the device is a processor the host's LAPACK does all of it.
package linalg
