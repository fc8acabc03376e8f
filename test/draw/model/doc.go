// Package model draws programs like those that Nx makes of whole models: long straight code of repeated blocks, forward,
// backward and with an optimizer. A block is written with the operations into which Nx, Axon and Bumblebee decompose it. The
// derivatives follow the rules of Nx.Defn.Grad, so that the backward pass reads in reverse order what the forward pass has
// made, dropout masks included.
//
// Faults of a compiler that depend on how many of something a program has, or on where, appear in such programs and not in
// random graphs of some instructions. The same seed gives the same program and data.
package model
