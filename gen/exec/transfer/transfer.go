package transfer

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

// Config is what Transfers work with, for queues of type Q.
type Config[Q any] struct {
	Device *vulkan.Device // nil is the host alone
	Memory *memory.Manager[Q]
	Feeds  *feed.Feeds
	Jobs   *hostjob.Jobs[Q]

	Session func(Q) *store.Session
	Feed    func(Q) *feed.Feed // nil for the host alone
	Resume  func(Q, error)     // goes on with a queue that has waited; the error is why its operand did not come
}

// Transfers bring values to the device and back. The methods are for the goroutine of the Executor.
type Transfers[Q any] struct{ cfg Config[Q] }

// New returns Transfers.
func New[Q any](cfg Config[Q]) *Transfers[Q] { return &Transfers[Q]{cfg} }

// Literal makes the bytes of a literal the memory of a value, held once. Small ones stay on the host
// until a kernel wants them.
func (tr *Transfers[Q]) Literal(q Q, lit *ops.Literal) (m *store.Storage, wait queue.Wait, err error) {
	if wait, err := tr.cfg.Memory.Reserve(q, int64(len(lit.Data))); wait != 0 || err != nil {
		return nil, wait, err
	}
	m = &store.Storage{}
	m.Retain()
	if wait, err := tr.receive(q, m, lit); wait != 0 || err != nil {
		m.Drop()
		return nil, wait, err
	}
	return m, 0, nil
}

// receive makes the data of a literal the memory of a value. On a device, large data that went to the host
// moves on; where the host is the device it has to fit its limit.
func (tr *Transfers[Q]) receive(q Q, m *store.Storage, lit *ops.Literal) (wait queue.Wait, err error) {
	b, ok := lit.Hold.(*etf.Binary)
	if !ok {
		if err := m.Take(tr.cfg.Memory.Host.Budget, int64(len(lit.Data))); err != nil {
			return tr.cfg.Memory.HostExhausted(q, err)
		}
		m.Host = lit.Data
		return 0, nil
	}
	if tr.cfg.Device == nil && tr.cfg.Memory.Host.Over() {
		return tr.cfg.Memory.HostExhausted(q, tr.cfg.Memory.Host.Exhausted(int64(b.Len())))
	}
	if err := tr.adopt(m, b); err != nil {
		return tr.cfg.Memory.HostExhausted(q, err)
	}
	return 0, nil
}

