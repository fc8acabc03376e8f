package exec

import (
	"slices"
	"time"

	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// A run or a read that comes with a trace context is observed: the Executor notes where its time
// goes and tells Config.Spans. What it has the device do is submitted apart from other work of the
// session, so that the times of these submissions are its own. Nothing else is measured, and what
// has no context costs a comparison.

// maxCompiles is how many waits for kernels an observation tells apart; more count as one with the
// last.
const maxCompiles = 32

// Span is a part of the time of a run or a read.
type Span struct {
	Name  string // queue, compile, execute or transfer
	Place string // of execute: device or host
	feed.Interval
}

// Spans tell where the time of a run or a read went.
type Spans struct {
	Name   string // run or download
	Parent string // the trace context of the client
	Key    string // of the program of a run
	Err    error  // that ended it
	feed.Interval
	Parts []Span
}

// observation is what the Executor notes of a run or a read under way.
type observation struct {
	spans   Spans
	began   time.Time      // of the turn of the request
	blocked time.Time      // when it began to wait for a kernel or a plan; zero where it does not
	device  *feed.Observer // nil for the host alone
}

// observe begins an observation of what a queue does from now on; nil without a context.
func (e *Executor) observe(q *Queue, name string, c *wire.Context) *observation {
	if c == nil || e.cfg.Spans == nil {
		return nil
	}
	o := &observation{spans: Spans{Name: name, Parent: c.Parent}}
	o.spans.Start = c.Came
	if e.dev != nil {
		o.device = e.Feed(q).Observe()
	}
	q.observed = append(q.observed, o)
	return o
}

// observeRun begins the observation of a run whose turn it is.
func (e *Executor) observeRun(q *Queue, in *wire.Instr) *observation {
	if in.Context == nil {
		return nil
	}
	if e.dev != nil {
		e.Feed(q).FlushApart()
	}
	o := e.observe(q, "run", in.Context)
	if o != nil {
		o.spans.Key = in.Key
		o.begin()
	}
	return o
}

// begin notes the turn of a request.
func (o *observation) begin() {
	if o != nil {
		o.began = time.Now()
		o.add("queue", "", feed.Interval{Start: o.spans.Start, End: o.began})
	}
}

func (o *observation) add(name, place string, i feed.Interval) {
	o.spans.Parts = append(o.spans.Parts, Span{name, place, i})
}

// noteWait notes that a queue begins to wait.
func (q *Queue) noteWait(why queue.Wait) {
	if why != queue.ForPlan && why != queue.ForKernel {
		return
	}
	for _, o := range q.observed {
		o.blocked = time.Now()
	}
}

// noteResumed notes that a queue goes on.
func (q *Queue) noteResumed() {
	for _, o := range q.observed {
		if o.blocked.IsZero() {
			continue
		}
		i := feed.Interval{Start: o.blocked, End: time.Now()}
		o.blocked = time.Time{}
		compiles, last := 0, 0
		for k, p := range o.spans.Parts {
			if p.Name == "compile" {
				compiles, last = compiles+1, k
			}
		}
		if compiles < maxCompiles {
			o.add("compile", "", i)
		} else {
			o.spans.Parts[last].End = i.End
		}
	}
}

// concludeRun ends the observation of a run: it is over when the device has done what it asked for.
func (e *Executor) concludeRun(q *Queue, o *observation, err error) {
	if o == nil {
		return
	}
	end := time.Now()
	e.conclude(q, o, err, func(list []feed.Interval) {
		for _, i := range list {
			o.add("execute", "device", i)
			if i.End.After(end) {
				end = i.End
			}
		}
		if len(list) == 0 {
			o.add("execute", "host", feed.Interval{Start: o.lastEnd(), End: end})
		}
		o.spans.End = end
	})
}

// lastEnd is the end of the latest part.
func (o *observation) lastEnd() time.Time {
	last := o.began
	for _, p := range o.spans.Parts {
		if p.End.After(last) {
			last = p.End
		}
	}
	return last
}

// concludeRead ends the observation of a read, whose data is there. The submissions from the first
// one on are its transfer.
func (e *Executor) concludeRead(q *Queue, o *observation, first int, err error) {
	transfer := feed.Interval{Start: o.began, End: time.Now()}
	e.conclude(q, o, err, func(list []feed.Interval) {
		if first < len(list) {
			transfer.Start = earlier(list[first].Start, transfer.End)
		}
		// The end of a submission may be seen after the data that was read behind it.
		for _, x := range list[:min(first, len(list))] {
			o.add("execute", "device", feed.Interval{Start: earlier(x.Start, transfer.End), End: earlier(x.End, transfer.End)})
		}
		o.add("transfer", "", transfer)
		o.spans.End = transfer.End
	})
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// conclude ends an observation and tells of it when the device has done what belongs to it.
func (e *Executor) conclude(q *Queue, o *observation, err error, finish func([]feed.Interval)) {
	q.observed = slices.DeleteFunc(q.observed, func(x *observation) bool { return x == o })
	o.spans.Err = err
	session := q.Session
	tell := func(list []feed.Interval) {
		finish(list)
		e.cfg.Spans(session, o.spans)
	}
	if o.device == nil {
		tell(nil)
		return
	}
	o.device.Close(tell)
}

// Range is elements of a value.
type Range struct {
	ID            ops.ID
	Offset, Count int // elements
}

// ReadTraced is Read with a trace context, or nil.
func (e *Executor) ReadTraced(q *Queue, c *wire.Context, r Range, done func(Data, error)) {
	o := e.observe(q, "download", c)
	if o == nil {
		e.Read(q, r.ID, r.Offset, r.Count, done)
		return
	}
	e.enqueue(q, request{read: r.ID, task: func(of *Queue) queue.Wait {
		o.begin()
		first := 0
		if o.device != nil {
			e.Feed(of).FlushApart()
			first = o.device.Len()
		}
		e.read(of, r.ID, r.Offset, r.Count, func(data Data, err error) {
			done(data, err)
			e.concludeRead(q, o, first, err)
		})
		return 0
	}})
}
