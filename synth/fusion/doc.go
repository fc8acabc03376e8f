// Package fusion has straight-line code (Graph), its parts that one kernel executes (Fusion), and the
// expressions of one element of a fusion (DAG). A Fusion has the bits that its instructions give one by
// one. Package partition makes fusions of a graph, package fused makes kernels of them.
//
// A DAG follows results back through elementwise operations and views to the loads that they need, and
// proves that strides express every access. If a view has to divide a dimension of the iteration space, the
// space is divided and the DAG is made again. An element that is read twice at the same place is one
// expression (common subexpressions, by hashes of value and view).
//
// The package knows no family of operations. Start reading at Fusion, then at NewDAG.
package fusion
