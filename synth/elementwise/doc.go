// Package elementwise lowers operations whose elements do not depend on one
// another: pointwise operations, conversions, constants and index tensors. Its Job
// is the kernel that movements, gathers and fused code take too: a loop nest over
// an iteration space with any number of sources and results, each at a view.
//
// On a GPU a step of a Job stores sixteen bytes of a row; the row may begin at any element
// of the output (layout). Neighbouring elements of a source are loaded together, aligned
// or not (access). It moves each element once: the cost is the traffic of memory.
package elementwise
