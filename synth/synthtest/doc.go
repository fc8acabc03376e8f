// Package synthtest has what the tests of lowerings share: targets of both
// profiles, tensors with reference operations, graphs of random and of known
// programs, and the execution of plans by the interpreter of kernels. Nothing that
// ships imports it.
package synthtest
