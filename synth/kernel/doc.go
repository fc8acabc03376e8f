// Package kernel is the typed representation of one compute shader: a
// structured program in static single assignment form over scalars, buffers,
// push-constant parameters and shared arrays. A Builder makes one, String prints
// its text form, and Verify says whether it is valid. Package kerneltest reads the
// text back and executes kernels on the host, slowly and exactly: it is the oracle
// of the tests of everything above.
//
// The package refuses to know tensors, operations of the op table, devices and
// SPIR-V. Start reading at Kernel and Inst, then at the text of
// kerneltest/testdata.
package kernel
