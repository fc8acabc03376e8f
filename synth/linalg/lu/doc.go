// Package lu factors square matrices with partial pivoting, p a = l u: the
// recursive blocked algorithm (LAPACK's getrf2) with lookahead. The first workgroup
// factors a panel while the others update columns to its right; rows move once a
// block.
//
// Small matrices are factored several to a workgroup, in one dispatch (small.go).
//
// The cost is 2n^3/3 operations; a panel is bound by the latency of its columns.
package lu
