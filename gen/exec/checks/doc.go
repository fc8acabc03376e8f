// Package checks finds the error of an index out of bounds, or of a singular matrix, that a kernel has met.
//
// Kernels check the indices that they read and the pivots that they divide by, and nobody waits for what
// they find: a result carries its check, and so does everything that is computed from it. When the
// submission is complete, the host looks at the word of the check. If it says that an index is out of
// bounds, the host reads the indices and finds the error that it would have given itself. If it names a
// singular matrix, the word has all that the error needs. Whoever reads a value, or a predicate, waits
// for its checks.
//
// The package refuses to know queues. Start reading at Checker.Open.
package checks
