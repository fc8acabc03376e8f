package submit

import (
	"sync"
	"sync/atomic"
	"time"

	"nxvk/vulkan/adapter"
	"nxvk/vulkan/logical"
)

const (
	// maxInFlight bounds the submissions on a timeline that are not complete.
	maxInFlight = 16
	// smallBatch is how many commands the caller of Submit submits to the device itself:
	// a caller with little work may be waiting for it. A goroutine submits larger batches
	// while the caller records on, since recording a command buffer takes as long as
	// recording the commands.
	smallBatch = 16

	// pieceCPU and pieceGPU are the seconds that a piece should take while several flows
	// have work. The workgroups of a matrix product take more than a millisecond on a GPU,
	// so shorter pieces would leave some of it idle at their ends.
	pieceCPU, pieceGPU = 1.5e-3, 6e-3
	// ahead is how many seconds of work a timeline has before it gets more, while several
	// flows have work.
	ahead = 3e-3
	// little is how many seconds of work a flow may have on its way to count as one that
	// asks for little.
	little = ahead / 8

	// aloneAfter is the time after which a flow that alone has work counts as alone.
	aloneAfter = 2 * time.Second
	// aloneAhead is how many seconds of work a timeline gets ahead of a flow that is alone,
	// so that the device never waits for the next submission.
	aloneAhead = 2 * pieceGPU
	// alonePiece is how many seconds a submission of a flow that is alone takes at most. With
	// aloneAhead it bounds the first wait of another flow. A GPU idles for 10 µs between two of them.
	alonePiece = 30e-3

	watchdogGPU = 30 * time.Second
	watchdogCPU = 5 * time.Minute
)

// Scheduler decides whose batch is next and submits it. Its methods may be called from any
// goroutine.
type Scheduler struct {
	d         *logical.Device
	timelines []*timeline // those of queues that copy follow those of queues that compute; the last is aside
	aside     *timeline   // nil where there is none
	computing int         // how many compute
	watchdog  time.Duration
	piece     float64      // seconds
	shared    atomic.Int64 // when several flows last had work, in Unix nanoseconds
	closed    atomic.Bool

	mu      sync.Mutex
	inUse   int              // command buffers that the device has
	spare   []*commandBuffer // the least recently used first
	clock   virtualClock
	backlog []*Flow     // with batches that wait
	issuing bool        // a goroutine submits batches
	carried *Submission // of the batch that it submits
	changed sync.Cond   // a batch was submitted or discarded
	lists   []*Lists    // to spare
}

// NewScheduler returns the scheduler of a device.
func NewScheduler(d *logical.Device) (*Scheduler, error) {
	q := &Scheduler{d: d, watchdog: watchdogGPU, piece: pieceGPU}
	q.changed.L = &q.mu
	if d.Info.Kind == adapter.CPU {
		q.watchdog, q.piece = watchdogCPU, pieceCPU
	}
	if w := d.Options.Watchdog; w != 0 {
		q.watchdog = w
	}
	if p := d.Options.Piece; p > 0 {
		q.piece = p.Seconds()
	}
	q.computing = d.Info.Queues
	for i := range d.Info.Queues + d.Info.CopyQueues {
		t, err := newTimeline(q, i)
		if err != nil {
			q.Close()
			return nil, err
		}
		q.timelines = append(q.timelines, t)
	}
	if int(d.Raw.Queues) > max(1, d.Options.Queues) || d.Options.Fault.CopyQueues > 0 {
		t, err := newTimeline(q, len(q.timelines))
		if err != nil {
			q.Close()
			return nil, err
		}
		t.queue = int(d.Raw.Queues) - 1
		q.timelines, q.aside = append(q.timelines, t), t
	}
	return q, nil
}

// SetWeight sets the share of the device that a flow has beside others, which is above 0.
func (q *Scheduler) SetWeight(f *Flow, weight float64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f.weight = weight
}

// Timelines returns how many queues of the device that compute are used.
func (q *Scheduler) Timelines() int { return q.computing }

// Alone reports whether at most one flow has had work for some time.
func (q *Scheduler) Alone() bool {
	if f := q.d.Options.Fault.Shared; f != nil && f() {
		return false
	}
	return time.Since(time.Unix(0, q.shared.Load())) > aloneAfter
}

