// Package region evaluates regions on the host: straight-line code, branches and loops.
// Densities of a sampler and functions of reductions are such regions.
//
// An Evaluator assigns memory and a loop to each instruction once, so that an evaluation looks
// up and allocates nothing. Instructions that depend on no input are computed once. So it is
// faster than a Run for each instruction: 20 instructions on one number take a tenth of the
// time or less, on 16 numbers a fifth, on 256 numbers the same (go test ./fallback -bench
// BenchmarkRegion). A function of scalars is evaluated for many elements at once, with vectors
// in the place of scalars.
//
// Results have the bits of Run. The package knows no hooks and no callbacks: these are the
// executor's.
package region
