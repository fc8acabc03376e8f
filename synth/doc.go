// Package synth turns instructions into plans: lists of kernels with their buffers,
// parameters and grids, for any device that runs SPIR-V. A plan depends on the
// operation, its attributes, types and shapes and on which operands are literals,
// never on values.
//
// The package is the face of its folders. It has the table from operations to
// lowerings, and the three entries of an executor: Lower plans one instruction, Fuse
// partitions a graph into fusions, LowerFusion plans a fusion, which gives the same bits
// as its instructions one by one. A newcomer reads, in this order:
//
//	lowering     the contract: Target in, Plan out
//	strided      views and iteration spaces
//	codegen      the emitter of kernels; programs, their cache and archive
//	elementwise  Job, the kernel that most lowerings are
//	fusion       fusions, and the expressions of one element of a fusion
//	partition    the partitioner of graphs: patterns, rules, clusters
//	fused        the kernels of fusions
//
// Each other folder is one family of operations. Adding an operation of a new
// kind adds its folder and one line of the table in synth.go.
//
// The package refuses to know Vulkan handles, sessions and Erlang terms: a device
// is a Target to it.
package synth
