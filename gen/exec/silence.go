package exec

import (
	"slices"
	"time"
)

// patience is for how many times Silence a stream that repeats itself, or whose
// device has enough to do, may be silent: to cut it in the middle costs more than
// to wait.
const patience = 8

// awaitSilence sees to it that what is pending is carried out, and what has
// gathered is submitted, although nobody reads: when the stream has been silent,
// or by then where the device is idle.
func (e *Executor) awaitSilence() {
	if e.timer || e.feeds.Idle() && len(e.gathering) == 0 {
		return
	}
	e.timer = true
	e.feeds.Listen()
	time.AfterFunc(Silence, func() {
		e.cfg.Post(func() {
			e.timer = false
			e.silent()
			e.feeds.FlushSilent()
			e.awaitSilence()
		})
	})
}

// silent has what is pending in queues that have been silent carried out.
func (e *Executor) silent() {
	for _, l := range slices.Clone(e.gathering) {
		if n := l.trace.Len(); n != l.length {
			l.length, l.quiet = n, 0
			continue
		}
		l.quiet++
		if l.quiet >= patience || e.Feed(l).InFlight() == 0 && !l.loop.Looping() {
			e.flushTrace(l)
		}
	}
}
