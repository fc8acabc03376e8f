// Package kernels keeps compiled code: the plans of instructions and fusions by their
// structure, and the pipelines of kernels. It compiles kernels apart from the goroutine of
// its owner, before they are needed where it can (prefetch), destroys those that are used
// least recently, and lets the host interpret those of a processor until compiling them pays
// (warm-up).
//
// When to compile is a ski-rental problem (Karlin, Manasse, Rudolph and Sleator, 1988): the
// host interprets a kernel until that has cost about what compiling does. So the total cost
// is at most twice the optimum. Without it, the first run of a small program on lavapipe
// waits for the driver: 200 instructions, each with a kernel of its own, take some 800 ms
// instead of 10 (nxvk-node bench starts --no-warm-up, and without).
//
// The package refuses to know sessions, values and the order of work. A Cache is for one
// goroutine. Start reading at Cache.Plan.
package kernels
