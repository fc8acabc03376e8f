// Package hostjob has the host compute apart from the goroutine of the Executor, on the processors that
// all sessions share (package sched).
//
// A job is the work of the instruction at the front of a queue: the queue waits, and collects the results
// when the job has ended. Work of the host that may take more than some hundred microseconds is a job, unless it has been
// measured, takes less than half a millisecond, and nobody else has a job: then it is done at once (Jobs.Here). A job ends
// within about a millisecond of the end of its session, at the session's deadline, or when the device has become able to do it
// sooner.
//
// The package refuses to know queues and how anything is computed. Start reading at Jobs.Start.
package hostjob
