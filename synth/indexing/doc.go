// Package indexing lowers operations whose operands are indices: take,
// take_along_axis, gather, indexed_add and indexed_put. A read is an
// elementwise.Job with a shift; an index outside its dimension is clamped, so that
// no kernel leaves its buffers, and the executor reports it.
//
// Updates are deterministic: the updates of a slice are applied in their order by
// the invocation that owns the slice. Each part of the slices walks all updates, so
// the cost is updates times parts.
package indexing
