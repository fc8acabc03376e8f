// Package elementwise lowers operations whose elements do not depend on one
// another: pointwise operations, conversions, constants and index tensors. Its Job
// is the kernel that movements, gathers and fused code take too: a loop nest over
// an iteration space with any number of sources and results, each at a view.
//
// On a GPU a step of a Job stores sixteen bytes: of a row, of a space that is dense in
// the output, or of a row that is anywhere in it (layout); the elements of each source are
// loaded together where they are neighbours, aligned or not (access). It moves each
// element once: the cost is the traffic of memory.
package elementwise
