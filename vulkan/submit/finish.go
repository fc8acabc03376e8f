package submit

import (
	"slices"
	"time"

	"nxvk/vulkan/pipeline"
)

// running is a batch that the device has.
type running struct {
	submission *Submission
	value      uint64
	buffer     *commandBuffer
	at         time.Time     // of the submission
	waited     time.Duration // for its turn
	seconds    float64       // expected
	main       *pipeline.Pipeline
	hasPart    bool
}

// reap takes back the command buffers of batches that are complete, and learns from the
// time that these took. mu is held.
func (q *Scheduler) reap() {
	active, busy := 0, false
	for i, t := range q.timelines {
		if len(t.busy) > 0 {
			busy = true
			if i < q.computing {
				active++
			}
		}
	}
	if !busy {
		return
	}
	for i, t := range q.timelines {
		n := 0
		for n < len(t.busy) && t.reached(t.busy[n].value, true) {
			n++
		}
		if n == 0 {
			continue
		}
		now := time.Unix(0, t.doneAt.Load())
		if i < q.computing {
			t.learn(now, t.busy[:n], float64(active))
		}
		for k := range t.busy[:n] {
			r := &t.busy[k]
			q.spare = append(q.spare, r.buffer)
			t.seconds -= r.seconds
			f := r.submission.Flow
			if f.inFlight--; f.inFlight == 0 {
				f.seconds = 0
			} else {
				f.seconds -= r.seconds
			}
			q.deactivate(f)
			q.d.Ended(r.waited, now.Sub(r.at))
		}
		q.inUse -= n
		t.freed = now
		t.busy = slices.Delete(t.busy, 0, n)
		if len(t.busy) == 0 {
			t.seconds = 0
		}
	}
}

// learn corrects the charges of flows, and the expected times of their kernels, by the times
// that batches took. The batches ran one after the other and the last one ended at now,
// while so many timelines were busy.
func (t *timeline) learn(now time.Time, list []running, active float64) {
	began, expected := list[0].at, 0.0
	if t.freed.After(began) {
		began = t.freed
	}
	for i := range list {
		expected += list[i].seconds
	}
	all := max(now.Sub(began).Seconds(), 0) / active
	for i := range list {
		r := &list[i]
		seconds := all / float64(len(list))
		if expected > 0 {
			seconds = all * r.seconds / expected
		}
		f := r.submission.Flow
		f.charge(seconds - r.seconds)
		switch {
		case r.seconds == 0:
		case r.main != nil && len(list) == 1:
			r.main.Learn(seconds, r.seconds, r.hasPart)
		case r.main == nil && (all > pipeline.Telling || seconds < r.seconds):
			f.mixed.Learn(seconds / r.seconds)
		}
	}
}
