package feed

import (
	"fmt"
	"slices"
	"time"

	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/vulkan"
)

// The deadline of a session also bounds what the device does for it. The clock of an
// instruction, or of a run, begins when the device has come to it: when the submission
// before its first one has completed. When the deadline passes, the session's stream is
// cancelled. So all that the device has not computed by then, and nobody else needs,
// carries the error of the deadline, also what the session had submitted behind it; what
// comes later is computed. A dispatch that runs already cannot be stopped, but nobody
// waits for it.

// Effort is what has a deadline as a whole although it may take several submissions: a
// run, or an instruction of many dispatches.
type Effort struct {
	began time.Time // when the device came to it; zero before
}

// Began reports whether the device has come to it.
func (x *Effort) Began() bool { return !x.began.IsZero() }

// Works notes that what is recorded next is part of an effort; nil is an effort of its own.
func (f *Feed) Works(x *Effort) { f.progress.works(x) }

// sent is a submission that has not completed.
type sent struct {
	ticket     vulkan.Ticket
	dispatches int
	cost       float64 // seconds, as estimated
	efforts    []*Effort
	since      time.Time // when the first of what it carries out began; zero while others are before it
	late       bool      // its deadline has passed
}

// progress is what the device has yet to complete of a session, in order.
type progress struct {
	sent       []sent
	dispatches int       // of all of these
	cost       float64   // likewise
	efforts    []*Effort // with work in what has been recorded and not submitted
}

// works notes that what is recorded next is part of an effort; nil is an effort of its own.
func (p *progress) works(x *Effort) {
	if x != nil && !slices.Contains(p.efforts, x) {
		p.efforts = append(p.efforts, x)
	}
}

// submit notes that what has been recorded is submitted, so many dispatches.
func (p *progress) submit(t vulkan.Ticket, dispatches int, cost float64, now time.Time) {
	p.sent = append(p.sent, sent{ticket: t, dispatches: dispatches, cost: cost, efforts: slices.Clone(p.efforts)})
	p.count()
	p.drop()
	p.begin(now)
}

// drop forgets what has been recorded.
func (p *progress) drop() {
	clear(p.efforts)
	p.efforts = p.efforts[:0]
}

// complete notes the end of a submission.
func (p *progress) complete(t vulkan.Ticket, now time.Time) {
	p.sent = slices.DeleteFunc(p.sent, func(s sent) bool { return s.ticket == t })
	p.count()
	p.begin(now)
}

// count adds up what has not completed.
func (p *progress) count() {
	p.dispatches, p.cost = 0, 0
	for i := range p.sent {
		p.dispatches += p.sent[i].dispatches
		p.cost += p.sent[i].cost
	}
}

// begin starts the clocks of what the device has come to.
func (p *progress) begin(now time.Time) {
	if len(p.sent) == 0 || !p.sent[0].since.IsZero() {
		return
	}
	s := &p.sent[0]
	s.since = now
	for _, x := range s.efforts {
		if x.began.IsZero() {
			x.began = now
		} else if x.began.Before(s.since) {
			s.since = x.began
		}
	}
}

// Guard sees to it that somebody looks when the deadline of what the device does for a
// session passes.
func (f *Feed) Guard() {
	if f.session == nil || f.guarded || len(f.progress.sent) == 0 || f.progress.sent[0].late {
		return
	}
	d := f.session.Deadline
	if d <= 0 {
		return
	}
	f.guarded = true
	time.AfterFunc(time.Until(f.progress.sent[0].since.Add(d)), func() {
		f.feeds.cfg.Post(func() {
			f.guarded = false
			f.judge()
		})
	})
}

// judge ends what the device does for a session where its deadline has passed.
func (f *Feed) judge() {
	d := f.session.Deadline
	if f.session.Ended || len(f.progress.sent) == 0 || d <= 0 {
		return
	}
	first := &f.progress.sent[0]
	switch {
	case f.feeds.dev.Done(first.ticket): // its completion, which is on its way, goes on from there
		return
	case time.Since(first.since) < d:
		f.Guard()
		return
	}
	first.late = true
	f.Cancel(&wire.Fault{Kind: wire.Deadline, Err: fmt.Errorf(
		"the device has been at work for longer than the deadline of the session, %v; raise that, or ask for less at a time", d)})
}

// Cancel takes back what a session has the device do. Its values that are not computed
// carry the error; so do runs that the device has come to.
func (f *Feed) Cancel(err error) {
	fs := f.feeds
	fs.cancels++
	f.stream.Cancel(err)
	f.markLatest()
	f.recorded, f.cost = 0, 0
	f.progress.drop()
	f.endObservers()
	fs.open = slices.DeleteFunc(fs.open, func(g *Feed) bool { return g == f })
	f.session.Fail(func(m *store.Storage) bool {
		return m.Host == nil && m.Dev != nil && (m.Dev.Err() != nil || f.stream.Computes(m.Dev))
	}, err)
	f.late(err)
	reads := f.fetches
	f.fetches = nil
	for _, r := range reads {
		r.ended = true
		r.done(nil, nil, err)
	}
}
