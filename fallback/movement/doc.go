// Package movement computes the operations that move elements without changing them: shapes,
// slices, padding, concatenation and indexing. It also makes constants.
//
// Every such operation is one or more copies of a box of elements between two places with
// steps along each dimension (copier), merged where elements follow each other. Where the
// source is dense along another dimension than the target, the copy goes by squares of 32,
// so that each cache line is read once. Indexed sums are added in the class of the result
// and rounded once. All take time in proportion to the elements.
//
// The package knows types by their size, but for sums and conversion.
package movement
