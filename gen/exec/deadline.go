package exec

import (
	"fmt"
	"slices"
	"time"

	"nxvk/gen/exec/kernels"
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

// effort is what has a deadline as a whole although it may take several submissions: a
// run, or an instruction of many dispatches.
type effort struct {
	began time.Time // when the device came to it; zero before
}

// sent is a submission that has not completed.
type sent struct {
	ticket  vulkan.Ticket
	efforts []*effort
	since   time.Time // when the first of what it carries out began; zero while others are before it
	late    bool      // its deadline has passed
}

// progress is what the device has yet to complete of a session, in order.
type progress struct {
	sent    []sent
	efforts []*effort // with work in what has been recorded and not submitted
}

// works notes that what is recorded next is part of an effort; nil is an effort of its own.
func (p *progress) works(x *effort) {
	if x != nil && !slices.Contains(p.efforts, x) {
		p.efforts = append(p.efforts, x)
	}
}

// submit notes that what has been recorded is submitted.
func (p *progress) submit(t vulkan.Ticket, now time.Time) {
	p.sent = append(p.sent, sent{ticket: t, efforts: slices.Clone(p.efforts)})
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
	p.begin(now)
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

// effort is what the work of a queue is part of; nil is an instruction of few dispatches.
func (l *Queue) effort(p *kernels.Plan) *effort {
	switch {
	case l.run != nil && l.run.in != nil:
		return &l.run.effort
	case len(p.Steps) > 1:
		return &effort{}
	}
	return nil
}

// guard sees to it that somebody looks when the deadline of what the device does for a
// session passes.
func (e *Executor) guard(f *Feed) {
	if f.home == nil || f.guarded || len(f.progress.sent) == 0 || f.progress.sent[0].late {
		return
	}
	d := f.home.Session.Deadline
	if d <= 0 {
		return
	}
	f.guarded = true
	time.AfterFunc(time.Until(f.progress.sent[0].since.Add(d)), func() {
		e.cfg.Post(func() {
			f.guarded = false
			e.judgeProgress(f)
		})
	})
}

// judgeProgress ends what the device does for a session where its deadline has passed.
func (e *Executor) judgeProgress(f *Feed) {
	d := f.home.Session.Deadline
	if f.home.Session.Ended || len(f.progress.sent) == 0 || d <= 0 {
		return
	}
	first := &f.progress.sent[0]
	switch {
	case e.dev.Done(first.ticket): // its completion, which is on its way, goes on from there
		return
	case time.Since(first.since) < d:
		e.guard(f)
		return
	}
	first.late = true
	e.cancelFeed(f, &wire.Fault{Kind: wire.Deadline, Err: fmt.Errorf(
		"the device has been at work for longer than the deadline of the session, %v; raise that, or ask for less at a time", d)})
}

// cancelFeed takes back what a session has the device do. Its values that are not computed
// carry the error; so do runs that the device has come to.
func (e *Executor) cancelFeed(f *Feed, err error) {
	e.cancels++
	f.stream.Cancel(err)
	e.markLatest(f)
	f.recorded, f.cost = 0, 0
	f.progress.drop()
	e.open = slices.DeleteFunc(e.open, func(g *Feed) bool { return g == f })
	f.home.Session.Fail(func(m *store.Storage) bool {
		return m.Host == nil && m.Dev != nil && (m.Dev.Err() != nil || f.stream.Computes(m.Dev))
	}, err)
	for _, l := range append(slices.Clone(f.home.asyncs), f.home) {
		if r := l.run; r != nil && !r.effort.began.IsZero() {
			e.stop(l, r, err)
		}
	}
	reads := f.fetches
	f.fetches = nil
	for _, r := range reads {
		r.ended = true
		r.done(nil, nil, err)
	}
}

// refill sees to it that memory of the device has the content it should have: what was
// cancelled never came there. Where the host has the content, the device gets it again.
func (e *Executor) refill(m *store.Storage) error {
	if e.cancels == 0 || m.Dev == nil {
		return nil
	}
	err := m.Dev.Err()
	if err == nil || m.Host == nil {
		return err
	}
	m.Dev.Free()
	m.Dev = nil
	return nil
}

// boundRun has a run end at the deadline of its session.
func (e *Executor) boundRun(l *Queue, r *run) {
	if d := l.Session.Deadline; d > 0 {
		r.late = time.AfterFunc(d, func() {
			e.cfg.Post(func() {
				if l.run == r {
					e.stop(l, r, late(d))
				}
			})
		})
	}
}
