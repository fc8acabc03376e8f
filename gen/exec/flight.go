package exec

import (
	"time"

	"nxvk/gen/exec/queue"
	"nxvk/vulkan"
)

// depart notes when a submission goes to the device.
func (e *Executor) depart(t vulkan.Ticket) {
	if e.departed == nil {
		e.departed = make(map[vulkan.Ticket]time.Time)
	}
	e.departed[t] = time.Now()
}

// arrive notes the end of a submission and tells how long it took.
func (e *Executor) arrive(t vulkan.Ticket) {
	at, ok := e.departed[t]
	if !ok {
		return
	}
	delete(e.departed, t)
	if e.cfg.Completed != nil {
		e.cfg.Completed(time.Since(at))
	}
}

// Oldest returns when the oldest submission that has not completed went to the
// device; the zero time where there is none.
func (e *Executor) Oldest() time.Time {
	var oldest time.Time
	for _, at := range e.departed {
		if oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	return oldest
}

// Wait is why the first request of a session cannot go on, 0 where it can.
func (l *Queue) Wait() queue.Wait { return l.waits }

// Waiting counts the requests of a session that have not been carried out:
// pending instructions, those behind a request that cannot go on, and those of
// runs that have left the session's order.
func (l *Queue) Waiting() int {
	n := len(l.queue) + l.trace.Len()
	for _, f := range l.asyncs {
		n += f.Waiting()
	}
	return n
}
