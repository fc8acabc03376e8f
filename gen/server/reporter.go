package server

import (
	"cmp"
	"sync"
	"time"

	"ergo.services/ergo/gen"
	"github.com/prometheus/client_golang/prometheus"
)

// Reporter is what a device server publishes of itself, for reports and metrics.
// Who reads it does not depend on the server, which may be busy for long: the
// server publishes a snapshot when somebody asks, and otherwise at the end of a
// turn, once a publishInterval at most.
type Reporter struct {
	name                  gen.Atom
	calls, waits, submits prometheus.Histogram
	turns, runs           prometheus.Histogram // of submissions to the device

	mu     sync.Mutex
	latest *status       // nil before the first one
	fresh  chan struct{} // closed at the next publication
	asked  bool          // the server has been asked for that
	since  time.Duration // when it was asked first, without an answer yet; 0 where it was not
	at     time.Duration // of the latest publication
	box    *mailbox      // of the server; nil where it does not run
	take   func() status
}

const (
	// publishInterval is how old a snapshot may be that nobody has asked for.
	publishInterval = time.Second
	// Patience is how long who asks for a fresh snapshot waits for a server before
	// the latest one has to do.
	Patience = 500 * time.Millisecond
)

// NewReporter returns the reporter of the device server of that name.
func NewReporter(name gen.Atom) *Reporter {
	histogram := func(metric, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + metric, Help: help, ConstLabels: prometheus.Labels{"device": string(name)},
			Buckets: prometheus.ExponentialBuckets(20e-6, 4, 12), // 20 µs to 84 s
		})
	}
	return &Reporter{
		name:    name,
		fresh:   make(chan struct{}),
		calls:   histogram(callSeconds, "Time from the arrival of a call to its answer."),
		waits:   histogram(waitSeconds, "Time that messages waited for the device server."),
		submits: histogram(submitSeconds, "Time from submission to completion."),
		turns:   histogram(turnSeconds, "Time that submissions waited for their turn on the device."),
		runs:    histogram(runSeconds, "Time from the turn of a submission to its completion on the device."),
	}
}

// open begins the reports of a server that runs. take is called in its turns.
func (r *Reporter) open(box *mailbox, take func() status) {
	s := take()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.box, r.take, r.latest, r.at = box, take, &s, clock()
}

// close ends them: there is nothing left to report.
func (r *Reporter) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.box, r.latest = nil, nil
	close(r.fresh)
	r.fresh = make(chan struct{})
}

// publish takes a snapshot. Who asks while it is taken gets the next one.
func (r *Reporter) publish() {
	r.mu.Lock()
	readers := r.fresh
	r.fresh, r.asked = make(chan struct{}), false
	r.mu.Unlock()
	s := r.take()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.box != nil {
		r.latest, r.at = &s, clock()
	}
	if r.since = 0; r.asked { // while it was taken
		r.since = r.at
	}
	close(readers)
}

// turned publishes at the end of a turn, where the snapshot is old.
func (r *Reporter) turned() {
	if time.Duration(r.box.began.Load())-r.at > publishInterval {
		r.publish()
	}
}

// ended is what ask returns for a server that does not run.
var ended = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// ask has the server publish and returns what is closed when it has.
func (r *Reporter) ask() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.box == nil {
		return ended
	}
	if !r.asked {
		r.asked = true
		r.since = cmp.Or(r.since, clock())
		// Not by the caller, who would have to handle what others send as well.
		r.box.post(aside(r.publish))
	}
	return r.fresh
}

// read returns the latest snapshot with the state of this moment; false where the
// server does not run.
func (r *Reporter) read() (status, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.box == nil || r.latest == nil {
		return status{}, false
	}
	s := *r.latest
	s.Busy, s.Queued = r.occupied(), r.box.queued.Load()
	return s, true
}

// busy returns for how long the server has been busy with one message.
func (r *Reporter) busy() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.box == nil {
		return 0
	}
	return r.occupied()
}

// occupied is busy with the lock held: how long the message that is being handled has
// been, or a snapshot that was asked for, whichever is longer.
func (r *Reporter) occupied() time.Duration {
	busy := r.box.busy()
	if r.since != 0 {
		busy = max(busy, clock()-r.since)
	}
	return busy
}

// Reporters are those of all devices of a node, in order.
type Reporters []*Reporter

// statuses returns fresh snapshots of the servers that run, and the latest one of
// a server that has been busy with a message for all of patience.
func (all Reporters) statuses(patience time.Duration) []status {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	answers := make([]<-chan struct{}, len(all))
	for i, r := range all {
		answers[i] = r.ask()
	}
	late := false
	for i, r := range all {
		if late || r.busy() > patience {
			continue
		}
		select {
		case <-answers[i]:
		case <-timeout.C:
			late = true
		}
	}
	var list []status
	for _, r := range all {
		if s, ok := r.read(); ok {
			list = append(list, s)
		}
	}
	return list
}
