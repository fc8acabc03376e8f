package exec

import (
	"nxvk/gen/exec/devcopy"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// incoming is the request at the front of a queue whose result comes from other devices.
type incoming interface {
	of() *wire.Instr
	arriving() *arrival
	cancel()    // its session does not want it any more
	drop(error) // nobody goes on with it
}

// arrival is a value on its way from other devices: its memory here, and what copies into that.
type arrival struct {
	receiver *devcopy.Receiver // nil before there is memory for the value
	feed     *feed.Feed        // what the device does for it; nil where the host keeps the value
	mem      *store.Storage    // of the value here, held
	copies   bool              // the device only copies it; kernels make nothing of it
	copied   bool              // the receiver uses no memory any more
}

// take takes memory for a value of a type. done is called once the value is there, or never will be.
func (a *arrival) take(e *Executor, q *Queue, t ops.Type, done func(error)) (wait queue.Wait, err error) {
	if wait, err := e.memory.Reserve(q, int64(t.Bytes())); wait != 0 || err != nil {
		return wait, err
	}
	target := devcopy.Target{}
	if e.dev == nil || t.Size() <= e.dispatcher.HostLimit { // small values stay on the host until a kernel wants them
		if a.mem, wait, err = e.memory.OnHost(q, t.Bytes()); wait != 0 || err != nil {
			return wait, err
		}
		target.Host = a.mem.Host
	} else {
		if a.feed == nil {
			// a deadline of the session takes nothing back that others have sent
			if a.copies {
				a.feed = e.feeds.CopyFeed(1)
			} else {
				a.feed = e.feeds.Feed(nil, nil)
			}
			a.feed.SetWeight(q.Session.Weight)
		}
		buf, wait, err := e.memory.OnDevice(q, t.Bytes())
		if wait != 0 || err != nil {
			return wait, err
		}
		a.mem = &store.Storage{Dev: buf}
		a.mem.Retain()
		target.Buffer, target.Device, target.Feed = buf, e.dev, a.feed
	}
	q.Session.Charge(a.mem, int64(t.Bytes()))
	a.receiver = devcopy.NewReceiver(devcopy.Config{
		Copy: func(to, from []byte, then func(error)) { e.transfers.CopyApart(q, to, from, then) },
		Post: e.cfg.Post, Error: e.DeviceError, Done: done,
	}, target, t.Bytes())
	return 0, nil
}

// release lets go of the memory. The session holds that of a value that it has.
func (a *arrival) release() {
	if a.mem != nil {
		a.mem.Drop()
		a.mem = nil
	}
	if a.feed != nil {
		a.feed.End()
		a.feed = nil
	}
}

// allocFeed returns the feed whose memory a queue takes.
func (e *Executor) allocFeed(q *Queue) *feed.Feed {
	if q.incoming != nil {
		if a := q.incoming.arriving(); a.feed != nil {
			return a.feed
		}
	}
	return e.Feed(q)
}
