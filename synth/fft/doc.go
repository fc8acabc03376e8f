// Package fft lowers discrete Fourier transforms of complex and real lines and
// their inverses: Stockham's autosort algorithm with mixed radices, a pass for each
// radix. A large radix is the work of a workgroup, in stages through shared memory;
// lines of up to 8,192 points are one such pass. A radix with a large prime factor is a
// convolution (Bluestein, 1970) in shared memory; a prime that is too large for that
// makes one of the whole line in global memory.
// A real line of even length is a complex one of half the length.
//
// The cost is a read and a write of the lines for each pass; 2^24 points take
// three passes. A convolution adds the transform of a chirp.
package fft
