// Package fused makes the kernels of fusions: elementwise code, reductions with
// what comes before and after them, whole rows (a softmax, a layer norm) that are
// read once and kept in registers as far as these reach, and products with an
// epilogue. It brings what package fusion found to the jobs of packages elementwise,
// reduction, dot and conv.
//
// A kernel rounds wherever its instructions would, so fused and single
// instructions give the same bits.
package fused
