package report

import (
	"cmp"
	"sync"
	"time"

	"nxvk/gen/server/mailbox"

	"ergo.services/ergo/gen"
	"github.com/prometheus/client_golang/prometheus"
)

// Reporter publishes snapshots of a device server, for info and metrics. The server takes a
// snapshot when a reader asks, and after a message if the latest one is older than
// publishInterval. A reader waits for a busy server no longer than its patience and then gets
// the latest snapshot.
type Reporter struct {
	name                  gen.Atom
	calls, waits, submits prometheus.Histogram
	turns, runs           prometheus.Histogram // of submissions to the device

	mu     sync.Mutex
	latest *Snapshot        // nil before the first one
	fresh  chan struct{}    // closed when the next snapshot is published
	asked  bool             // a reader has asked for it
	since  time.Duration    // when the first unanswered reader asked; 0 without one
	at     time.Duration    // of the latest snapshot
	box    *mailbox.Mailbox // of the server; nil if it does not run
	take   func() Snapshot
}

const (
	// publishInterval is the age at which a snapshot is renewed without a reader.
	publishInterval = time.Second
	// Patience is the time that a reader waits for a fresh snapshot.
	Patience = 500 * time.Millisecond
)

// New returns the reporter of the device server of that name.
func New(name gen.Atom) *Reporter {
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
		waits:   histogram(waitSeconds, "Time that a message waits for the device server."),
		submits: histogram(submitSeconds, "Time from the submission of a batch to its completion."),
		turns:   histogram(turnSeconds, "Time that submissions waited for their turn on the device."),
		runs:    histogram(runSeconds, "Time from the turn of a submission to its completion on the device."),
	}
}

// ObserveCall notes the time from the arrival of a call to its answer.
func (r *Reporter) ObserveCall(t time.Duration) { r.calls.Observe(t.Seconds()) }

// ObserveWait notes how long a message waited for the server.
func (r *Reporter) ObserveWait(t time.Duration) { r.waits.Observe(t.Seconds()) }

// ObserveSubmission notes the time from the submission of a batch to its completion.
func (r *Reporter) ObserveSubmission(t time.Duration) { r.submits.Observe(t.Seconds()) }

// ObserveRun notes how long a submission waited for its turn on the device, and how long it ran.
func (r *Reporter) ObserveRun(waited, ran time.Duration) {
	r.turns.Observe(waited.Seconds())
	r.runs.Observe(ran.Seconds())
}

// Open starts the reports of a server. The mailbox of the server calls take.
func (r *Reporter) Open(box *mailbox.Mailbox, take func() Snapshot) {
	s := take()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.box, r.take, r.latest, r.at = box, take, &s, mailbox.Clock()
}

// Close ends the reports of a server.
func (r *Reporter) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.box, r.latest = nil, nil
	close(r.fresh)
	r.fresh = make(chan struct{})
}

// Publish takes a snapshot. A reader that asks meanwhile gets the next one.
func (r *Reporter) Publish() {
	r.mu.Lock()
	readers := r.fresh
	r.fresh, r.asked = make(chan struct{}), false
	r.mu.Unlock()
	s := r.take()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.box != nil {
		r.latest, r.at = &s, mailbox.Clock()
	}
	if r.since = 0; r.asked { // while the snapshot was taken
		r.since = r.at
	}
	close(readers)
}

// PublishIfOld publishes after a message if the latest snapshot is old.
func (r *Reporter) PublishIfOld() {
	if time.Duration(r.box.Began.Load())-r.at > publishInterval {
		r.Publish()
	}
}

// ended is a closed channel, for a server that does not run.
var ended = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// ask has the server publish. It returns a channel that is closed afterwards.
func (r *Reporter) ask() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.box == nil {
		return ended
	}
	if !r.asked {
		r.asked = true
		r.since = cmp.Or(r.since, mailbox.Clock())
		// The caller must not handle it, since it would handle messages of others, too.
		r.box.Post(mailbox.Uncounted(r.Publish))
	}
	return r.fresh
}

// Read returns the latest snapshot, with the current Busy and Queued. It reports false if the
// server does not run.
func (r *Reporter) Read() (Snapshot, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.box == nil || r.latest == nil {
		return Snapshot{}, false
	}
	s := *r.latest
	s.Busy, s.Queued = r.busyLocked(), r.box.Queued.Load()
	return s, true
}

// busy returns the time that the server has spent on its current message.
func (r *Reporter) busy() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.box == nil {
		return 0
	}
	return r.busyLocked()
}

// busyLocked is busy with the lock held: the time of the current message, or that of an
// unanswered reader if it is longer.
func (r *Reporter) busyLocked() time.Duration {
	busy := r.box.Busy()
	if r.since != 0 {
		busy = max(busy, mailbox.Clock()-r.since)
	}
	return busy
}

// Reporters are the reporters of all devices of a node, in order.
type Reporters []*Reporter

// Snapshots returns snapshots of the servers that run: fresh ones, or the latest one of a
// server that is busy for longer than patience.
func (all Reporters) Snapshots(patience time.Duration) []Snapshot {
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
	var list []Snapshot
	for _, r := range all {
		if s, ok := r.Read(); ok {
			list = append(list, s)
		}
	}
	return list
}
