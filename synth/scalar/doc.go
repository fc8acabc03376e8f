// Package scalar is the language in which one element computes: the expressions of the
// op table and the library of mathematical functions that they call (lib/*.nxs).
// Compile parses, checks types and inlines calls. The result is a Func, a flat list of
// primitive operations: a kernel writer emits them one by one, and Eval runs them on
// the host, bit for bit like an IEEE device. Compiling takes some hundred microseconds
// (BenchmarkCompile). Compile folds constants with Eval: the 400 functions of the op table
// have 15,421 operations with it and 16,126 without. Tests use Eval as their oracle.
//
// The functions of floats are within 2 units in the last place over their whole
// range, on devices whose fma rounds once or twice. Those of f32 use no f64. For elements
// of at most 16 bits (Env.Bits), on a device with an exponential, they are right to 2^-15
// (relative). A result of eight bits is then never too small, because bf16 drops the bits
// behind. For wider elements drivers' own functions do not serve: their log loses every
// digit near 1.
//
// Operations that move or compare bits (abs, negate, sign, fmin, fmax, isnan, isinf) are
// exact on devices that flush subnormals or ignore NaN. Arithmetic and comparisons treat
// subnormals as the device does. Where it keeps them but compares them as zeros, fmin
// and fmax do so too: to tell them apart makes a softmax of rows a quarter slower.
//
// A complex number is two values, its parts, and its functions have two results.
// They are within 5 units in the last place of its magnitude; those of cpow
// grow with the exponent.
//
// The package knows nothing of tensors, memory, kernels or SPIR-V. Start reading
// at Compile; syntax.go describes the language.
package scalar
