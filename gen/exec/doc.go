// Package exec carries out instructions: it decides whether an instruction
// runs on the host or on the device, records device work, submits it in
// batches, and gives values back to those who read them.
//
// Nothing here waits. A request that cannot go on (an operand is being read back, a
// kernel is being compiled, another session has not sent what is imported)
// parks the queue of its session and says why (queue.Wait); other queues go on. An Executor
// does one thing at a time: its device server calls it for one message after another, and
// completions from elsewhere come back to it through Post. Where a comment
// says "the goroutine of the Executor", it means in such a turn.
//
// Its members own what they are about, on the same goroutine: queue.Turns whose turn it is,
// kernels.Cache compiled code, loop.Detector where a stream is cut into traces, memory.Host
// the host's memory. The sampler and the shaders of clients stand on it (extend.go).
//
// Start reading at Executor.execute, then place.go for where work runs, postpone.go for
// what is pending first, and program.go and specialization.go for programs.
package exec
