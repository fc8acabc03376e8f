// Package movement lowers operations that move elements and compute nothing:
// reshape, broadcast, transpose, slice, reverse, pad, concatenate, stack, put_slice
// and bitcast. Elements move as words of up to sixteen bytes.
//
// A transposition of a large tensor goes through tiles in shared memory, so that
// both sides are read and written in runs. Everything else is an elementwise.Job.
// The cost is the traffic of memory.
package movement
