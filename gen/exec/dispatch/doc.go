// Package dispatch executes one instruction, or one fusion, whose operands are at hand: on the host, on
// the device, or on the host in the stead of a device that is a processor.
//
// Run chooses the place by the operation, the sizes and the location of the operands (package placement).
// Work for the device gets its plan from kernels.Cache. Its operands go to the device, results and
// temporaries get memory, and the steps are recorded in the feed of the session. A plan may have tens of
// thousands of steps, so the recording stays with the queue (Slot) while other queues have their turn. On a
// processor, the host computes by its own routine (stead.go) or interprets the kernels (interpret.go)
// where that gives the same bits sooner.
//
// Nothing waits: a request that cannot go on returns the reason (queue.Wait), and its queue calls again
// when that has gone. An instruction whose plan is known costs about 4 µs from the stream to the recorded
// dispatch (BenchmarkRecord of package exec).
//
// The package refuses to know queues, programs and how an instruction came to be executed. Start reading
// at Dispatcher.Run.
package dispatch
