// Package fusion partitions straight code into fusions: parts that one kernel
// carries out, with the bits that the instructions give one by one. It knows op
// patterns (elementwise, view, reduction, contraction, opaque; as TVM has them) and
// iteration spaces, and no family of operations: what it must know of their kernels
// it asks its Capabilities.
//
// The partitioner visits instructions in order. A cheap one is computed again
// wherever it is wanted; another joins the clusters of its operands where a rule
// allows it, no cycle arises, and one kernel holds both. A Trace follows results
// back to what is loaded; it proves that strides express every access. Explain
// tells which rule joined what, and why a cluster ends.
package fusion
