// Package reduction computes the operations that fold elements along axes or in windows, and
// those that order elements: reductions, extremes, windows, cumulative operations and sorts.
//
// Elements are folded in the order in which they lie in memory. Sums of more than 4,096
// elements have four accumulators, and a single result of more than 2^15 elements is folded
// in blocks of that size. The order depends on the shape alone, never on processors. Sorts
// are stable and by radix, a byte at a time; bytes that all keys share are passed over, so
// narrow types take few passes. Windows visit each of their elements: time is the number of
// windows times their size.
//
// Folds by a function that comes with the instruction are those of package region.
package reduction
