package vulkan

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"nxvk/vulkan/vk"
)

const (
	// maxInFlight bounds the submissions on a line that are not complete.
	maxInFlight = 16
	// waitSlice bounds one wait inside the driver, so that the loss of the
	// device is noticed.
	waitSlice = 200 * time.Millisecond

	watchdogGPU = 30 * time.Second
	watchdogCPU = 5 * time.Minute
)

const (
	// pieceCPU and pieceGPU are the seconds that a piece of work should take. The
	// workgroups of a matrix product take more than a millisecond on a GPU, so that
	// shorter pieces leave some of it idle at their ends.
	pieceCPU, pieceGPU = 1.5e-3, 6e-3
	// ahead is how many seconds of work a line is given before it ends what it has.
	ahead = 3e-3
	// little is how many seconds of work a stream may have on its way and count as one
	// that wants little.
	little = ahead / 8
	// aloneAhead is how many seconds of work a line is given where one stream alone has
	// had work for so long as lonely says: the device then never waits for the next piece.
	aloneAhead = 4 * pieceGPU
	lonely     = 2 * time.Second
	// pieceAlone is the seconds that a submission of a stream that is alone takes at most,
	// so that who comes has a bound on the first wait. It is above what callers gather.
	pieceAlone = 60e-3
)

// alone reports whether one stream alone has had work for some time.
func (q *queue) alone() bool {
	return time.Since(time.Unix(0, q.crowded.Load())) > lonely
}

// queue gives the device its work: the lines, the streams that have work waiting, and
// the recorders in use and to spare.
type queue struct {
	d        *Device
	lines    []*line
	watchdog time.Duration
	epoch    atomic.Uint64 // rises when what command buffers refer to is destroyed
	piece    float64       // seconds
	crowded  atomic.Int64  // when several streams had work last, in Unix nanoseconds
	closed   atomic.Bool

	mu    sync.Mutex
	inUse int         // recorders on their way
	spare []*recorder // the one whose use is longest ago first
	handover
}

func (q *queue) init(d *Device) error {
	q.d = d
	q.moved.L = &q.mu
	q.watchdog = d.opts.Watchdog
	if q.watchdog == 0 {
		q.watchdog = watchdogGPU
		if d.info.Kind == CPU {
			q.watchdog = watchdogCPU
		}
	}
	if q.piece = pieceGPU; d.info.Kind == CPU {
		q.piece = pieceCPU
	}
	if p := d.opts.Piece; p > 0 {
		q.piece = p.Seconds()
	}
	for i := range d.info.Queues {
		l := &line{}
		if err := l.init(d, i); err != nil {
			q.close()
			return err
		}
		q.lines = append(q.lines, l)
	}
	return nil
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed.Store(true)
	for _, l := range q.lines {
		for _, b := range l.busy {
			vk.DestroyRecorder(q.d.dev, b.r.vk)
		}
		l.busy = nil
		l.done.Store(l.submitted)
		vk.DestroySemaphore(q.d.dev, l.timeline)
	}
	for _, r := range q.spare {
		vk.DestroyRecorder(q.d.dev, r.vk)
	}
	q.spare = nil
}

// inFlight is how many submissions are not complete.
func (q *queue) inFlight() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.reap()
	n := q.inUse
	for _, f := range q.backlog {
		n += len(f.pending)
	}
	return n
}

// Submitted is the ticket of all that has been submitted.
func (d *Device) Submitted() Ticket {
	q := &d.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &submission{}
	for _, l := range q.lines {
		for i := range l.busy {
			t.deps = append(t.deps, l.busy[i].sub)
		}
	}
	for _, f := range q.backlog {
		t.deps = append(t.deps, f.last)
	}
	if q.carried != nil {
		t.deps = append(t.deps, q.carried)
	}
	t.void.Store(true)
	return Ticket{t}
}

// waitAll waits for all that is submitted.
func (q *queue) waitAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.d.gone() == nil {
		q.reap()
		i := slices.IndexFunc(q.lines, func(l *line) bool { return len(l.busy) > 0 })
		switch {
		case i >= 0:
			l, value := q.lines[i], q.lines[i].busy[0].value
			q.mu.Unlock()
			err := l.sleep(value)
			q.mu.Lock()
			if err != nil {
				return
			}
		case !q.handing && len(q.backlog) == 0:
			return
		default:
			q.moved.Wait()
		}
	}
}

// reap takes back what the device is done with.
func (q *queue) reap() {
	active := 0
	for _, l := range q.lines {
		if len(l.busy) > 0 {
			active++
		}
	}
	if active == 0 {
		return
	}
	for _, l := range q.lines {
		n := 0
		for n < len(l.busy) && l.reached(l.busy[n].value, true) {
			n++
		}
		if n == 0 {
			continue
		}
		now := time.Unix(0, l.doneAt.Load())
		l.took(now, l.busy[:n], float64(active))
		for i := range l.busy[:n] {
			b := &l.busy[i]
			q.spare = append(q.spare, b.r)
			l.seconds -= b.seconds
			f := b.sub.flow
			if f.inFlight--; f.inFlight == 0 {
				f.seconds = 0
			} else {
				f.seconds -= b.seconds
			}
			q.idle(f)
		}
		q.inUse -= n
		q.d.completed(now, l.busy[:n])
		l.freed = now
		l.busy = slices.Delete(l.busy, 0, n)
		if len(l.busy) == 0 {
			l.seconds = 0
		}
	}
}

// took corrects what streams have had by what pieces took that ended one after the
// other, the last one at a time, while so many lines were busy; and what is expected of
// the kernel that a piece was made of.
func (l *line) took(now time.Time, list []busyRecorder, active float64) {
	began, expected := list[0].at, 0.0
	if l.freed.After(began) {
		began = l.freed
	}
	for i := range list {
		expected += list[i].seconds
	}
	all := max(now.Sub(began).Seconds(), 0) / active
	for i := range list {
		b := &list[i]
		seconds := all / float64(len(list))
		if expected > 0 {
			seconds = all * b.seconds / expected
		}
		b.sub.flow.serve(seconds - b.seconds)
		switch {
		case b.seconds == 0:
		case b.main != nil && len(list) == 1:
			b.main.learn(seconds, b.seconds, b.cut)
		case b.main == nil && (all > telling || seconds < b.seconds):
			b.sub.flow.mixed.learn(seconds / b.seconds)
		}
	}
}
