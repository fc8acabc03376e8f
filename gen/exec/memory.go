package exec

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/vulkan"
)

// SweepTime is how long sessions have to free what they do not need.
const SweepTime = 250 * time.Millisecond

// busyTime is how long a queue waits for memory that the device is about to leave before
// it looks again.
const busyTime = 5 * time.Millisecond

// allows reports whether the limit of the session has room for n more bytes, beside what is
// promised to instructions that are pending. Nothing else looks at the limit: who is not
// allowed waits for the session to free what it can (reserve), is carried out at once instead
// of later (postpone), or goes one instruction at a time (segmentBody).
func (l *Queue) allows(n, promised int64) bool { return l.Session.Fits(n + promised) }

// reserve reports whether a session may take n more bytes. Over its limit it
// is asked once to free what it no longer needs; then it is refused.
func (e *Executor) reserve(l *Queue, n int64) (wait queue.Wait, err error) {
	if l.allows(n, 0) {
		return 0, nil
	}
	if e.awaitChecks(l) {
		return queue.ForDevice, nil
	}
	if e.sweep(l) {
		return queue.ForMemory, nil
	}
	return 0, &wire.Fault{Kind: wire.Limit, Err: fmt.Errorf(
		"%d bytes are needed, the session holds %d of its limit of %d; free values or raise the limit",
		n, l.Session.Bytes(), l.Session.Limit)}
}

// alloc takes device memory. When there is none it first has what is pending
// elsewhere carried out and sessions swept, then drops caches, and only then fails.
func (e *Executor) alloc(l *Queue, n int) (b *vulkan.Buffer, wait queue.Wait, err error) {
	f := e.Feed(l)
	b, err = f.TryAlloc(n)
	if err == nil || !errors.Is(err, vulkan.ErrOutOfMemory) {
		return b, 0, e.DeviceError(err)
	}
	if errors.Is(err, vulkan.ErrBusy) {
		e.Flush() // what is recorded keeps memory, too
		e.memory = append(e.memory, l)
		time.AfterFunc(busyTime, func() { e.cfg.Post(e.retryMemory) })
		return nil, queue.ForMemory, nil
	}
	if e.awaitChecks(l) {
		return nil, queue.ForDevice, nil
	}
	if e.press(l) || e.sweep(l) {
		return nil, queue.ForMemory, nil
	}
	if !l.trimmed {
		l.trimmed = true
		e.Flush()
		e.dev.Trim()
		if b, again := f.TryAlloc(n); again == nil {
			return b, 0, nil
		}
	}
	return nil, 0, &wire.Fault{Kind: wire.OutOfMemory, Err: fmt.Errorf("%w; %s", err, e.holders())}
}

// sweep asks sessions to free memory, once for each task of a queue. It reports
// whether the queue should wait for them.
func (e *Executor) sweep(l *Queue) bool {
	if l.swept || e.cfg.Sweep == nil {
		return false
	}
	l.swept = true
	e.Flush()
	if e.cfg.Sweep() == 0 {
		return false
	}
	e.memory = append(e.memory, l)
	time.AfterFunc(SweepTime, func() { e.cfg.Post(e.retryMemory) })
	return true
}

// press has what is pending in other queues carried out, once for each task of a
// queue: it holds values that have been freed. It reports whether there is any.
func (e *Executor) press(l *Queue) bool {
	others := len(e.gathering) > 0 // l is not among them: it carries something out
	if l.pressed || !others {
		return false
	}
	l.pressed = true
	e.memory = append(e.memory, l)
	e.cfg.Post(func() {
		for _, g := range slices.Clone(e.gathering) {
			e.flushTrace(g)
		}
		e.retryMemory()
	})
	return true
}

// Swept continues the queues that wait for memory: all sessions have answered.
func (e *Executor) Swept() { e.retryMemory() }

func (e *Executor) retryMemory() {
	waiting := e.memory
	e.memory = nil
	for _, l := range waiting {
		e.Resume(l)
	}
}

// holders names the sessions that hold most.
func (e *Executor) holders() string {
	var first, second *store.Session
	for s := range e.lanes {
		switch {
		case first == nil || s.Bytes() > first.Bytes():
			first, second = s, first
		case second == nil || s.Bytes() > second.Bytes():
			second = s
		}
	}
	text := ""
	for _, s := range []*store.Session{first, second} {
		if s == nil {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%v%s holds %d bytes in %d values", s.Owner, labelled(s.Label), s.Bytes(), s.Buffers())
	}
	return text
}

func labelled(label string) string {
	if label == "" {
		return ""
	}
	return " (" + label + ")"
}

// hostResults makes memory on the host for the results of work.
func (e *Executor) hostResults(l *Queue, w *placement.Work) (mems []*store.Storage, wait queue.Wait, err error) {
	total := int64(0)
	for _, r := range w.In.Outs {
		total += int64(r.Type.Bytes())
	}
	if wait, err := e.reserve(l, total); wait != 0 || err != nil {
		return nil, wait, err
	}
	for _, r := range w.In.Outs {
		m, wait, err := e.hostStorage(l, r.Type.Bytes())
		if wait != 0 || err != nil {
			dropAll(mems)
			return nil, wait, err
		}
		mems = append(mems, m)
	}
	return mems, 0, nil
}

func dropAll(mems []*store.Storage) {
	for _, m := range mems {
		m.Drop()
	}
}

// hostStorage takes n bytes on the host for a value, held once. When there are none, sessions
// are asked to free what they can first.
func (e *Executor) hostStorage(l *Queue, n int) (m *store.Storage, wait queue.Wait, err error) {
	m = &store.Storage{}
	if err := e.cfg.Host.Fill(m, n); err != nil {
		wait, err = e.hostExhausted(l, err)
		return nil, wait, err
	}
	m.Retain()
	return m, 0, nil
}

// hostExhausted is what becomes of work for which the host has no memory: it waits for
// others to free theirs, or fails and names who holds most.
func (e *Executor) hostExhausted(l *Queue, err error) (wait queue.Wait, fault error) {
	if e.press(l) || e.sweep(l) {
		return queue.ForMemory, nil
	}
	return 0, e.outOfHost(err)
}

// outOfHost gives an error of the host's memory its kind.
func (e *Executor) outOfHost(err error) error {
	if !errors.Is(err, store.ErrOutOfMemory) {
		return &wire.Fault{Kind: wire.Internal, Err: err}
	}
	return &wire.Fault{Kind: wire.OutOfMemory, Err: fmt.Errorf("%w; %s", err, e.holders())}
}
