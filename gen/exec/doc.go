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
// An Executor has members, begins and ends sessions, and is the face that device servers see (exec.go); what the sampler
// and the shaders of clients ask for is in Services. Each member owns a part of the work, on the same goroutine; none
// refers to the Executor. These serve queues:
//
//	core         what all share: the device, whether it is lost, the counters, how a result gets an error
//	scheduler    a request after the other, in turns; why a queue waits
//	reader       gives values to those who read them
//	library      the programs of sessions: defined, found, explained
//	interpreter  runs programs and traces, a step at a time
//	recorder     postpones instructions, and has them run as a trace (package trace)
//	sharing      imports, exports and collectives: values of other sessions, devices and nodes
//	evaluator    carries out one instruction
//
// A member knows those above it in this list. Of those below it has single functions: the scheduler and the interpreter
// have the evaluator carry out an instruction. The members in packages of their own know no queue:
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
// A run is in run.go, its steps in step.go, loops that begin rounds ahead in ahead.go, hooks and callbacks in
// callback.go. Runs that leave the order of their session, and what ends a run from outside, are in async.go.
//
// Start reading at evaluator.execute, then dispatch.Dispatcher.Run for where work runs.
package exec
