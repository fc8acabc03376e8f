// Package dense is the core of all host kernels: dense tensors in host memory, their element
// types, and the slicing of work.
//
// Elements are stored in any type of ops and computed in one of four classes: float64,
// int64, uint64 and complex128. A Loader reads stored elements into a class, a Storer rounds
// or wraps them once when it writes; narrow.go has the formats of less than 32 bits. A Plan
// maps the elements of a result to those of operands of other shapes (broadcasting), a
// Cursor goes through it in runs, and a Line is the elements along one axis.
//
// Work that takes longer than a fraction of a millisecond is sliced: by Parallel, on all
// processors, or by a Pacer in a sequential loop. Between slices the worker yields to other
// sessions, and stops where its computation is cancelled. Slices never show in results.
//
// The package knows no operation: it has the table of kernels, which package fallback
// fills. A call of a small kernel allocates nothing: working memory is pooled.
package dense
