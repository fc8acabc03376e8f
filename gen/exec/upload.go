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

// uploadLiteral is a value on its way to the device.
type upload struct {
	queue   *Queue
	m       *store.Storage // held, and its copy on the host
	to      *vulkan.Buffer
	at      int // bytes that are there, or that the device is to copy
	cancels int // of the Executor when the first byte went
}

// uploadApart brings a value to the device. The queue waits.
func (tr *transfers) uploadApart(l *Queue, m *store.Storage, to *vulkan.Buffer) {
	m.Retain()
	m.Pins++
	u := &upload{queue: l, m: m, to: to, cancels: tr.exec.feeds.Cancels()}
	if host := to.Writable(); host != nil {
		tr.copyApart(u, host, m.Host, func(err error) { tr.endUpload(u, err) })
		return
	}
	tr.stage(u)
}

// copyApart copies bytes for an upload and then calls then.
func (tr *transfers) copyApart(u *upload, to, from []byte, then func(error)) {
	tr.exec.jobs.aside(u.queue, workCopy, func(by *sched.Worker) error {
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
	tr.copyApart(u, piece.Bytes(), from, func(err error) {
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
