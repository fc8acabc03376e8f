// Package indexing lowers operations whose operands are indices: take,
// take_along_axis, gather, indexed_add and indexed_put. A read is an
// elementwise.Job with a shift; an index outside its dimension is clamped, so that
// no kernel leaves its buffers, and the executor reports it.
//
// Updates are deterministic and use no atomics. A GPU sorts many updates by the
// slice that they change (a radix sort of as many bits as slices have) and sums
// the segments of the sorted list in two levels, in an order that depends on the
// indices and the number of updates alone. A processor, and a GPU with few
// updates, walks all updates in their order for each part of the slices.
package indexing
