// Package target says what a device can do for the kernel compiler. The driver tells most
// of it. A trial on the device finds the rest (Probe): whether f32 division and square root
// are rounded correctly, whether subnormals survive, also conversions from f64, how a processor rounds multiply-adds,
// how good the exponential of a GPU is, and how matrix hardware holds operands. A probe takes some kernels of 16,384
// elements.
// Support and Exceptions say which operations a device computes for which types.
//
// The package refuses to know sessions and programs.
package target
