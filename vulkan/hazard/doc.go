// Package hazard decides where a stream of commands needs a barrier.
//
// It keeps the byte ranges that commands have read and written since the last barrier. A
// command needs a barrier before it when one of its ranges overlaps a kept one and at least
// one of the two accesses is a write: read after write, write after read, write after write
// (the data hazards of Hennessy and Patterson, with byte ranges in place of registers).
//
// Ranges are kept in a hash table by memory region, so that a check costs some
// nanoseconds, whatever the length of the stream. A region keeps four ranges; beyond that
// the last one grows, which can cause a barrier too many and never one too few.
//
// The package does not know Vulkan, buffers or the work of commands.
package hazard
