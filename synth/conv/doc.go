// Package conv lowers convolutions of any number of spatial axes, with strides,
// dilations, padding, feature groups and batch groups. A convolution is a product
// of matrices, the filters times the patches that they see. It is an implicit
// product (the kernel gathers patches as it loads them), a plain product if a patch
// is one element, a direct sum for groups of few filters (depthwise), and an
// explicit im2col otherwise.
//
// The cost is that of the product; see package gemm.
package conv
