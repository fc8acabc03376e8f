package vulkan

import (
	"slices"
	"sync"
	"time"

	"nxvk/vulkan/vk"
)

// promptSize is how many commands the caller of Submit hands over itself:
// whoever submits little may be waiting for it. More are handed over by a
// goroutine while the caller records on, since it takes as long to make a
// command buffer as to record the commands.
const promptSize = 16

// handover is how batches reach the device: one at a time, those of a stream in
// order, and streams in turns. It is guarded by queue.mu.
type handover struct {
	clock   virtual
	backlog []*flow     // with batches that wait
	handing bool        // somebody hands batches over
	carried *submission // of the batch that is being handed over
	moved   sync.Cond   // a batch was handed over
	lists   []*lists    // to spare
	hazards []*hazards
}

// flow is a stream, as the device sees it.
type flow struct {
	account
	mixed    rate // of pieces that no kernel takes most of
	pending  []batch
	line     *line       // of the latest batch
	handed   *submission // the latest on its way
	last     *submission // the latest of all
	inFlight int         // on their way, not seen complete
	seconds  float64     // that these are expected to take
}

// batch is recorded commands on their way to the device.
type batch struct {
	sub     *submission
	cmds    []vk.Cmd // of lists
	lists   *lists
	last    bool // no other batch uses lists
	divided bool // it is a piece of what was submitted, or all of it
	queries int
	seconds float64   // that it is expected to take
	main    *Pipeline // takes nearly all of that, or nil
	rate    float64   // of main, when that was found out
	cut     bool      // a part of a dispatch
	writes  []written
	at      time.Time
}

// lists hold recorded commands and what they refer to.
type lists struct {
	cmds  []vk.Cmd
	push  []byte
	binds []vk.Bind
	costs []cost
}

// take returns empty lists, and hazards of a batch that has no commands.
func (q *queue) take() (*lists, *hazards) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l, h := &lists{}, (*hazards)(nil)
	if n := len(q.lists); n > 0 {
		l, q.lists = q.lists[n-1], q.lists[:n-1]
	}
	if n := len(q.hazards); n > 0 {
		h, q.hazards = q.hazards[n-1], q.hazards[:n-1]
	} else {
		h = &hazards{}
	}
	h.begin()
	h.batch++
	return l, h
}

// putBack takes back lists that no batch has, or nil, and hazards.
func (q *queue) putBack(l *lists, h *hazards) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.hazards = append(q.hazards, h)
	if l != nil {
		q.drop(&batch{lists: l, last: true})
	}
}

// hand sees to it that the device gets a batch when its turn comes. Where that is now,
// and the batch cannot be handed over, it is gone, and the error says why.
func (q *queue) hand(b batch) error {
	f := b.sub.flow
	q.mu.Lock()
	defer q.mu.Unlock()
	err := q.d.gone()
	if fault := q.d.opts.Fault.Lost; err == nil && fault != nil && fault() {
		err = q.d.lose("submit", errInjected)
	}
	if err != nil {
		q.void(&b, err)
		return err
	}
	b.at = time.Now()
	if len(f.pending) == 0 {
		if q.clock.others(&f.account) {
			q.reap() // they may have ended
		}
		q.backlog = append(q.backlog, f)
		if f.inFlight == 0 {
			q.clock.arrive(&f.account)
		}
		if len(q.clock.active) > 1 {
			q.crowded.Store(b.at.UnixNano())
		}
	}
	f.pending = append(f.pending, b)
	f.last = b.sub
	if q.handing {
		return nil
	}
	next, l := q.next()
	switch {
	case l == nil:
		q.await()
		return nil
	case next != f || len(f.pending) > 1 || len(b.cmds) > promptSize:
		q.handing = true
		go q.handAll()
		return nil
	}
	q.handing = true
	err = q.handOne(f, l)
	q.handing = false
	q.proceed()
	return err
}

