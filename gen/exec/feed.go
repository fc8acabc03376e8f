package exec

import (
	"errors"
	"slices"
	"time"

	"nxvk/gen/wire"
	"nxvk/vulkan"
)

// Feed is the work of a session for the device: its stream, and how much of it there is. So
// nobody's work is in front of what another session submits, and the streams take turns
// on the device.
type Feed struct {
	exec      *Executor
	stream    *vulkan.Stream
	recorded  int      // dispatches since the last submission
	cost      float64  // seconds of device time since the last submission
	inFlight  int      // submissions that have not completed
	count     int      // dispatches so far
	seen      int      // of these when the clock looked last
	throttled []*Queue // queues that wait for the device to catch up

	home     *Queue     // of the session; nil for what no session asks for
	progress progress   // what the device has yet to complete, see deadline.go
	guarded  bool       // somebody will look whether the deadline has passed
	fetches  []*fetched // what is being read
	words    words
	checks   []*check // not settled, in the order of recording
	ended    bool     // the session has ended
}

// Feed returns the feed of the session of a queue.
func (e *Executor) Feed(l *Queue) *Feed {
	h := l.home()
	if h.feed == nil && e.dev != nil {
		h.feed = e.newFeed()
		h.feed.home = h
		h.feed.stream.SetWeight(h.Session.Weight)
	}
	return h.feed
}

func (e *Executor) newFeed() *Feed { return &Feed{exec: e, stream: e.dev.Stream()} }

// note counts what is recorded for a submission.
func (e *Executor) note(f *Feed) {
	if f.recorded == 0 {
		e.open = append(e.open, f)
	}
	f.recorded++
	f.count++
}

// end takes back what a session has recorded, and what it has submitted and the device
// does not have yet, but for what others need of it.
func (f *Feed) end() {
	f.recorded, f.cost, f.progress = 0, 0, progress{}
	f.stream.Close()
	f.ended = true
	if len(f.checks) == 0 {
		f.words.drop()
		return
	}
	f.exec.markLatest(f) // others may hold results
	f.exec.settleChecks()
}

// allocNow takes memory for what cannot be tried again: it waits for what the device is
// about to leave.
func (e *Executor) allocNow(f *Feed, n int) (*vulkan.Buffer, error) {
	b, err := f.stream.Alloc(n)
	if errors.Is(err, vulkan.ErrBusy) {
		e.Flush()
		return e.dev.Alloc(n)
	}
	return b, err
}

// bound submits when enough has gathered: soon while the device has little to
// do, since it should find the next batch when it ends one.
func (e *Executor) bound(f *Feed) {
	most := batchBusy
	if f.inFlight < shallow {
		most = batchIdle
	}
	if f.inFlight < deep && f.full(most) {
		e.flush(f)
	}
}

// full reports whether what has gathered is worth a submission.
func (f *Feed) full(most int) bool { return f.recorded >= most || f.cost >= batchTime }

// Flush submits what has gathered.
func (e *Executor) Flush() {
	for _, f := range slices.Clone(e.open) {
		e.flush(f)
	}
}

// flush submits what has gathered of a session.
func (e *Executor) flush(f *Feed) {
	if f.recorded == 0 {
		return
	}
	if _, err := e.submit(f); err != nil {
		e.cfg.Log.Error().Err(err).Msg("submit")
	}
}

// submit gives the device everything a session has recorded so far, and watches for its
// end. With nothing recorded the ticket is that of its latest submission.
func (e *Executor) submit(f *Feed) (vulkan.Ticket, error) {
	ticket, sent, err := e.send(f)
	if sent {
		e.watch(f, ticket)
	}
	return ticket, err
}

// send is submit without the watch, which is due where it reports sent.
func (e *Executor) send(f *Feed) (ticket vulkan.Ticket, sent bool, err error) {
	sent = f.stream.Pending() > 0
	ticket, err = f.stream.Submit()
	f.recorded, f.cost = 0, 0
	e.open = slices.DeleteFunc(e.open, func(g *Feed) bool { return g.recorded == 0 })
	if err != nil {
		return ticket, false, e.DeviceError(err)
	}
	if f.mark(ticket) && !sent { // the stream has submitted by itself
		e.dev.Notify(ticket, func(error) { e.cfg.Post(e.settleChecks) })
	}
	if sent {
		e.Counters.Submits++
		e.inFlight++
		f.inFlight++
		e.depart(ticket)
		f.progress.submit(ticket, time.Now())
		e.guard(f)
	}
	return ticket, sent, nil
}

// watch has completed called at the end of a submission.
func (e *Executor) watch(f *Feed, ticket vulkan.Ticket) {
	started := time.Now()
	e.dev.Notify(ticket, func(err error) {
		e.cfg.Post(func() {
			e.completed(f, ticket)
			if err != nil && !errors.Is(err, vulkan.ErrDiscarded) && wire.KindOf(err) != wire.Deadline {
				e.cfg.Log.Error().Err(e.DeviceError(err)).Dur("after", time.Since(started)).Msg("device")
			}
		})
	})
}

// completed notes the end of a submission: what has gathered goes to a device
// that would be idle, and queues that waited for it go on.
func (e *Executor) completed(f *Feed, ticket vulkan.Ticket) {
	e.inFlight--
	e.arrive(ticket)
	e.settleChecks()
	f.inFlight--
	f.progress.complete(ticket, time.Now())
	e.guard(f)
	if f.inFlight == 0 {
		e.flush(f)
	}
	e.bound(f)
	waiting := f.throttled
	f.throttled = nil
	for _, l := range waiting {
		e.Resume(l)
	}
}
