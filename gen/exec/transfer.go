package exec

import (
	"slices"
	"time"

	"nxvk/fallback/sched"
	"nxvk/gen/etf"
	"nxvk/gen/exec/memory"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/ops"
	"nxvk/vulkan"
)

// upload makes a tensor of the bytes of a literal. Small ones stay on the host
// until a kernel wants them.
func (e *Executor) upload(l *Queue, w *placement.Work) (wait queue.Wait, err error) {
	lit, out := w.In.Ins[0].Lit, w.In.Outs[0]
	if wait, err := e.reserve(l, int64(len(lit.Data))); wait != 0 || err != nil {
		return wait, err
	}
	m := &store.Storage{}
	m.Retain()
	defer m.Drop()
	if wait, err := e.receive(l, m, lit); wait != 0 || err != nil {
		return wait, err
	}
	e.Counters.Uploaded += uint64(out.Type.Bytes())
	e.keep(l, out, m)
	return 0, nil
}

// receive makes the data of a literal the memory of a value. On a device, large data that went to the host
// moves on; where the host is the device it has to fit its limit.
func (e *Executor) receive(l *Queue, m *store.Storage, lit *ops.Literal) (wait queue.Wait, err error) {
	b, ok := lit.Hold.(*etf.Binary)
	if !ok {
		if err := m.Take(e.cfg.Host.Budget, int64(len(lit.Data))); err != nil {
			return e.hostExhausted(l, err)
		}
		m.Host = lit.Data
		return 0, nil
	}
	if e.dev == nil && e.cfg.Host.Over() {
		return e.hostExhausted(l, e.cfg.Host.Exhausted(int64(b.Len())))
	}
	if err := e.adopt(m, b); err != nil {
		return e.hostExhausted(l, err)
	}
	return 0, nil
}

// adopt makes a received binary the memory of a value. One that others still
// hold is copied.
func (e *Executor) adopt(m *store.Storage, b *etf.Binary) error {
	block, n := b.Take()
	if block == nil {
		if err := e.cfg.Host.Fill(m, b.Len()); err != nil {
			return err
		}
		copy(m.Host, b.Bytes())
		return nil
	}
	if db, ok := block.(memory.DeviceBlock); ok {
		if buf, ok := db.Buffer(e.dev); ok {
			m.Dev, m.Host = buf, nil
			if buf.Readable() {
				m.Host = buf.Bytes()[:n]
			}
			return nil
		}
	}
	m.Host, m.Release = block.Bytes()[:n], block.Free
	return nil
}

// onDevice sees to it that memory is on the device.
func (e *Executor) onDevice(l *Queue, m *store.Storage) (wait queue.Wait, err error) {
	if err := e.refill(m); err != nil || m.Dev != nil {
		return 0, err
	}
	buf, wait, err := e.alloc(l, len(m.Host))
	if wait != 0 || err != nil {
		return wait, err
	}
	if len(m.Host) > uploadNow {
		e.uploadApart(l, m, buf)
		return queue.ForUpload, nil
	}
	f := e.Feed(l)
	if err := f.stream.Upload(buf, 0, m.Host); err != nil {
		buf.Free()
		return 0, e.DeviceError(err)
	}
	e.uploaded(f, m, buf)
	return 0, nil
}

// uploaded gives a value its memory on the device.
func (e *Executor) uploaded(f *Feed, m *store.Storage, buf *vulkan.Buffer) {
	m.Dev = buf
	e.note(f)
	if len(m.Host) > memory.Large && m.Pins == 0 {
		m.FreeHost() // one copy of a large value is enough
	}
}

// readBack copies a value to the host, parking the queue meanwhile.
func (e *Executor) readBack(l *Queue, m *store.Storage, t ops.Type) (wait queue.Wait, err error) {
	if e.lost != nil {
		return 0, e.lost
	}
	n := t.Bytes()
	m.Retain()
	e.fetch(e.Feed(l), m, 0, n, false, func(data []byte, release func(), err error) {
		done := func(err error) {
			if data != nil {
				release()
			}
			if m.Checks.Err() == nil { // else the value says what is wrong with it
				l.failed = err
			}
			m.Drop()
			e.Resume(l)
		}
		if err != nil || m.Host != nil {
			done(err)
			return
		}
		e.copyBack(m, data, done)
	})
	return queue.ForReadback, nil
}