// proceed has what waits handed over, as far as the device takes it.
func (q *queue) proceed() {
	q.moved.Broadcast()
	if q.handing || len(q.backlog) == 0 {
		return
	}
	if _, l := q.next(); l == nil && q.d.Lost() == nil {
		q.await()
		return
	}
	q.handing = true
	go q.handAll()
}

// handAll hands over what waits until nothing does, or the device has enough.
func (q *queue) handAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.backlog) > 0 {
		if err := q.d.Lost(); err != nil {
			q.fail(err)
			break
		}
		f, l := q.next()
		if l == nil {
			break
		}
		if err := q.handOne(f, l); err != nil {
			q.d.lose("submit", err)
		}
		q.moved.Broadcast()
	}
	q.handing = false
	if len(q.backlog) > 0 {
		q.await()
	}
	q.moved.Broadcast()
}

// await has handAll called when a line has ended a piece.
func (q *queue) await() {
	for _, l := range q.lines {
		if len(l.busy) == 0 || l.kicked {
			continue
		}
		l.kicked = true
		l.waiter.add(notice{value: l.busy[0].value, at: time.Now(), f: func(error) {
			q.mu.Lock()
			defer q.mu.Unlock()
			l.kicked = false
			q.reap()
			q.proceed()
		}})
	}
}

// next is the stream whose turn it is, and the line that takes its batch; nil where
// all have enough.
func (q *queue) next() (*flow, *line) {
	q.reap()
	var first *flow
	var to *line
	for _, f := range q.backlog {
		q.divide(f)
		b := &f.pending[0]
		b.expect()
		if first != nil && !f.before(&first.account, b.seconds, first.pending[0].seconds) || !b.ready() {
			continue
		}
		if l := q.admit(f, b); l != nil {
			first, to = f, l
		}
	}
	return first, to
}

// expect says what the batch is expected to take, after what its kernel has taken since
// it was submitted.
func (b *batch) expect() {
	r := b.sub.flow.mixed.value()
	if b.main != nil {
		r = b.main.learnt.value()
	}
	b.seconds, b.rate = b.seconds*r/b.rate, r
}

// ready reports whether the device has been given what a batch depends on.
func (b *batch) ready() bool {
	return !slices.ContainsFunc(b.sub.deps, func(s *submission) bool { return !s.handed() })
}

// admit is the line that takes the next batch of a stream, or nil. Streams that have much
// on its way share the first line, where pieces follow each other: on an H200 a short
// kernel of another line begins when the long one that runs has no workgroups left to
// begin, and waits for much longer where several lines have long ones. That line gets
// little ahead of time; where nobody else has work, and the device has other lines for
// who comes, one piece more, so that the device does not wait for the next.
func (q *queue) admit(f *flow, b *batch) *line {
	small := f.seconds+b.seconds <= little
	l := f.line
	switch {
	case f.inFlight == 0 && small:
		l = q.choose(l)
	case f.inFlight == 0:
		l = q.lines[0]
	case l.index > 0 && !small:
		return nil // until what it has there is done
	}
	n := len(l.busy)
	switch {
	case n >= maxInFlight:
		return nil
	case n == 0, small, l.seconds < ahead:
		return l
	case len(q.clock.active) == 1 && q.alone():
		if n < 2 || l.seconds < aloneAhead {
			return l
		}
	case len(q.lines) > 1 && len(q.clock.active) == 1 && n < 2:
		return l
	}
	return nil
}

// choose is the line for a stream that wants little: the one it had, or another that has
// nothing to do, or the one that has least.
func (q *queue) choose(last *line) *line {
	if last != nil && len(last.busy) == 0 {
		return last
	}
	best := q.lines[len(q.lines)-1]
	for i := len(q.lines) - 2; i >= 0; i-- {
		l := q.lines[i]
		if l.seconds < best.seconds || l.seconds == best.seconds && len(l.busy) < len(best.busy) {
			best = l
		}
	}
	return best
}

