package exec

import (
	"nxvk/fallback/sched"
	"nxvk/gen/store"
	"nxvk/vulkan"
)

// Much data is copied into memory of the device, or into memory that the device copies
// from, apart from the goroutine of the Executor: a gigabyte takes a tenth of a second.

const (
	// uploadNow is how many bytes the goroutine of the Executor copies itself.
	uploadNow = 1 << 20
	// stagedPiece is how many bytes at a time go through memory that the device copies from.
	stagedPiece = 16 << 20
)

// upload is a value on its way to the device.
type upload struct {
	queue   *Queue
	m       *store.Storage // held, and its copy on the host
	to      *vulkan.Buffer
	at      int // bytes that are there, or that the device is to copy
	cancels int // of the Executor when the first byte went
}

// uploadApart brings a value to the device. The queue waits.
func (e *Executor) uploadApart(l *Queue, m *store.Storage, to *vulkan.Buffer) {
	m.Retain()
	m.Pins++
	u := &upload{queue: l, m: m, to: to, cancels: e.feeds.Cancels()}
	if host := to.Writable(); host != nil {
		e.copyApart(u, host, m.Host, func(err error) { e.endUpload(u, err) })
		return
	}
	e.stage(u)
}

// copyApart copies bytes for an upload and then calls then.
func (e *Executor) copyApart(u *upload, to, from []byte, then func(error)) {
	e.Aside(u.queue, workCopy, func(by *sched.Worker) error {
		return sched.Caught(func() error {
			by.For(len(from), uploadNow, func(_ *sched.Worker, lo, hi int) { copy(to[lo:hi], from[lo:hi]) })
			return nil
		})
	}, func(err error) {
		if e.Lost() != nil {
			err = e.Lost()
		}
		then(err)
	})
}

// stage brings the next piece to the device by way of memory that the device copies from.
func (e *Executor) stage(u *upload) {
	if u.cancels != e.feeds.Cancels() { // a deadline has taken back what was there
		u.at, u.cancels = 0, e.feeds.Cancels()
	}
	if u.at == len(u.m.Host) {
		e.endUpload(u, nil)
		return
	}
	from := u.m.Host[u.at:]
	from = from[:min(stagedPiece, len(from))]
	piece, err := e.dev.AllocHost(len(from))
	if err != nil {
		e.endUpload(u, e.DeviceError(err))
		return
	}
	e.copyApart(u, piece.Bytes(), from, func(err error) {
		defer piece.Free()
		if err != nil || u.queue.Session.Ended {
			e.endUpload(u, err)
			return
		}
		f := e.Feed(u.queue)
		to := vulkan.Arg{Buffer: u.to, Offset: u.at, Access: vulkan.Write}
		if err := f.Stream().Copy(to, vulkan.ReadOnly(piece), len(from)); err != nil {
			e.endUpload(u, e.DeviceError(err))
			return
		}
		f.Note()
		u.at += len(from)
		f.Flush() // the device copies while the host copies the next piece
		e.stage(u)
	})
}

// endUpload ends an upload; the queue goes on.
func (e *Executor) endUpload(u *upload, err error) {
	u.m.Pins--
	if err == nil && u.m.Dev == nil && !u.queue.Session.Ended {
		e.uploaded(e.Feed(u.queue), u.m, u.to)
	} else {
		u.to.Free()
		u.queue.failed = err
	}
	u.m.Drop()
	e.Resume(u.queue)
}
