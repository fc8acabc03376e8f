package vulkan

import "slices"

// What a stream has submitted waits for its turn, and can be taken back until then. The
// submission then stands for what it would have waited for: whoever uses the same
// memory later still comes after who used it before.

// written is memory that a batch writes, as long as it is what it was.
type written struct {
	r   *region
	gen uint64
}

// void makes the submission of a batch one that the device never gets. mu is held.
func (q *queue) void(b *batch, err error) {
	q.forgo(b.sub, err)
	q.drop(b)
}

// never is void for the last piece of a batch of which another one is.
func (q *queue) never(s *submission, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !s.void.Load() {
		q.forgo(s, err)
	}
}

// forgo makes a submission stand for those before it. mu is held.
func (q *queue) forgo(s *submission, err error) {
	f := s.flow
	if f.handed != nil {
		s.deps = append(s.deps, f.handed)
	}
	if f.last == s {
		f.last = f.handed
	}
	s.err = err
	s.void.Store(true)
	for _, n := range s.notices {
		go n.f(err)
	}
	s.notices = nil
}

// abandon discards all that waits on a device that is lost, and does not wait for who
// hands something over.
func (q *queue) abandon() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fail(q.d.Lost())
}

// fail discards all that waits. mu is held.
func (q *queue) fail(err error) {
	for _, f := range q.backlog {
		for i := range f.pending {
			q.void(&f.pending[i], err)
		}
		f.pending = nil
		q.idle(f)
	}
	q.backlog = nil
}

// discard takes back what waits of a stream behind a submission, or all of it.
func (q *queue) discard(f *flow, err error, behind *submission) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := slices.IndexFunc(f.pending, func(b batch) bool { return b.sub == behind }) + 1
	if n == len(f.pending) {
		return
	}
	before := f.handed
	if n > 0 {
		before = f.pending[n-1].sub
	}
	for i := range f.pending[n:] {
		b := &f.pending[n+i]
		if before != nil {
			b.sub.deps = append(b.sub.deps, before)
		}
		q.void(b, err)
	}
	f.last = before
	clear(f.pending[n:])
	if f.pending = f.pending[:n]; n == 0 {
		q.backlog = slices.DeleteFunc(q.backlog, func(g *flow) bool { return g == f })
	}
	q.idle(f)
	q.moved.Broadcast()
}

// Cancel takes back what is recorded, and what has been submitted and not reached the
// device: it is never computed, unless another stream has something submitted behind it
// that uses the same memory. err is what their tickets end with, and what Err says of the
// buffers that they would have written.
func (s *Stream) Cancel(err error) {
	q := &s.d.queue
	q.mu.Lock()
	var last *submission // that another stream counts on
	for _, b := range s.flow.pending {
		if b.sub.followed.Load() {
			last = b.sub
		}
	}
	q.mu.Unlock()
	q.discard(s.flow, err, last)
	if s.Pending() > 0 {
		t := &submission{flow: s.flow, err: err}
		t.deps = append(s.d.mem.follow(s, t), s.join().s)
		t.void.Store(true)
	}
	s.Discard()
}

// Close takes back what is recorded, and what has not reached the device, unless somebody
// still holds memory that it writes: what others have yet to read is computed.
func (s *Stream) Close() {
	if s.d.mem.kept(s.wrote) {
		if _, err := s.Submit(); err != nil {
			s.Cancel(err)
		}
	}
	s.Discard()
	q := &s.d.queue
	q.mu.Lock()
	pending := slices.Clone(s.flow.pending)
	q.mu.Unlock()
	var last *submission // that somebody wants something of
	for i := range pending {
		if s.d.mem.wanted(pending[i].writes) {
			last = pending[i].sub
		}
	}
	q.discard(s.flow, ErrDiscarded, last)
}

// kept reports whether there are buffers in memory that commands write.
func (m *memory) kept(list []written) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(list, func(w written) bool { return w.r.gen == w.gen && w.r.state == live })
}

// wanted is kept for a batch that has been submitted: what others have recorded, or
// read back, counts as well.
func (m *memory) wanted(list []written) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(list, func(w written) bool {
		return w.r.gen == w.gen && (w.r.state == live || w.r.refs.Load() > 0)
	})
}

// Computes reports whether the device has yet to complete what this stream has submitted to
// write the buffer.
func (s *Stream) Computes(b *Buffer) bool {
	m := &s.d.mem
	m.mu.Lock()
	defer m.mu.Unlock()
	w := b.r.uses.wrote
	return w != nil && w.flow == s.flow && !w.complete(true)
}

// Err says why the content of the buffer was never computed; nil where it was, or will
// be. The device may have been lost since.
func (b *Buffer) Err() error {
	m := &b.d.mem
	m.mu.Lock()
	defer m.mu.Unlock()
	w := b.r.uses.wrote
	if w == nil || !w.void.Load() {
		return nil
	}
	if s := b.r.user.Load(); s != nil && slices.Contains(s.wrote, written{b.r, b.r.gen}) {
		return nil // it will be written: the memory was another buffer's, or is written again
	}
	return w.err
}
