// Package memory allocates the memory of a device and knows which submissions use it.
//
// A pool takes blocks of up to 256 MiB from the driver. Regions up to 1 MiB come in size
// classes, cut from slabs (slab allocation, Bonwick 1994). The classes are those of jemalloc:
// four steps to each power of two, which lose at most a quarter. Larger regions are cut from a
// block by best fit and joined with their neighbours when they are freed. An allocation takes
// some hundred nanoseconds while a pool has room.
//
// A region may be freed while recorded or submitted work uses it. It is handed out again at
// once, as far as the next user comes after that work without waiting for another stream:
// see [Uses]. A [Recording] holds the regions of a batch that is being recorded. Blocks that
// nothing uses return to the driver after some seconds (aging.go).
//
// The package knows nothing of commands, kernels or the data in the memory.
package memory
