package exec

import (
	"nxvk/fallback/sched"
	"nxvk/gen/etf"
	"nxvk/gen/exec/feed"
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
	if wait, err := e.memory.Reserve(l, int64(len(lit.Data))); wait != 0 || err != nil {
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
		if err := m.Take(e.memory.Host.Budget, int64(len(lit.Data))); err != nil {
			return e.memory.HostExhausted(l, err)
		}
		m.Host = lit.Data
		return 0, nil
	}
	if e.dev == nil && e.memory.Host.Over() {
		return e.memory.HostExhausted(l, e.memory.Host.Exhausted(int64(b.Len())))
	}
	if err := e.adopt(m, b); err != nil {
		return e.memory.HostExhausted(l, err)
	}
	return 0, nil
}

// adopt makes a received binary the memory of a value. One that others still
// hold is copied.
func (e *Executor) adopt(m *store.Storage, b *etf.Binary) error {
	block, n := b.Take()
	if block == nil {
		if err := e.memory.Host.Fill(m, b.Len()); err != nil {
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
	if err := e.feeds.Refill(m); err != nil || m.Dev != nil {
		return 0, err
	}
	buf, wait, err := e.memory.OnDevice(l, len(m.Host))
	if wait != 0 || err != nil {
		return wait, err
	}
	if len(m.Host) > uploadNow {
		e.uploadApart(l, m, buf)
		return queue.ForUpload, nil
	}
	f := e.Feed(l)
	if err := f.Stream().Upload(buf, 0, m.Host); err != nil {
		buf.Free()
		return 0, e.DeviceError(err)
	}
	e.uploaded(f, m, buf)
	return 0, nil
}

// uploaded gives a value its memory on the device.
func (e *Executor) uploaded(f *feed.Feed, m *store.Storage, buf *vulkan.Buffer) {
	m.Dev = buf
	f.Note()
	if len(m.Host) > memory.Large && m.Pins == 0 {
		m.FreeHost() // one copy of a large value is enough
	}
}

// readBack copies a value to the host, parking the queue meanwhile.
func (e *Executor) readBack(l *Queue, m *store.Storage, t ops.Type) (wait queue.Wait, err error) {
	if e.Lost() != nil {
		return 0, e.Lost()
	}
	n := t.Bytes()
	m.Retain()
	e.Feed(l).Fetch(m, 0, n, false, func(data []byte, release func(), err error) {
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
	if err := e.memory.Host.Fill(to, len(data)); err != nil {
		done(e.memory.HostError(err))
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
