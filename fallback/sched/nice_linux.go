package sched

import "golang.org/x/sys/unix"

// niceness is what threads that compute are given: those that handle messages get a
// processor before them.
const niceness = 5

// yieldToOthers lowers the priority of the calling thread. That a system refuses is no
// matter: the thread then counts as any other.
func yieldToOthers() { _ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), niceness) }
