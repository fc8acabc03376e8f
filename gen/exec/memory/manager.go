package memory

import (
	"errors"
	"fmt"
	"iter"
	"time"

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

// Allows reports whether the limit of a session has room for n more bytes, beside what is
// promised to instructions that are pending. Nothing else looks at the limit: who is not
// allowed waits for the session to free what it can (Manager.Reserve), is carried out at once
// instead of later, or goes one instruction at a time.
func Allows(s *store.Session, n, promised int64) bool { return s.Fits(n + promised) }

// Claim is what has been done to get memory for the request at the front of a queue: each
// once. The zero Claim has done nothing.
type Claim struct {
	sweep   int       // number of the sweep that asks sessions to free memory; 0 where they have not been asked
	until   time.Time // when it is over at the latest
	trimmed bool      // the caches of the device have been dropped
	pressed bool      // what is pending in other queues has been carried out
}

// Swept reports whether sessions have been asked to free memory.
func (c *Claim) Swept() bool { return c.sweep > 0 }

// ManagerConfig is what a Manager of memory for queues of a type works with. All functions are
// for the goroutine of the Manager; Post runs one there.
type ManagerConfig[Q any] struct {
	Device *vulkan.Device // nil is the host alone
	Post   func(func())

	Session     func(Q) *store.Session
	Claim       func(Q) *Claim
	Alloc       func(Q, int) (*vulkan.Buffer, error) // from the device
	AwaitChecks func(Q) bool                         // has a queue wait for checks, which hold memory; false where there are none
	Leaving     func(Q) bool                         // values of the session are still on their way, and freed when they arrive; Retry follows
	Resume      func(Q)                              // goes on with a queue that has waited for memory
	Sessions    iter.Seq[*store.Session]

	Flush      func()      // submits what is recorded
	Pending    func() bool // other queues have instructions that are pending
	RunPending func()      // has these carried out
	Error      func(error) error
}

// Manager gives queues their memory, on the device and on the host. Where there is none, a
// queue waits while others are asked to free theirs, and fails only when all of that has been
// tried. It is for one goroutine.
type Manager[Q any] struct {
	Host  *Host
	Sweep func() int // asks sessions to free what they do not need, and counts them; nil asks none

	cfg      ManagerConfig[Q]
	waiting  []Q
	sweeps   int // sessions have been asked so often
	answered int // the latest sweep that all sessions have answered
}

// NewManager returns a Manager of the memory of a device and of a host.
func NewManager[Q any](cfg ManagerConfig[Q], host *Host, sweep func() int) *Manager[Q] {
	return &Manager[Q]{Host: host, Sweep: sweep, cfg: cfg}
}

// Reserve reports whether a session may take n more bytes. Over its limit it
// is asked once to free what it no longer needs; then it is refused.
func (m *Manager[Q]) Reserve(q Q, n int64) (wait queue.Wait, err error) {
	s := m.cfg.Session(q)
	if Allows(s, n, 0) {
		return 0, nil
	}
	if m.cfg.AwaitChecks(q) {
		return queue.ForDevice, nil
	}
	if m.cfg.Leaving(q) {
		m.waiting = append(m.waiting, q)
		return queue.ForMemory, nil
	}
	if m.sweep(q) {
		return queue.ForMemory, nil
	}
	return 0, &wire.Fault{Kind: wire.Limit, Err: fmt.Errorf(
		"%d bytes are needed, the session holds %d of its limit of %d; free values or raise the limit",
		n, s.Bytes(), s.Limit)}
}

// OnDevice takes n bytes of the device. When there are none it first has what is pending
// elsewhere carried out and sessions swept, then drops caches, and only then fails.
func (m *Manager[Q]) OnDevice(q Q, n int) (b *vulkan.Buffer, wait queue.Wait, err error) {
	b, err = m.cfg.Alloc(q, n)
	if err == nil || !errors.Is(err, vulkan.ErrOutOfMemory) {
		return b, 0, m.cfg.Error(err)
	}
	if errors.Is(err, vulkan.ErrBusy) {
		m.cfg.Flush() // what is recorded keeps memory, too
		m.await(q, busyTime)
		return nil, queue.ForMemory, nil
	}
	if m.cfg.AwaitChecks(q) {
		return nil, queue.ForDevice, nil
	}
	if m.press(q) || m.sweep(q) {
		return nil, queue.ForMemory, nil
	}
	if c := m.cfg.Claim(q); !c.trimmed {
		c.trimmed = true
		m.cfg.Flush()
		m.cfg.Device.Trim()
		if b, again := m.cfg.Alloc(q, n); again == nil {
			return b, 0, nil
		}
	}
	return nil, 0, &wire.Fault{Kind: wire.OutOfMemory, Err: fmt.Errorf("%w; %s", err, m.holders())}
}

// OnHost takes n bytes on the host for a value, held once. When there are none, sessions
// are asked to free what they can first.
func (m *Manager[Q]) OnHost(q Q, n int) (s *store.Storage, wait queue.Wait, err error) {
	s = &store.Storage{}
	if err := m.Host.Fill(s, n); err != nil {
		wait, err = m.HostExhausted(q, err)
		return nil, wait, err
	}
	s.Retain()
	return s, 0, nil
}

// HostExhausted is what becomes of work for which the host has no memory: it waits for
// others to free theirs, or fails and names who holds most.
func (m *Manager[Q]) HostExhausted(q Q, err error) (wait queue.Wait, fault error) {
	if m.press(q) || m.sweep(q) {
		return queue.ForMemory, nil
	}
	return 0, m.HostError(err)
}

// HostError gives an error of the host's memory its kind.
func (m *Manager[Q]) HostError(err error) error {
	if !errors.Is(err, store.ErrOutOfMemory) {
		return &wire.Fault{Kind: wire.Internal, Err: err}
	}
	return &wire.Fault{Kind: wire.OutOfMemory, Err: fmt.Errorf("%w; %s", err, m.holders())}
}

// sweep asks sessions to free memory, once for each claim. It reports
// whether the queue should wait for them: one that goes on for another reason, as the end of a session, waits again.
func (m *Manager[Q]) sweep(q Q) bool {
	c := m.cfg.Claim(q)
	switch {
	case c.sweep > m.answered && time.Now().Before(c.until):
		m.waiting = append(m.waiting, q)
		return true
	case c.sweep > 0 || m.Sweep == nil:
		return false
	}
	m.sweeps++
	c.sweep, c.until = m.sweeps, time.Now().Add(SweepTime)
	m.cfg.Flush()
	if m.Sweep() == 0 {
		c.until = time.Time{}
		return false
	}
	m.await(q, SweepTime)
	return true
}

// Swept continues the queues that wait for memory: all sessions have answered the latest sweep.
func (m *Manager[Q]) Swept() {
	m.answered = m.sweeps
	m.Retry()
}

// press has what is pending in other queues carried out, once for each claim:
// it holds values that have been freed. It reports whether there is any.
func (m *Manager[Q]) press(q Q) bool {
	c := m.cfg.Claim(q)
	if c.pressed || !m.cfg.Pending() {
		return false
	}
	c.pressed = true
	m.waiting = append(m.waiting, q)
	m.cfg.Post(func() {
		m.cfg.RunPending()
		m.Retry()
	})
	return true
}

// await has a queue go on after some time, or with the next Retry.
func (m *Manager[Q]) await(q Q, d time.Duration) {
	m.waiting = append(m.waiting, q)
	time.AfterFunc(d, func() { m.cfg.Post(m.Retry) })
}

// Retry continues the queues that wait for memory: some may be free.
func (m *Manager[Q]) Retry() {
	waiting := m.waiting
	m.waiting = nil
	for _, q := range waiting {
		m.cfg.Resume(q)
	}
}

// Abandon forgets which queues wait.
func (m *Manager[Q]) Abandon() { m.waiting = nil }

// holders names the sessions that hold most.
func (m *Manager[Q]) holders() string {
	var first, second *store.Session
	for s := range m.cfg.Sessions {
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
