// Package fused makes the kernels of fusions: elementwise code, reductions with the
// operations before and after them, functions of whole rows (a softmax, a layer
// norm), and products with an epilogue. It maps the clusters that package partition
// finds to the jobs of packages elementwise, reduction, dot and conv. A row is read
// once if the registers of a workgroup hold it; the rest of a longer row is read
// again for each reduction that needs the one before.
//
// A small fusion can be a stage of the kernel that reads its results: each workgroup of that kernel executes it and
// keeps the results in shared memory (chain.go). Small fusions that do not depend on one another can share a kernel,
// whose workgroups are divided among them (abreast.go).
//
// A kernel rounds wherever its instructions would, so fused and single
// instructions give the same bits.
package fused
