// Package exec executes instructions: it decides whether an instruction
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
// The Executor serves the queues of sessions and wires its members, each of which owns a part
// of the work on the same goroutine. Members in packages of their own know no queue:
//
//	queue.Turns           whose turn it is
//	loop.Detector         where a stream is cut into traces
//	trace.Cache           what is compiled of traces
//	program.Specializer   what is compiled of programs
//	kernels.Cache         plans and pipelines
//	memory.Manager        who gets memory, who waits for it, who is refused
//	feed.Feeds            what the device is given
//	transfer.Transfers    values on their way to the device and back
//	hostjob.Jobs          computations of the host
//	checks.Checker        what a kernel has found wrong
//	dispatch.Dispatcher   executes an instruction or a fusion, on the host or on the device
//	spans.Observer        where the time of a request goes
//
// Two members in files of this package serve queues for the Executor: recorder (recorder.go) postpones
// instructions, interpreter (run.go, control.go, fusion.go, async.go, ahead.go, callback.go, hook.go,
// deadline.go) runs programs and ends runs. They refer to the Executor: each has instructions executed, has
// queues wait, and works with the other members, so that an interface for it would be the Executor by
// another name. The sampler and the shaders of clients stand on extend.go.
//
// Start reading at Executor.execute, then dispatch.Dispatcher.Run for where work runs.
package exec
