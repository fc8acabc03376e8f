// Package elementwise lowers operations whose elements do not depend on one
// another: pointwise operations, conversions, constants and index tensors. Its Job
// is the kernel that movements, gathers and fused code take too: a loop nest over
// an iteration space with any number of sources and results, each at a view.
//
// A Job is flat where all views are dense, vectorized along the innermost
// dimension where that divides, and else decodes every coordinate. It moves each
// element once: the cost is the traffic of memory.
package elementwise
