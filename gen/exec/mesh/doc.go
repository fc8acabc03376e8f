// Package mesh has sessions of several devices, of one node or of several, carry out collectives together:
// all_reduce, all_gather, reduce_scatter, all_to_all and collective_broadcast.
//
// A session takes a place in a mesh, its rank. Its collectives belong to rounds: a run of a program names its
// round, and each eager collective is the next one of its session. In a round, the n-th collectives of all ranks
// of a group meet. Once all ranks have entered a collective with the same instruction, each sends its operand in
// chunks (package devcopy). The chunks go on to the ranks that need them, those of a reduction once they have
// been combined, in the order of the group. So the same mesh gives the same bits.
//
// Two kinds of collectives take another way. Large operands in memory of devices go over memory that these share (package
// mesh/schedule), and small ones of programs from kernel to kernel, with the host between them (package mesh/relay).
//
// A collective succeeds for all of its ranks or has an error that names a rank: one that asks for something
// else, one whose operand is an error, one whose round ends without it, one that leaves the mesh.
//
// Nothing here waits or belongs to the goroutine of an Executor. The package hands the work of a rank to the rank's
// Executor as a function. Start reading at Meshes.Join, then Round.Enter.
package mesh
