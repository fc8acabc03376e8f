// Package indexing lowers operations whose operands are indices: take, take_along_axis,
// gather, indexed_add and indexed_put. A kernel checks the indices that it reads: one
// outside of its dimension is clamped, so that no kernel leaves its buffers, and fails
// the check of the plan (lowering.Check), which the executor looks at later. A read is
// a pickJob if the elements of an index are contiguous in memory; any other read is an
// elementwise.Job with a shift.
//
// Updates are deterministic. A GPU adds integers of up to 32 bits with atomics
// (accumulation), because their sums are the same in any order. Of indexed_put it finds the
// last update of each slice, by counting where there are few (ranking), else with an atomic
// maximum (latest), and a look before it where many updates change few slices. Many updates of few elements are added in parts (tally). It sorts other
// updates by the slice that they change: few of them by counting, thousands by counting in
// tiles that are merged (merger), more with a radix sort of the bits of slice numbers. It
// then adds the segments of the sorted list to a copy of the tensor in levels (segments).
// The order of sums depends on the indices and the shapes alone. A processor walks all
// updates in their order for each part of the slices.
package indexing
