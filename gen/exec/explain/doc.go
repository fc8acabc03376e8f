// Package explain tells what a device does for a program: the parts of the program, why each
// part ends where it does, and its kernels with their estimated cost. It partitions and plans
// the program once more, as package program does for runs, and records the reasons.
//
// A Profiler measures the parts by the device's clock, on operands of zeros.
//
// An explanation takes as long as compiling the program does, without the driver. It is made
// apart from the goroutine of the executor.
//
// The package refuses to know sessions and values. Start reading at Prepare.
package explain
