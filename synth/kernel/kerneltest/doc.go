// Package kerneltest reads kernels from their text and executes them on the host: one
// invocation after another, or those of a workgroup side by side where they talk to
// each other. It computes each primitive operation by Go's own arithmetic, one value
// at a time. It is the oracle of packages kernel and simt and of the lowerings.
// Kernels in testdata are examples of the text.
//
// The package refuses to know tensors, devices and SPIR-V. Nothing that ships imports
// it. Start reading at Parse and Run.
package kerneltest
