// Package fusion partitions straight-line code into fusions. One kernel executes a
// fusion, with the bits that its instructions give one by one. The package knows op
// patterns (elementwise, view, reduction, contraction, opaque; as TVM has them) and
// iteration spaces, but no family of operations: it asks its Capabilities about
// their kernels.
//
// The partitioner visits instructions in order. A cheap instruction is recomputed
// in each fusion that reads it. Any other instruction joins the clusters of its
// operands if a rule allows it, no cycle arises, and one kernel holds both. A Trace
// follows results back to the loads that they need; it proves that strides express
// every access. At the end, small fusions that few others read become stages of
// these (chained). Explain tells by which rules instructions were joined, and why a
// cluster ends.
package fusion
