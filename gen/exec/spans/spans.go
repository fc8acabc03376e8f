package spans

import (
	"slices"
	"time"

	"nxvk/gen/exec/feed"
	"nxvk/gen/store"
	"nxvk/gen/wire"
)

// maxCompiles is how many waits for kernels an observation tells apart; more count as one with the
// last.
const maxCompiles = 32

// Span is a part of the time of a run or a read.
type Span struct {
	Name  string // queue, compile, execute or transfer
	Place string // of execute: device or host
	feed.Interval
}

// Report says where the time of a run or a read went.
type Report struct {
	Name   string // run or download
	Parent string // the trace context of the client
	Key    string // of the program of a run
	Err    error  // that ended it
	feed.Interval
	Parts []Span
}

// Observer observes requests of queues, of type Q.
type Observer[Q any] struct {
	Tell    func(*store.Session, Report) // gets the reports; nil where nobody asks
	Session func(Q) *store.Session
	Feed    func(Q) *feed.Feed // of the queue; nil for the host alone
	Open    func(Q) *Open      // the observations of the queue
}

// Open are the observations of a queue that have not ended.
type Open struct{ list []*Observation }

// Observation is what is known of a run or a read under way. The methods of nil do nothing.
type Observation struct {
	report  Report
	tell    func(Report)
	open    *Open
	began   time.Time      // of the turn of the request
	blocked time.Time      // when it began to wait for a kernel or a plan; zero where it does not
	feed    *feed.Feed     // nil for the host alone
	device  *feed.Observer // the same
	before  int            // submissions before the copy of a read
}

// Observe begins an observation of what a queue does from now on; nil without a context.
func (r *Observer[Q]) Observe(q Q, name string, c *wire.Context) *Observation {
	if c == nil || r.Tell == nil {
		return nil
	}
	session := r.Session(q)
	o := &Observation{report: Report{Name: name, Parent: c.Parent}, open: r.Open(q), feed: r.Feed(q)}
	o.tell = func(report Report) { r.Tell(session, report) }
	o.report.Start = c.Came
	if o.feed != nil {
		o.device = o.feed.Observe()
	}
	o.open.list = append(o.open.list, o)
	return o
}

// ObserveRun begins the observation of a run whose turn it is.
func (r *Observer[Q]) ObserveRun(q Q, in *wire.Instr) *Observation {
	if in.Context == nil {
		return nil
	}
	if f := r.Feed(q); f != nil {
		f.FlushApart()
	}
	o := r.Observe(q, "run", in.Context)
	if o != nil {
		o.report.Key = in.Key
		o.begin()
	}
	return o
}

// BeginRead notes the turn of a read. What was recorded before is submitted apart.
func (o *Observation) BeginRead() {
	o.begin()
	if o.device != nil {
		o.feed.FlushApart()
		o.before = o.device.Len()
	}
}

// begin notes the turn of a request.
func (o *Observation) begin() {
	o.began = time.Now()
	o.add("queue", "", feed.Interval{Start: o.report.Start, End: o.began})
}

func (o *Observation) add(name, place string, i feed.Interval) {
	o.report.Parts = append(o.report.Parts, Span{name, place, i})
}

// Block notes that the queue begins to wait for a kernel or a plan.
func (l *Open) Block() {
	for _, o := range l.list {
		o.blocked = time.Now()
	}
}

// Resume notes that the queue goes on.
func (l *Open) Resume() {
	for _, o := range l.list {
		if o.blocked.IsZero() {
			continue
		}
		i := feed.Interval{Start: o.blocked, End: time.Now()}
		o.blocked = time.Time{}
		compiles, last := 0, 0
		for k, p := range o.report.Parts {
			if p.Name == "compile" {
				compiles, last = compiles+1, k
			}
		}
		if compiles < maxCompiles {
			o.add("compile", "", i)
		} else {
			o.report.Parts[last].End = i.End
		}
	}
}

// ConcludeRun ends the observation of a run: it is over when the device has done what it asked for.
func (o *Observation) ConcludeRun(err error) {
	if o == nil {
		return
	}
	end := time.Now()
	o.conclude(err, func(list []feed.Interval) {
		for _, i := range list {
			o.add("execute", "device", i)
			if i.End.After(end) {
				end = i.End
			}
		}
		if len(list) == 0 {
			o.add("execute", "host", feed.Interval{Start: o.lastEnd(), End: end})
		}
		o.report.End = end
	})
}

// lastEnd is the end of the latest part.
func (o *Observation) lastEnd() time.Time {
	last := o.began
	for _, p := range o.report.Parts {
		if p.End.After(last) {
			last = p.End
		}
	}
	return last
}

// ConcludeRead ends the observation of a read, whose data is there. The submissions since BeginRead
// are its transfer.
func (o *Observation) ConcludeRead(err error) {
	transfer := feed.Interval{Start: o.began, End: time.Now()}
	o.conclude(err, func(list []feed.Interval) {
		if o.before < len(list) {
			transfer.Start = earlier(list[o.before].Start, transfer.End)
		}
		// The end of a submission may be seen after the data that was read behind it.
		for _, x := range list[:min(o.before, len(list))] {
			o.add("execute", "device", feed.Interval{Start: earlier(x.Start, transfer.End), End: earlier(x.End, transfer.End)})
		}
		o.add("transfer", "", transfer)
		o.report.End = transfer.End
	})
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// conclude ends an observation and tells of it when the device has done what belongs to it.
func (o *Observation) conclude(err error, finish func([]feed.Interval)) {
	o.open.list = slices.DeleteFunc(o.open.list, func(x *Observation) bool { return x == o })
	o.report.Err = err
	tell := func(list []feed.Interval) {
		finish(list)
		o.tell(o.report)
	}
	if o.device == nil {
		tell(nil)
		return
	}
	o.device.Close(tell)
}
