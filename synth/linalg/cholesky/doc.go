// Package cholesky factors Hermitian positive definite matrices as l l^H: the
// blocked right-looking algorithm (LAPACK's potrf). One dispatch a panel factors
// the panel and updates what lies to its right, so the two share the device.
// Matrices of one panel take one dispatch, a row an invocation.
//
// The cost is n^3/3 multiply-adds and one barrier a panel.
package cholesky
