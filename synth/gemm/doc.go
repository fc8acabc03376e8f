// Package gemm plans products of matrices on a device: which kernel of package
// shaders computes one, with which tile and parameters, and in how many steps.
//
// A plan follows from shapes, strides and limits of the device alone, so the
// same product gives the same bits every time. Kernels that sum along k in order
// agree bit for bit, whichever is chosen. Kernels for few vectors, and products
// whose k is divided among workgroups, have another order.
//
// The package knows no tensors, axes or conversions: synth makes a Problem of
// a dot. Start reading at New.
package gemm
