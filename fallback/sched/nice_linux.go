package sched

import "golang.org/x/sys/unix"

// niceness is the priority of threads that compute. Threads that handle messages get a
// processor before them.
const niceness = 5

// yieldToOthers lowers the priority of the calling thread, and reports whether it has. Where the system refuses, the
// thread keeps the priority of all others.
func yieldToOthers() bool {
	return unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), niceness) == nil
}
