// Package reduction lowers reductions along axes, arg_max and arg_min. A Job
// folds the elements of an output with one operator or several, in an order that
// depends on the shape and the profile of the device only (see Job): invocations
// fold in registers, workgroups join by halves in shared memory (a tree
// reduction), and large outputs take a second pass over partial results.
//
// A Finish computes on the totals in the same kernel. The cost is one read of the
// operand.
package reduction
