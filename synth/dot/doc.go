// Package dot lowers products of tensors along paired axes as one batched product
// of matrices, C[b,m,n] = sum over k of A[b,m,k] B[b,k,n], which package gemm
// plans. Operands of other types are converted first, but those that kernels load as they are,
// such as the narrow matrix of few vectors, and operands whose axes do
// not collapse to m and k are transposed first. A complex product is a real one of
// twice the size.
//
// Builder gathers the steps of a plan; convolutions and factorizations use it too.
// An Epilogue is what a kernel does to the results before it stores them.
package dot
