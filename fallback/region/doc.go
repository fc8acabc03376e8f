// Package region evaluates regions on the host: straight-line code, branches and loops.
// Densities of a sampler and functions of reductions are such regions.
//
// An Evaluator assigns memory and a loop to each instruction once, so that an evaluation looks
// up and allocates nothing. Instructions that depend on no input are computed once. This
// makes it faster than a Run for each instruction: 20 instructions of one number take
// 0.4 µs and not 3.9, of 16 numbers 1.1 µs and not 6.3, of 256 the same. A function of
// scalars is evaluated for many elements at once, with vectors in the place of scalars.
//
// Results have the bits of Run. The package knows no hooks and no callbacks: these are the
// executor's.
package region
