// Package reduction lowers reductions along axes, arg_max and arg_min. A Job
// folds the elements of an output with one operator or several. Invocations fold
// in registers, workgroups join partial results by halves in shared memory (a
// tree reduction), and an output of many elements takes a second pass over
// partial results. The order depends on the shape and the profile of the device
// only (see Job).
//
// A fusion may read a tensor that lies in another way than the schedule expects, such as one that is
// transposed. Then the invocations are laid out anew, in the same order of sums (see beside).
//
// A Finish computes on the totals in the same kernel. The cost is that of reading
// the operand once. For sums of f32 and f64 along the last axes the host has a
// routine that keeps the order of a processor's kernels.
package reduction
