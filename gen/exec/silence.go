package exec

import "time"

// awaitSilence sees to it that what has gathered is submitted although nobody
// reads: when the stream has been silent, or by then where the device is idle.
func (e *Executor) awaitSilence() {
	if e.recorded == 0 || e.timer {
		return
	}
	e.timer = true
	seen := e.Counters.Dispatches
	time.AfterFunc(Silence, func() {
		e.cfg.Post(func() {
			e.timer = false
			silent := e.Counters.Dispatches == seen
			if e.inFlight == 0 || silent && e.inFlight < deep { // else a completion does it
				e.Flush()
			}
			e.awaitSilence()
		})
	})
}
