// Package conv lowers convolutions of any number of spatial axes, with strides,
// dilations, padding, feature groups and batch groups. A convolution is a product
// of matrices, the filters times the patches that they see: an implicit product
// (the kernel gathers patches as it loads), a plain product where a patch is one
// element, an explicit im2col otherwise, and a direct sum for groups of few filters
// (depthwise).
//
// The cost is that of the product; see package gemm.
package conv
