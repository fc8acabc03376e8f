// Package program has the programs that the benchmarks measure: functions of tensors, an optimizer's step,
// a stack of transformer blocks, Nx's random numbers, and densities with their gradients. Each is a region, as
// a client sends it.
//
// The package does not know how a program is executed or measured. Start reading at graph.go.
package program
