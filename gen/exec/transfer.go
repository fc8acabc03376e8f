package exec

import (
	"nxvk/fallback/sched"
	"nxvk/gen/etf"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/hostjob"
	"nxvk/gen/exec/memory"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/ops"
	"nxvk/vulkan"
)

// transfers bring values to the device and back.
type transfers struct{ exec *Executor }

// uploadLiteral makes a tensor of the bytes of a literal. Small ones stay on the host
// until a kernel wants them.
func (tr *transfers) uploadLiteral(q *Queue, w *placement.Work) (wait queue.Wait, err error) {
	lit, out := w.In.Ins[0].Lit, w.In.Outs[0]
	if wait, err := tr.exec.memory.Reserve(q, int64(len(lit.Data))); wait != 0 || err != nil {
		return wait, err
	}
	m := &store.Storage{}
	m.Retain()
	defer m.Drop()
	if wait, err := tr.receive(q, m, lit); wait != 0 || err != nil {
		return wait, err
	}
	tr.exec.Counters.Uploaded += uint64(out.Type.Bytes())
	tr.exec.keep(q, out, m)
	return 0, nil
}

// receive makes the data of a literal the memory of a value. On a device, large data that went to the host
// moves on; where the host is the device it has to fit its limit.
func (tr *transfers) receive(q *Queue, m *store.Storage, lit *ops.Literal) (wait queue.Wait, err error) {
	b, ok := lit.Hold.(*etf.Binary)
	if !ok {
		if err := m.Take(tr.exec.memory.Host.Budget, int64(len(lit.Data))); err != nil {
			return tr.exec.memory.HostExhausted(q, err)
		}
		m.Host = lit.Data
		return 0, nil
	}
	if tr.exec.dev == nil && tr.exec.memory.Host.Over() {
		return tr.exec.memory.HostExhausted(q, tr.exec.memory.Host.Exhausted(int64(b.Len())))
	}
	if err := tr.adopt(m, b); err != nil {
		return tr.exec.memory.HostExhausted(q, err)
	}
	return 0, nil
}

