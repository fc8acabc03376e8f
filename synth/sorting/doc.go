// Package sorting lowers sort, argsort and top_k. Elements have unsigned keys and equal keys
// keep their order, so results do not depend on the algorithm. Short rows count smaller
// elements. Rows of middle length take a bitonic network (Batcher, 1968) in shared memory;
// where few of their elements are asked for, it drops the others on the way. Several such rows
// share a workgroup. Long rows take a radix sort by the least significant digit first (count,
// scan, scatter, as Satish, Harris and Garland, 2009).
//
// A radix sort reads and writes the row once for each digit. A top_k of few elements of a long
// row reads it once and sorts about twice the square root of the row's length times k.
package sorting
