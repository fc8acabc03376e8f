package feed

import (
	"errors"
	"slices"
	"time"

	"nxvk/gen/wire"
	"nxvk/vulkan"
)

// Flush submits what has gathered of a session.
func (f *Feed) Flush() {
	if f.recorded == 0 {
		return
	}
	if _, err := f.Submit(); err != nil {
		f.feeds.cfg.Log.Error().Err(err).Msg("the device did not take work that was submitted; the results of the work carry the error")
	}
}

// Submit gives the device everything a session has recorded so far, and watches for its
// end. With nothing recorded the ticket is that of its latest submission.
func (f *Feed) Submit() (vulkan.Ticket, error) {
	ticket, sent, err := f.send()
	if sent {
		f.watch(ticket)
	}
	return ticket, err
}

// send is Submit without the watch, which is due where it reports sent.
func (f *Feed) send() (ticket vulkan.Ticket, sent bool, err error) {
	fs := f.feeds
	sent = f.stream.Pending() > 0
	ticket, err = f.stream.Submit()
	f.supplied(time.Now())
	dispatches, cost := f.recorded, f.cost
	f.recorded, f.cost, f.begins = 0, 0, true
	fs.open = slices.DeleteFunc(fs.open, func(g *Feed) bool { return g.recorded == 0 })
	if err != nil {
		return ticket, false, fs.Error(err)
	}
	if f.mark(ticket) && !sent { // the stream has submitted by itself
		fs.dev.Notify(ticket, func(error) { fs.cfg.Post(fs.SettleChecks) })
	}
	if sent {
		fs.cfg.Counters.Submits++
		fs.inFlight++
		f.inFlight++
		f.latest = time.Now()
		fs.departed[ticket] = f.latest
		f.progress.submit(ticket, dispatches, cost, f.latest)
		f.observe(ticket)
		f.Guard()
	}
	return ticket, sent, nil
}

// supplied notes that the device gets what has been recorded.
func (f *Feed) supplied(now time.Time) {
	if f.inFlight == 0 || f.until.Before(now) {
		f.until = now
	}
	f.until = f.until.Add(time.Duration(f.cost * float64(time.Second)))
}

// watch has completed called at the end of a submission.
func (f *Feed) watch(ticket vulkan.Ticket) {
	fs, started := f.feeds, time.Now()
	fs.dev.Notify(ticket, func(err error) {
		fs.cfg.Post(func() {
			f.completed(ticket)
			if err != nil && !errors.Is(err, vulkan.ErrDiscarded) && wire.KindOf(err) != wire.Deadline {
				fs.cfg.Log.Error().Err(fs.Error(err)).Dur("after", time.Since(started)).Msg("work of the device failed; its results carry the error")
			}
		})
	})
}

// completed notes the end of a submission: what has gathered goes to a device
// that would be idle, and queues that waited for it go on.
func (f *Feed) completed(ticket vulkan.Ticket) {
	f.feeds.inFlight--
	f.feeds.arrive(ticket)
	f.feeds.SettleChecks()
	if f.inFlight--; f.inFlight == 0 {
		f.until = time.Time{} // whatever the estimates say
	}
	f.latest = time.Now()
	f.progress.complete(ticket, f.latest)
	f.Guard()
	f.Bound()
	waiting := f.throttled
	f.throttled = nil
	for _, resume := range waiting {
		resume()
	}
}

// arrive notes the end of a submission and tells how long it took.
func (fs *Feeds) arrive(t vulkan.Ticket) {
	at, ok := fs.departed[t]
	if !ok {
		return
	}
	delete(fs.departed, t)
	if fs.cfg.Completed != nil {
		fs.cfg.Completed(time.Since(at))
	}
}

// Finish calls done when the device has done what a session has given it, or that was
// taken back: what is wrong with values, they say themselves.
func (f *Feed) Finish(done func(error)) {
	fs := f.feeds
	ticket, err := f.Submit()
	if err != nil {
		done(fs.Error(err))
		return
	}
	if fs.dev.Done(ticket) {
		done(fs.Error(fs.dev.Lost()))
		return
	}
	fs.dev.Notify(ticket, func(err error) {
		if wire.KindOf(err) == wire.Deadline {
			err = nil
		}
		fs.cfg.Post(func() { done(fs.Error(err)) })
	})
}
