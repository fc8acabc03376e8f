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
func (rc *recorder) awaitSilence() {
	if rc.timer || rc.exec.feeds.Idle() && len(rc.gathering) == 0 {
		return
	}
	rc.timer = true
	rc.exec.feeds.Listen()
	time.AfterFunc(Silence, func() {
		rc.exec.cfg.Post(func() {
			rc.timer = false
			rc.runSilent()
			rc.exec.feeds.FlushSilent()
			rc.awaitSilence()
		})
	})
}

// runSilent has what is pending in queues that have been silent carried out.
func (rc *recorder) runSilent() {
	for _, l := range slices.Clone(rc.gathering) {
		if n := l.trace.Len(); n != l.length {
			l.length, l.quiet = n, 0
			continue
		}
		l.quiet++
		if l.quiet >= patience || rc.exec.Feed(l).InFlight() == 0 && !l.loop.Looping() {
			rc.flushTrace(l)
		}
	}
}
