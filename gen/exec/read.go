package exec

import (
	"fmt"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/explain"
	"nxvk/gen/exec/hostjob"
	"nxvk/gen/exec/queue"
	"nxvk/gen/exec/target"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// Data is what a read gives: bytes that are valid until Release, which may be
// called from any goroutine.
type Data struct {
	Bytes   []byte
	Release func() // may be nil
}

// Read gives count elements of a value from offset on, after everything that
// the session asked for before. done runs on the goroutine of the Executor.
func (e *Executor) Read(q *Queue, id ops.ID, offset, count int, done func(Data, error)) {
	e.enqueue(q, request{read: id, task: func(q *Queue) queue.Wait {
		e.read(q, id, offset, count, done)
		return 0
	}})
}

func (e *Executor) read(q *Queue, id ops.ID, offset, count int, done func(Data, error)) {
	v, err := e.value(q, id)
	if err != nil {
		done(Data{}, err)
		return
	}
	size := v.Type.Size()
	if offset > size {
		done(Data{}, &wire.Fault{Kind: wire.BadArgument, Err: fmt.Errorf("offset %d is beyond the %d elements of value %d", offset, size, id)})
		return
	}
	width := v.Type.DType.Size()
	from, n := offset*width, min(count, size-offset)*width
	m := v.Mem
	m.Retain()
	drop := func() { e.cfg.Post(m.Drop) }
	if m.Host != nil {
		m.Pins++ // what is lent stays where it is
		done(Data{Bytes: m.Host[from : from+n], Release: func() {
			e.cfg.Post(func() {
				m.Pins--
				m.Drop()
			})
		}}, nil)
		return
	}
	e.Feed(q).Fetch(m, from, n, true, func(data []byte, release func(), err error) {
		if err != nil {
			m.Drop()
			done(Data{}, err)
			return
		}
		done(Data{Bytes: data, Release: func() { release(); drop() }}, nil)
	})
}

// Range is elements of a value.
type Range struct {
	ID            ops.ID
	Offset, Count int // elements
}

// ReadTraced is Read with a trace context, or nil.
func (e *Executor) ReadTraced(q *Queue, c *wire.Context, r Range, done func(Data, error)) {
	o := e.observer.Observe(q, "download", c)
	if o == nil {
		e.Read(q, r.ID, r.Offset, r.Count, done)
		return
	}
	e.enqueue(q, request{read: r.ID, task: func(of *Queue) queue.Wait {
		o.BeginRead()
		e.read(of, r.ID, r.Offset, r.Count, func(data Data, err error) {
			done(data, err)
			o.ConcludeRead(err)
		})
		return 0
	}})
}

// value returns a value that has memory, or its error.
func (e *Executor) value(q *Queue, id ops.ID) (store.Value, error) {
	v, err := q.value(id)
	switch {
	case err != nil:
		return v, err
	case v.Failure() != nil:
		return v, v.Failure()
	case v.Mem.Host == nil && e.Lost() != nil:
		return v, e.Lost()
	}
	return v, nil
}

// Describe gives the type of a value, after everything before.
func (e *Executor) Describe(q *Queue, id ops.ID, done func(ops.Type, error)) {
	e.enqueue(q, request{read: id, task: func(q *Queue) queue.Wait {
		v, err := e.value(q, id)
		done(v.Type, err)
		return 0
	}})
}

// Sync calls done when everything that the session asked for before has been
// computed.
func (e *Executor) Sync(q *Queue, done func(error)) {
	e.Do(q, func(q *Queue) queue.Wait {
		q.afterAsync(func() { e.computed(q, done) })
		return 0
	})
}

// Barrier calls done when everything that the session asked for before has been
// computed but for runs that may take any time, and what needs their results.
func (e *Executor) Barrier(q *Queue, done func(error)) {
	e.Do(q, func(q *Queue) queue.Wait {
		e.computed(q, done)
		return 0
	})
}

// computed calls done when the device has done what a session has given it.
func (e *Executor) computed(q *Queue, done func(error)) {
	if e.dev == nil {
		done(nil)
		return
	}
	e.Feed(q).Finish(done)
}

// Explanations are the ways in which Explain tells about a program.
type Explanations int

// The ways.
const (
	Planned  Explanations = iota // how this device carries it out
	Measured                     // the same, and the parts that the device carries out are measured
	OnGPU                        // how a GPU like target.GPU would carry it out
)

// Explain tells how a program of the session is carried out once it has been seen
// before, in the order in which it runs. Loops are told once.
func (e *Executor) Explain(q *Queue, key string, way Explanations, done func([]explain.Part, error)) {
	e.Do(q, func(q *Queue) queue.Wait {
		p, err := e.Program(q, key)
		if err != nil {
			done(nil, err)
			return 0
		}
		prepared := explain.Prepare(p, e.rules(way))
		var x *explain.Explanation
		e.jobs.AsideFor(q, hostjob.WorkExplain, func(*sched.Worker) (err error) {
			x, err = prepared()
			return err
		}, func(err error) {
			switch {
			case err != nil:
				done(nil, err)
			case way != Measured || e.dev == nil:
				done(x.Parts, nil)
			default:
				explain.Profiler{Device: e.dev, Feeds: e.feeds, Kernels: e.kernels, Post: e.cfg.Post}.Measure(x, done)
			}
		})
		return 0
	})
}

// rules are what decides how a program is carried out.
func (e *Executor) rules(way Explanations) explain.Rules {
	if way == OnGPU {
		t := target.GPU()
		t.Off = e.target.Off
		return explain.Rules{Device: true, Fuses: true, Other: true, Target: t, Eval: e.specializer.Evaluator(), Cost: target.Seconds}
	}
	return explain.Rules{Device: e.dev != nil, Fuses: e.fuses(), Target: e.target, Eval: e.specializer.Evaluator(),
		Cost: e.feeds.Seconds, Stead: e.dispatcher.OnHost}
}