// copyBack gives a value its copy on the host and then calls done, at once where the data
// are little.
func (e *Executor) copyBack(m *store.Storage, data []byte, done func(error)) {
	to := &store.Storage{}
	if err := e.cfg.Host.Fill(to, len(data)); err != nil {
		done(e.outOfHost(err))
		return
	}
	if len(data) <= 4*placement.InlineCost {
		copy(to.Host, data)
		m.HostOf(to)
		done(nil)
		return
	}
	e.Aside(nil, workCopy, func(by *sched.Worker) error {
		return sched.Caught(func() error {
			by.For(len(data), 4*placement.InlineCost, func(_ *sched.Worker, lo, hi int) { copy(to.Host[lo:hi], data[lo:hi]) })
			return nil
		})
	}, func(err error) {
		if err == nil && m.Host == nil {
			m.HostOf(to)
		}
		to.FreeHost()
		done(err)
	})
}

// PollTime bounds how long a read of little data looks for its completion
// itself: being woken for it would take as long as the device does.
const PollTime = 40 * time.Microsecond

// fetch calls done, on the goroutine of the Executor, with bytes of memory
// that is on the device, after all that the session has had the device do; with poll perhaps before it returns. The bytes are
// valid until release.
func (e *Executor) fetch(f *Feed, m *store.Storage, off, n int, poll bool, done func(data []byte, release func(), err error)) {
	done = e.whenChecked(m, done)
	fail := func(err error) { e.cfg.Post(func() { done(nil, nil, e.DeviceError(err)) }) }
	rb, err := f.stream.Download(m.Dev, off, n)
	if err != nil {
		fail(err)
		return
	}
	ticket, sent, err := e.send(f)
	if err != nil {
		rb.Release()
		fail(err)
		return
	}
	e.Counters.Downloaded += uint64(n)
	// With queues throttled, noting the end here could serve one that is being served.
	if poll && len(f.throttled) == 0 && (n <= memory.Large || e.dev.Done(ticket)) && e.soon(ticket) {
		done(rb.Bytes(), rb.Release, nil)
		if sent {
			e.completed(f, ticket)
		}
		return
	}
	if sent {
		e.watch(f, ticket)
	}
	read := &fetched{done: done}
	f.fetches = append(f.fetches, read)
	e.dev.Notify(ticket, func(err error) {
		e.cfg.Post(func() {
			f.fetches = slices.DeleteFunc(f.fetches, func(r *fetched) bool { return r == read })
			switch {
			case read.ended:
				rb.Release()
			case err != nil:
				rb.Release()
				done(nil, nil, e.DeviceError(err))
			default:
				done(rb.Bytes(), rb.Release, nil)
			}
		})
	})
}

// whenChecked is done for data of a value that has checks: these are settled first, and an
// error that they find comes in place of the data.
func (e *Executor) whenChecked(m *store.Storage, done func(data []byte, release func(), err error)) func([]byte, func(), error) {
	if len(m.Checks) == 0 {
		return done
	}
	checks := m.Checks
	return func(data []byte, release func(), err error) {
		if err != nil {
			done(nil, nil, err)
			return
		}
		deliver := func() {
			if err := checks.Err(); err != nil {
				release()
				done(nil, nil, err)
				return
			}
			done(data, release, nil)
		}
		e.settleChecks()
		now := true
		checks.Settled(func() {
			if now {
				deliver()
			} else { // in the middle of what settles them
				e.cfg.Post(deliver)
			}
		})
		now = false
	}
}

// fetched is a read of what the device has yet to compute.
type fetched struct {
	done  func(data []byte, release func(), err error)
	ended bool // done has been told of the deadline
}

// soon reports whether a submission is complete or, on an otherwise idle GPU,
// is so within PollTime. A software device needs the processor for itself.
func (e *Executor) soon(t vulkan.Ticket) bool {
	if e.dev.Done(t) {
		return e.dev.Lost() == nil
	}
	if e.target.CPU || e.inFlight > 1 {
		return false
	}
	for start := time.Now(); time.Since(start) < PollTime; {
		if e.dev.Done(t) {
			return e.dev.Lost() == nil
		}
	}
	return false
}
