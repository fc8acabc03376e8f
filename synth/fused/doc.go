// Package fused makes the kernels of fusions: elementwise code, reductions with the
// operations before and after them, functions of whole rows (a softmax, a layer
// norm), and products with an epilogue. It maps the clusters that package partition
// finds to the jobs of packages elementwise, reduction, dot and conv. A row is read
// once if the registers of a workgroup hold it; the rest of a longer row is read
// again for each reduction that needs the one before. Small fusions are stages of the kernels that read them: each
// workgroup carries them out, and keeps what they give in shared memory (see chain.go). Small fusions that do not depend on
// one another are one kernel, whose workgroups carry out those of each (see abreast.go).
//
// A kernel rounds wherever its instructions would, so fused and single
// instructions give the same bits.
package fused
