// Package qr factors matrices by Householder reflectors in compact WY form
// (Schreiber and Van Loan, 1989; LAPACK's geqrt and larfb). A panel is factored by
// one workgroup, or by many that share its rows (distributed.go); T is joined from
// blocks (Puglisi, 1992), and applied to the columns at the right as products.
//
// The cost is that of two products for each panel.
package qr