// adopt makes a received binary the memory of a value. One that others still
// hold is copied.
func (tr *Transfers[Q]) adopt(m *store.Storage, b *etf.Binary) error {
	block, n := b.Take()
	if block == nil {
		if err := tr.cfg.Memory.Host.Fill(m, b.Len()); err != nil {
			return err
		}
		copy(m.Host, b.Bytes())
		return nil
	}
	if db, ok := block.(memory.DeviceBlock); ok {
		if buf, ok := db.Buffer(tr.cfg.Device); ok {
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

// ToDevice sees to it that memory is on the device.
func (tr *Transfers[Q]) ToDevice(q Q, m *store.Storage) (wait queue.Wait, err error) {
	if err := tr.cfg.Feeds.Refill(m); err != nil || m.Dev != nil {
		return 0, err
	}
	buf, wait, err := tr.cfg.Memory.OnDevice(q, len(m.Host))
	if wait != 0 || err != nil {
		return wait, err
	}
	if len(m.Host) > Now {
		tr.uploadApart(q, m, buf)
		return queue.ForUpload, nil
	}
	f := tr.cfg.Feed(q)
	if err := f.Stream().Upload(buf, 0, m.Host); err != nil {
		buf.Free()
		return 0, tr.cfg.Feeds.Error(err)
	}
	tr.noteUploaded(f, m, buf)
	return 0, nil
}

// noteUploaded gives a value its memory on the device.
func (tr *Transfers[Q]) noteUploaded(f *feed.Feed, m *store.Storage, buf *vulkan.Buffer) {
	m.Dev = buf
	f.Note()
	if len(m.Host) > memory.Large && m.Pins == 0 {
		m.FreeHost() // one copy of a large value is enough
	}
}

// ReadBack copies a value to the host, parking the queue meanwhile.
func (tr *Transfers[Q]) ReadBack(q Q, m *store.Storage, t ops.Type) (wait queue.Wait, err error) {
	if tr.cfg.Feeds.Lost() != nil {
		return 0, tr.cfg.Feeds.Lost()
	}
	n := t.Bytes()
	m.Retain()
	tr.cfg.Feed(q).Fetch(m, 0, n, false, func(data []byte, release func(), err error) {
		done := func(err error) {
			if data != nil {
				release()
			}
			if m.Checks.Err() != nil { // the value says what is wrong with it
				err = nil
			}
			m.Drop()
			tr.cfg.Resume(q, err)
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
func (tr *Transfers[Q]) copyBack(m *store.Storage, data []byte, done func(error)) {
	to := &store.Storage{}
	if err := tr.cfg.Memory.Host.Fill(to, len(data)); err != nil {
		done(tr.cfg.Memory.HostError(err))
		return
	}
	if len(data) <= 4*placement.InlineCost {
		copy(to.Host, data)
		m.HostOf(to)
		done(nil)
		return
	}
	tr.cfg.Jobs.Aside(hostjob.WorkCopy, func(by *sched.Worker) error {
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
	Now = 1 << 20
	// PieceBytes is how many bytes at a time go through memory that the device copies from.
	PieceBytes = 16 << 20
)

// upload is a value on its way to the device.
type upload[Q any] struct {
	queue   Q
	m       *store.Storage // held, and its copy on the host
	to      *vulkan.Buffer
	at      int // bytes that are there, or that the device is to copy
	cancels int // of the Executor when the first byte went
}

// uploadApart brings a value to the device. The queue waits.
func (tr *Transfers[Q]) uploadApart(q Q, m *store.Storage, to *vulkan.Buffer) {
	m.Retain()
	m.Pins++
	u := &upload[Q]{queue: q, m: m, to: to, cancels: tr.cfg.Feeds.Cancels()}
	if host := to.Writable(); host != nil {
		tr.CopyApart(q, host, m.Host, func(err error) { tr.endUpload(u, err) })
		return
	}
	tr.stage(u)
}

// CopyApart copies bytes on the processors that sessions share, and then calls then.
func (tr *Transfers[Q]) CopyApart(q Q, to, from []byte, then func(error)) {
	tr.cfg.Jobs.AsideFor(q, hostjob.WorkCopy, func(by *sched.Worker) error {
		return sched.Caught(func() error {
			by.For(len(from), Now, func(_ *sched.Worker, lo, hi int) { copy(to[lo:hi], from[lo:hi]) })
			return nil
		})
	}, func(err error) {
		if tr.cfg.Feeds.Lost() != nil {
			err = tr.cfg.Feeds.Lost()
		}
		then(err)
	})
}

// stage brings the next piece to the device by way of memory that the device copies from.
func (tr *Transfers[Q]) stage(u *upload[Q]) {
	if u.cancels != tr.cfg.Feeds.Cancels() { // a deadline has taken back what was there
		u.at, u.cancels = 0, tr.cfg.Feeds.Cancels()
	}
	if u.at == len(u.m.Host) {
		tr.endUpload(u, nil)
		return
	}
	from := u.m.Host[u.at:]
	from = from[:min(PieceBytes, len(from))]
	piece, err := tr.cfg.Device.AllocHost(len(from))
	if err != nil {
		tr.endUpload(u, tr.cfg.Feeds.Error(err))
		return
	}
	tr.CopyApart(u.queue, piece.Bytes(), from, func(err error) {
		defer piece.Free()
		if err != nil || tr.cfg.Session(u.queue).Ended {
			tr.endUpload(u, err)
			return
		}
		f := tr.cfg.Feed(u.queue)
		to := vulkan.Arg{Buffer: u.to, Offset: u.at, Access: vulkan.Write}
		if err := f.Stream().Copy(to, vulkan.ReadOnly(piece), len(from)); err != nil {
			tr.endUpload(u, tr.cfg.Feeds.Error(err))
			return
		}
		f.Note()
		u.at += len(from)
		f.Flush() // the device copies while the host copies the next piece
		tr.stage(u)
	})
}

// endUpload ends an upload; the queue goes on.
func (tr *Transfers[Q]) endUpload(u *upload[Q], err error) {
	u.m.Pins--
	if err == nil && u.m.Dev == nil && !tr.cfg.Session(u.queue).Ended {
		tr.noteUploaded(tr.cfg.Feed(u.queue), u.m, u.to)
	} else {
		u.to.Free()
	}
	u.m.Drop()
	tr.cfg.Resume(u.queue, err)
}