// Submit gives the device a batch when its turn comes. It does not wait for that. An error
// says why the batch was discarded: the device is lost, or was lost by it.
func (q *Scheduler) Submit(b Batch) error {
	err := q.submit(b)
	if err == nil {
		return nil
	}
	if q.d.Gone() == nil {
		// Other batches count on this one: they would find what memory held before.
		err = q.d.Lose("submit", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !b.Submission.void.Load() {
		q.cancel(b.Submission, err)
	}
	return err
}

func (q *Scheduler) submit(b Batch) error {
	f := b.Submission.Flow
	b.cmds, b.Lists.users, b.rate = b.Lists.Cmds, 1, 1
	q.mu.Lock()
	defer q.mu.Unlock()
	err := q.d.Gone()
	if fault := q.d.Options.Fault.Lost; err == nil && fault != nil && fault() {
		err = q.d.Lose("submit", logical.ErrInjected)
	}
	if err != nil {
		q.discard(&b, err)
		return err
	}
	b.at = time.Now()
	if len(f.pending) == 0 {
		q.activate(f, b.at)
	}
	f.pending = append(f.pending, b)
	f.last = b.Submission
	if q.issuing || q.held() {
		return nil
	}
	next, t := q.next()
	switch {
	case t == nil:
		q.wakeLater()
		return nil
	case next != f || len(f.pending) > 1 || len(b.cmds) > smallBatch:
		q.issuing = true
		go q.issueAll()
		return nil
	}
	q.issuing = true
	err = q.issue(f, t)
	q.issuing = false
	q.resume()
	return err
}

// activate puts a flow that had no batch waiting into the backlog.
func (q *Scheduler) activate(f *Flow, now time.Time) {
	if q.apart(f) != nil {
		q.backlog = append(q.backlog, f)
		return
	}
	if q.clock.shared(&f.account) {
		q.reap() // the work of the others may have ended
	}
	q.backlog = append(q.backlog, f)
	q.takePart(f, now)
}

// takePart has a flow take part in the turns that has batches.
func (q *Scheduler) takePart(f *Flow, now time.Time) {
	q.clock.activate(&f.account)
	if len(q.clock.active) > 1 {
		q.shared.Store(now.UnixNano())
	}
}

// deactivate notes where a flow has no work any more.
func (q *Scheduler) deactivate(f *Flow) {
	if q.apart(f) == nil && f.inFlight == 0 && len(f.pending) == 0 {
		f.parked = false
		q.clock.deactivate(&f.account)
	}
}

// held reports whether a test keeps batches from the device.
func (q *Scheduler) held() bool {
	f := q.d.Options.Fault.Hold
	return f != nil && f()
}

// Resume submits what waits, as far as the device takes it. The scheduler does so itself,
// except after Fault.Hold.
func (q *Scheduler) Resume() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.resume()
}

// resume is Resume; mu is held.
func (q *Scheduler) resume() {
	q.changed.Broadcast()
	if q.issuing || len(q.backlog) == 0 || q.held() {
		return
	}
	if _, t := q.next(); t == nil && q.d.Lost() == nil {
		q.wakeLater()
		return
	}
	q.issuing = true
	go q.issueAll()
}

// wakeLater has the scheduler resume when a timeline completes a batch.
func (q *Scheduler) wakeLater() {
	for _, t := range q.timelines {
		if len(t.busy) == 0 || t.waking {
			continue
		}
		t.waking = true
		t.waiter.add(notice{value: t.busy[0].value, at: time.Now(), f: func(error) {
			q.mu.Lock()
			defer q.mu.Unlock()
			t.waking = false
			q.reap()
			q.resume()
		}})
	}
}

// next returns the flow whose turn it is, and the timeline that takes its batch; nil where
// the device has enough work.
func (q *Scheduler) next() (*Flow, *timeline) {
	q.reap()
	var first *Flow
	var to *timeline
	for _, f := range q.backlog {
		if t := q.apart(f); t != nil {
			if len(t.busy) < maxInFlight && f.pending[0].ready() {
				return f, t
			}
			continue
		}
		if q.park(f) {
			continue
		}
		q.divide(f)
		b := &f.pending[0]
		b.estimate()
		if first != nil && !f.before(&first.account, b.seconds, first.pending[0].seconds) || !b.ready() {
			continue
		}
		if t := q.admit(f, b); t != nil {
			first, to = f, t
		}
	}
	return first, to
}

// admit returns the timeline that takes the next batch of a flow, or nil. Flows with much
// submitted work share the first timeline, where submissions follow each other. On an H200,
// a short kernel of another queue begins when the running long kernel has begun all its
// workgroups; it waits much longer if several queues have long kernels. That timeline gets
// little work ahead of time. Where only one flow has work, and the device has other queues
// for a second flow, it gets one submission more, so that the device does not wait for the
// next.
func (q *Scheduler) admit(f *Flow, b *Batch) *timeline {
	small := f.seconds+b.seconds <= little
	t := f.timeline
	switch {
	case f.inFlight == 0 && small:
		t = q.leastBusy(t)
	case f.inFlight == 0:
		t = q.timelines[0]
	case t.index > 0 && !small:
		return nil // until its work there is complete
	}
	n := len(t.busy)
	switch {
	case n >= maxInFlight:
		return nil
	case n == 0, small, t.seconds < ahead:
		return t
	case len(q.clock.active) == 1 && q.Alone():
		if n < 2 || t.seconds < aloneAhead {
			return t
		}
	case q.computing > 1 && len(q.clock.active) == 1 && n < 2:
		return t
	}
	return nil
}

// leastBusy returns the timeline for a flow that asks for little: its last one, or another
// without work, or the one with the least work.
func (q *Scheduler) leastBusy(last *timeline) *timeline {
	if last != nil && len(last.busy) == 0 {
		return last
	}
	best := q.timelines[q.computing-1]
	for i := q.computing - 2; i >= 0; i-- {
		t := q.timelines[i]
		if t.seconds < best.seconds || t.seconds == best.seconds && len(t.busy) < len(best.busy) {
			best = t
		}
	}
	return best
}
