// Package kernels keeps compiled code: the plans of instructions and fusions by their
// structure, and the pipelines of kernels. It compiles kernels apart from the goroutine of
// its owner, before they are needed where it can (prefetch), destroys those that are used
// least recently, and lets the host interpret those of a processor until compiling them pays
// (warm-up).
//
// When to compile is a ski-rental problem (Karlin, Manasse, Rudolph and Sleator, 1988): the
// host interprets a kernel until that has cost about what compiling does. So the total cost
// is at most twice the optimum. What the warm-up earns: on lavapipe with empty caches the
// first result of a softmax comes after 2.0 ms instead of 1.8 s, that of 200 instructions
// with a kernel each after 0.14 s instead of 16.7 s (nxvk-node bench starts, and the same
// with every kernel compiled at once).
//
// A dispatch that would take the host longer than compiling takes is compiled at once, and the host
// interprets it meanwhile; whichever is ready first gives the result (Cache.Overtake). The host's
// routines for products, convolutions and sums and products of rows are as quick as the driver's code, so those kernels
// are compiled only where the user wants the device to compute them (Cache.RunsRoutines).
//
// On a GPU, the first calls of a product use a starter: a kernel with the same bits that the driver compiles in a fraction
// of the time (starter.go).
//
// The package refuses to know sessions, values and the order of work. A Cache is for one
// goroutine. Start reading at Cache.Plan.
package kernels
