// Package pipeline compiles kernels (SPIR-V) to pipelines of a device.
//
// Compiling takes milliseconds to seconds, so a [Compiler] lets any number of goroutines
// compile at once and keeps what the driver's pipeline cache holds in a file between runs.
// Pipelines with the same number of bindings and push constants share a pipeline layout.
//
// A [Pipeline] also keeps what the submit queue learns about its kernel: how many times
// longer its dispatches take than the caller expects ([Rate]), and a second pipeline for
// parts of dispatches, which is compiled when a dispatch is first cut.
//
// The package knows nothing of memory or of submissions, and does not look into the SPIR-V.
package pipeline
