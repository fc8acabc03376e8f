package exec

import (
	"testing"

	"nxvk/ops"
)

// TestFlowOfRuns: a client that sends runs which nobody ends is not told to go on for ever, but when some have ended.
func TestFlowOfRuns(t *testing.T) {
	asyncRuns(t, func(r *rig, q *Queue, answer func(ops.ID, float32)) {
		told, next := int64(64), ops.ID(1)
		q.TellFlow(func(id, window int64) { told = id })
		send := func() {
			for r.ask(q, next, scalar(1)); int64(next) < told; r.ask(q, next, ref(next-1)) {
				next++
			}
		}
		send()
		if q.apart < mostApart || q.apart > 2*mostApart {
			t.Errorf("%d runs wait", q.apart)
		}
		stopped := told
		for id := ops.ID(1); told == stopped && id < next; id++ {
			answer(id, 1)
		}
		if told == stopped {
			t.Errorf("%d runs have ended, and the client may not go on", next)
		}
		r.exec.End(q.Session)
		q.asyncs, q.pending = nil, nil
	})
}
