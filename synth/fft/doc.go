// Package fft lowers discrete Fourier transforms of complex and real lines and
// their inverses: Stockham's autosort algorithm with mixed radices, a pass for each
// radix. A large radix is the work of a workgroup, in stages through shared memory.
// A length with a large prime factor is a convolution of a power of two
// (Bluestein, 1970).
//
// The cost is a read and a write of the lines for each pass; 2^24 points take
// three passes.
package fft
