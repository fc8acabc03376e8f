// Package fallback computes instructions on the host: every operation of the table but
// those of control, for all element types. It serves a machine without a device, element
// types and operations without device code, and values too small to be worth a submission.
// It is also the oracle of the tests of device code.
//
// It is the face of the packages below it: kernels.go has the table from operation to
// kernel, Run looks a kernel up and calls it. dense has tensors and the slicing of work,
// hostmath the functions of floats; elementwise, movement, reduction, matmul, linalg and
// fft have the kernels of a family, region evaluates regions, sched shares processors.
//
// An operation means the same as in Nx.BinaryBackend. Floats compute in float64 and are
// rounded once, when they are stored. Integers compute in 64 bits and wrap when they are
// stored. Complex numbers compute in complex128. The differences are on purpose and few:
//
//   - where Nx raises (1 / 0, exp(1000), an integer divided by zero), the result is that of
//     IEEE 754 or of the comment of the operation's row;
//   - expm1, log1p, cbrt and erf_inv are exact where Nx composes or approximates them, so
//     the last digits of f64 results differ;
//   - a Fourier transform along any axis leaves the others in their places.
//
// The package refuses to know where values live and who owns them: operands and results
// are dense bytes in little-endian order. Results depend on the instruction and on sizes
// alone, never on the number of processors.
//
// Start reading at Run, then at elementwise.Pointwise.
package fallback