// handOne submits the next batch of a stream to a line. mu is held before and after,
// and not meanwhile.
func (q *queue) handOne(f *flow, l *line) error {
	b := f.pending[0]
	if f.pending = slices.Delete(f.pending, 0, 1); len(f.pending) == 0 {
		q.backlog = slices.DeleteFunc(q.backlog, func(g *flow) bool { return g == f })
	}
	f.serve(b.seconds)
	after := l.after(&b)
	f.line = l
	value := l.submitted + 1
	q.carried = b.sub
	q.mu.Unlock()
	start := time.Now()
	rec, err := q.carry(&b, l, value, after)
	q.d.counts.submitNanos.Add(int64(time.Since(start)))
	q.mu.Lock()
	q.carried = nil
	if err != nil {
		q.void(&b, err)
		q.idle(f)
		return err
	}
	l.submitted = value
	l.seconds += b.seconds
	f.handed, f.inFlight, f.seconds = b.sub, f.inFlight+1, f.seconds+b.seconds
	q.inUse++
	now := time.Now()
	l.busy = append(l.busy, busyRecorder{sub: b.sub, value: value, r: rec, at: now, waited: now.Sub(b.at), seconds: b.seconds, main: b.main, cut: b.cut})
	b.sub.deps = nil
	b.sub.line = l
	b.sub.value.Store(value)
	for _, n := range b.sub.notices {
		n.value = value
		l.waiter.add(n)
	}
	b.sub.notices = nil
	q.drop(&b)
	return nil
}

// idle notes where a stream has no work any more.
func (q *queue) idle(f *flow) {
	if f.inFlight == 0 && len(f.pending) == 0 {
		q.clock.leave(&f.account)
	}
}

// after are the points of other lines that a batch has to wait for.
func (l *line) after(b *batch) []vk.Point {
	var list []vk.Point
	var add func([]*submission)
	add = func(deps []*submission) {
		for _, s := range deps {
			switch {
			case s.complete(false):
			case s.void.Load():
				add(s.deps)
			case s.line != l:
				i := slices.IndexFunc(list, func(p vk.Point) bool { return p.Semaphore == s.line.timeline })
				if i < 0 {
					list = append(list, vk.Point{Semaphore: s.line.timeline, Value: s.value.Load()})
				} else {
					list[i].Value = max(list[i].Value, s.value.Load())
				}
			}
		}
	}
	add(b.sub.deps)
	return list
}

func (q *queue) carry(b *batch, l *line, value uint64, after []vk.Point) (*recorder, error) {
	rec, said, err := q.recorder(b)
	if err != nil {
		return nil, err
	}
	if !said {
		err = q.record(rec, b)
	}
	if err == nil {
		if r := vk.QueueSubmit(q.d.dev, l.queue, rec.vk, l.timeline, value, after); r != vk.Success {
			err = q.d.fail("submit", r)
		}
	}
	if err != nil {
		q.giveBack(rec)
		return nil, err
	}
	q.d.counts.submits.Add(1)
	return rec, nil
}

// record makes a command buffer say what a batch says.
func (q *queue) record(rec *recorder, b *batch) error {
	epoch := q.epoch.Load()
	rec.cmds = rec.cmds[:0]
	if f := q.d.opts.Fault.Record; f != nil && f() {
		return q.d.fail("record commands", vk.ErrorOutOfHostMemory)
	}
	if r := vk.Replay(q.d.dev, rec.vk, b.cmds, b.lists.push, b.lists.binds, b.queries, !b.repeatable()); r != vk.Success {
		return q.d.fail("record commands", r)
	}
	rec.note(b, epoch)
	q.d.counts.recordings.Add(1)
	return nil
}

// drop takes lists back after their last batch.
func (q *queue) drop(b *batch) {
	if b.last {
		l := b.lists
		l.cmds, l.push, l.binds = l.cmds[:0], l.push[:0], l.binds[:0]
		clear(l.costs)
		l.costs = l.costs[:0]
		q.lists = append(q.lists, l)
	}
}

// drain returns when nothing waits or is being handed over, or the device is lost.
func (q *queue) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.handing || len(q.backlog) > 0 {
		if err := q.d.Lost(); err != nil && !q.handing {
			q.fail(err)
			return
		}
		q.moved.Wait()
	}
}
