package exec

import (
	"fmt"
	"slices"
	"time"

	"nxvk/gen/exec/devcopy"
	"nxvk/gen/exec/exchange"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/vulkan"
)

// origin is what brings the value of an arrival: an import or a collective.
type origin interface {
	abort(err error) // the arrival ends without the value
	letGo()          // nobody waits for the value any more, whether it is there or not
}

// arrival is a value on its way from other devices, the request at the front of a queue: its memory here, what
// copies into that, and how it ends. The first error counts. Memory is held until nothing copies into it any more,
// although the session may have gone on by then.
type arrival struct {
	sharing *sharing
	queue   *Queue
	in      *wire.Instr
	what    string // what its origin is called in errors
	from    origin

	receiver *devcopy.Receiver // nil before there is memory for the value
	feed     *feed.Feed        // what the device does for it; nil where the host keeps the value
	rank     *exchange.Rank    // what this device does in a collective; nil elsewhere, or where a rank's values are on the host
	mem      *store.Storage    // of the value here, held
	copies   bool              // the device only copies it; kernels make nothing of it
	goesOn   bool              // the device gets it however small it is, so that a run goes on meanwhile
	copied   bool              // the receiver uses no memory any more
	future   *future           // nil unless a run goes on with the value before it is there

	err   error
	late  *time.Timer // ends it at the deadline of its session
	ended bool
}

// bound ends the arrival at the deadline of its session.
func (a *arrival) bound() {
	if d := a.queue.Session.Deadline; d > 0 {
		a.late = time.AfterFunc(d, func() { a.sharing.cfg.Post(func() { a.fail(wire.Late(d)) }) })
	}
}

// take takes memory for the value. Once that is there, or never will be, its queue goes on.
func (a *arrival) take(q *Queue) (wait queue.Wait, err error) {
	sh, t := a.sharing, a.in.Outs[0].Type
	if wait, err := sh.memory.Reserve(q, int64(t.Bytes())); wait != 0 || err != nil {
		return wait, err
	}
	target := devcopy.Target{}
	if sh.dev == nil || t.Size() <= sh.dispatcher.HostLimit && !a.goesOn { // small values stay on the host until a kernel wants them
		if a.mem, wait, err = sh.memory.OnHost(q, t.Bytes()); wait != 0 || err != nil {
			return wait, err
		}
		target.Host = a.mem.Host
	} else {
		if a.feed == nil {
			// a deadline of the session takes nothing back that others have sent
			if a.copies {
				a.feed = sh.feeds.CopyFeed(1)
			} else {
				a.feed = sh.feeds.Feed(nil, nil)
			}
			a.feed.SetWeight(q.Session.Weight)
		}
		buf, wait, err := sh.memory.OnDevice(q, t.Bytes())
		if wait != 0 || err != nil {
			return wait, err
		}
		a.mem = &store.Storage{Dev: buf}
		a.mem.Retain()
		target.Buffer, target.Device, target.Feed = buf, sh.dev, a.feed
	}
	q.Session.Charge(a.mem, int64(t.Bytes()))
	a.receiver = devcopy.NewReceiver(devcopy.Config{
		Copy: func(to, from []byte, then func(error)) { sh.transfers.CopyApart(q, to, from, then) },
		Post: sh.cfg.Post, Error: sh.feeds.Error, Done: a.done,
	}, target, t.Bytes())
	return 0, nil
}

// done notes that the value is there, or never will be.
func (a *arrival) done(err error) {
	a.copied = true
	if a.err == nil {
		a.err = err
	}
	if a.future != nil {
		a.future.end(a.err)
	}
	if a.ended {
		a.release()
		return
	}
	if err == nil { // another device, or this one, has just brought the rest
		a.sharing.queues.Resume(a.queue)
		return
	}
	a.sharing.cfg.Post(func() {
		if !a.ended {
			a.sharing.queues.Resume(a.queue)
		}
	})
}