// adopt makes a received binary the memory of a value. One that others still
// hold is copied.
func (tr *transfers) adopt(m *store.Storage, b *etf.Binary) error {
	block, n := b.Take()
	if block == nil {
		if err := tr.exec.memory.Host.Fill(m, b.Len()); err != nil {
			return err
		}
		copy(m.Host, b.Bytes())
		return nil
	}
	if db, ok := block.(memory.DeviceBlock); ok {
		if buf, ok := db.Buffer(tr.exec.dev); ok {
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

// hostResults makes memory on the host for the results of work.
func (tr *transfers) hostResults(q *Queue, w *placement.Work) (mems []*store.Storage, wait queue.Wait, err error) {
	total := int64(0)
	for _, r := range w.In.Outs {
		total += int64(r.Type.Bytes())
	}
	if wait, err := tr.exec.memory.Reserve(q, total); wait != 0 || err != nil {
		return nil, wait, err
	}
	for _, r := range w.In.Outs {
		m, wait, err := tr.exec.memory.OnHost(q, r.Type.Bytes())
		if wait != 0 || err != nil {
			store.DropAll(mems)
			return nil, wait, err
		}
		mems = append(mems, m)
	}
	return mems, 0, nil
}

// toDevice sees to it that memory is on the device.
func (tr *transfers) toDevice(q *Queue, m *store.Storage) (wait queue.Wait, err error) {
	if err := tr.exec.feeds.Refill(m); err != nil || m.Dev != nil {
		return 0, err
	}
	buf, wait, err := tr.exec.memory.OnDevice(q, len(m.Host))
	if wait != 0 || err != nil {
		return wait, err
	}
	if len(m.Host) > uploadNow {
		tr.uploadApart(q, m, buf)
		return queue.ForUpload, nil
	}
	f := tr.exec.Feed(q)
	if err := f.Stream().Upload(buf, 0, m.Host); err != nil {
		buf.Free()
		return 0, tr.exec.DeviceError(err)
	}
	tr.noteUploaded(f, m, buf)
	return 0, nil
}

// noteUploaded gives a value its memory on the device.
func (tr *transfers) noteUploaded(f *feed.Feed, m *store.Storage, buf *vulkan.Buffer) {
	m.Dev = buf
	f.Note()
	if len(m.Host) > memory.Large && m.Pins == 0 {
		m.FreeHost() // one copy of a large value is enough
	}
}

// readBack copies a value to the host, parking the queue meanwhile.
func (tr *transfers) readBack(q *Queue, m *store.Storage, t ops.Type) (wait queue.Wait, err error) {
	if tr.exec.Lost() != nil {
		return 0, tr.exec.Lost()
	}
	n := t.Bytes()
	m.Retain()
	tr.exec.Feed(q).Fetch(m, 0, n, false, func(data []byte, release func(), err error) {
		done := func(err error) {
			if data != nil {
				release()
			}
			if m.Checks.Err() == nil { // else the value says what is wrong with it
				q.failed = err
			}
			m.Drop()
			tr.exec.Resume(q)
		}
		if err != nil || m.Host != nil {
			done(err)
			return
		}
		if m.Dev != nil && m.Dev.Readable() { // the value is where the host reads it
			m.Host, m.Release, data = data, release, nil
			done(nil)
			return
		}
		tr.copyBack(m, data, done)
	})
	return queue.ForReadback, nil
}

// copyBack gives a value its copy on the host and then calls done, at once where the data
// are little.
func (tr *transfers) copyBack(m *store.Storage, data []byte, done func(error)) {
	to := &store.Storage{}
	if err := tr.exec.memory.Host.Fill(to, len(data)); err != nil {
		done(tr.exec.memory.HostError(err))
		return
	}
	if len(data) <= 4*placement.InlineCost {
		copy(to.Host, data)
		m.HostOf(to)
		done(nil)
		return
	}
	tr.exec.jobs.Aside(hostjob.WorkCopy, func(by *sched.Worker) error {
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

// Much data is copied into memory of the device, or into memory that the device copies
// from, apart from the goroutine of the Executor: a gigabyte takes a tenth of a second.

const (
	// uploadNow is how many bytes the goroutine of the Executor copies itself.
	uploadNow = 1 << 20
	// stagedPiece is how many bytes at a time go through memory that the device copies from.
	stagedPiece = 16 << 20
)

// uploadLiteral is a value on its way to the device.
type upload struct {
	queue   *Queue
	m       *store.Storage // held, and its copy on the host
	to      *vulkan.Buffer
	at      int // bytes that are there, or that the device is to copy
	cancels int // of the Executor when the first byte went
}

// uploadApart brings a value to the device. The queue waits.
func (tr *transfers) uploadApart(q *Queue, m *store.Storage, to *vulkan.Buffer) {
	m.Retain()
	m.Pins++
	u := &upload{queue: q, m: m, to: to, cancels: tr.exec.feeds.Cancels()}
	if host := to.Writable(); host != nil {
		tr.copyApart(q, host, m.Host, func(err error) { tr.endUpload(u, err) })
		return
	}
	tr.stage(u)
}

// copyApart copies bytes on the processors that sessions share, and then calls then.
func (tr *transfers) copyApart(q *Queue, to, from []byte, then func(error)) {
	tr.exec.jobs.AsideFor(q, hostjob.WorkCopy, func(by *sched.Worker) error {
		return sched.Caught(func() error {
			by.For(len(from), uploadNow, func(_ *sched.Worker, lo, hi int) { copy(to[lo:hi], from[lo:hi]) })
			return nil
		})
	}, func(err error) {
		if tr.exec.Lost() != nil {
			err = tr.exec.Lost()
		}
		then(err)
	})
}

// stage brings the next piece to the device by way of memory that the device copies from.
func (tr *transfers) stage(u *upload) {
	if u.cancels != tr.exec.feeds.Cancels() { // a deadline has taken back what was there
		u.at, u.cancels = 0, tr.exec.feeds.Cancels()
	}
	if u.at == len(u.m.Host) {
		tr.endUpload(u, nil)
		return
	}
	from := u.m.Host[u.at:]
	from = from[:min(stagedPiece, len(from))]
	piece, err := tr.exec.dev.AllocHost(len(from))
	if err != nil {
		tr.endUpload(u, tr.exec.DeviceError(err))
		return
	}
	tr.copyApart(u.queue, piece.Bytes(), from, func(err error) {
		defer piece.Free()
		if err != nil || u.queue.Session.Ended {
			tr.endUpload(u, err)
			return
		}
		f := tr.exec.Feed(u.queue)
		to := vulkan.Arg{Buffer: u.to, Offset: u.at, Access: vulkan.Write}
		if err := f.Stream().Copy(to, vulkan.ReadOnly(piece), len(from)); err != nil {
			tr.endUpload(u, tr.exec.DeviceError(err))
			return
		}
		f.Note()
		u.at += len(from)
		f.Flush() // the device copies while the host copies the next piece
		tr.stage(u)
	})
}

// endUpload ends an upload; the queue goes on.
func (tr *transfers) endUpload(u *upload, err error) {
	u.m.Pins--
	if err == nil && u.m.Dev == nil && !u.queue.Session.Ended {
		tr.noteUploaded(tr.exec.Feed(u.queue), u.m, u.to)
	} else {
		u.to.Free()
		u.queue.failed = err
	}
	u.m.Drop()
	tr.exec.Resume(u.queue)
}
