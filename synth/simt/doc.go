// Package simt interprets kernels on the host, many invocations side by side. A value is a
// column with an element for each invocation, and an instruction is a loop over columns.
// Results have the bits of a processor that follows IEEE 754. An instruction takes about a
// nanosecond an element, and where the processor has AVX2 a fifth of that. A driver takes
// milliseconds to compile a kernel; in that time the package computes millions of elements.
//
// What it earns: on lavapipe with empty caches the first result of a softmax comes after
// 2.0 ms instead of 1.8 s (nxvk-node bench starts; see package gen/exec/kernels).
//
// A mask keeps invocations apart that take different branches. Results of masked
// invocations are never stored.
//
// The package knows kernels and nothing above them. It refuses kernels whose invocations
// exchange values. Start reading at Compile and Code.Run.
package simt