// fail ends the arrival with an error, unless it has ended.
func (a *arrival) fail(err error) {
	if a.ended || a.copied || a.err != nil {
		return
	}
	a.err = err
	a.from.abort(err)
	if a.receiver != nil {
		a.receiver.Fail(err)
	}
}

// cancel ends the arrival because its session does not want it any more.
func (a *arrival) cancel() {
	a.fail(&wire.Fault{Kind: wire.Cancelled, Err: fmt.Errorf("the %s was cancelled", a.what)})
	if a.receiver == nil {
		a.sharing.queues.Resume(a.queue)
	}
}

// drop ends the arrival, and nobody goes on with it.
func (a *arrival) drop(err error) {
	a.fail(err)
	a.end()
}

// end lets go of what the arrival holds, once nothing uses it.
func (a *arrival) end() {
	a.ended = true
	a.queue.incoming = nil
	if a.late != nil {
		a.late.Stop()
	}
	a.from.letGo()
	if a.receiver == nil || a.copied {
		a.release()
	}
}

// leaving reports whether a value of the session is on its way from another device of the node, and has been freed, or a run has a future of it: memory
// is let go when it arrives.
func leaving(q *Queue) bool {
	home := q.home()
	return slices.ContainsFunc(home.asyncs, func(f *Queue) bool {
		a := f.incoming
		switch {
		case f == q || a == nil || a.receiver == nil:
			return false
		case a.future != nil:
			return true
		case a.in.Shared == nil || a.in.Shared.Node != "":
			return false
		}
		return home.pending[a.in.Outs[0].ID] != f
	})
}

// release lets go of the memory, and of what the device does for it. The session holds that of a value that it has.
func (a *arrival) release() {
	if a.mem != nil {
		a.mem.Drop()
		a.mem = nil
		a.sharing.cfg.Post(a.sharing.memory.Retry) // some may wait for it; see leaving
	}
	if a.feed != nil {
		a.feed.End()
		a.feed = nil
	}
	if a.rank != nil {
		a.rank.End()
		a.rank = nil
	}
}

// allocFeed returns the feed whose memory a queue takes.
func (sh *sharing) allocFeed(q *Queue) *feed.Feed {
	if a := q.incoming; a != nil && a.feed != nil {
		return a.feed
	}
	return sh.feed(q)
}

// A run goes on with the result of a collective before that is there. The device has memory for it, and waits for the
// ranks by itself: what it is given meanwhile, of this run and of those behind it, waits for its turn until all has been submitted
// that writes the result (vulkan.Promise). So the host records a step of training while the gradients of the one before are
// summed. If the collective fails, all that is computed from its result carries the error, like that of a check.
//
// The run gets the result no sooner than all ranks have entered the collective. Then the device has been given what makes the
// operands, ahead of anything that waits for the result: ranks do not wait for each other, in whatever order they have their runs.

// future is a result that a run has before it is there.
type future struct {
	promise *vulkan.Promise
	check   *store.Check // that what is computed from it carries
}

// goAhead gives the run the result, so that it does not wait for that. It reports false where the run has to wait: for other ranks,
// for a result that the host gets, or because the result, or an error, is there.
func (x *collective) goAhead() bool {
	if !x.met || x.feed == nil || x.copied || x.err != nil || x.ended {
		return false
	}
	x.sharing.feed(x.owner).Flush()
	writers := []*vulkan.Stream{x.feed.Stream()}
	if x.rank != nil {
		writers = append(writers, x.rank.Streams()...)
	}
	x.future = &future{x.mem.Dev.Promise(writers...), &store.Check{}}
	x.mem.Checks = x.mem.Checks.With(store.Checks{x.future.check})
	x.sharing.counters.Futures++
	id := x.in.Outs[0].ID
	delete(x.run.coming, id)
	x.run.set(id, x.value())
	x.bound() // the deadline of the session, which the run may not live to see
	return true
}

// end says that the result is there, or never will be.
func (f *future) end(err error) {
	f.promise.Keep()
	f.check.Settle(err)
}
