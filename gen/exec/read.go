package exec

import (
	"fmt"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/explain"
	"nxvk/gen/exec/queue"
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
func (e *Executor) Read(l *Queue, id ops.ID, offset, count int, done func(Data, error)) {
	e.enqueue(l, request{read: id, task: func(l *Queue) queue.Wait {
		e.read(l, id, offset, count, done)
		return 0
	}})
}

func (e *Executor) read(l *Queue, id ops.ID, offset, count int, done func(Data, error)) {
	v, err := e.value(l, id)
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
		done(Data{Bytes: m.Host[from : from+n], Release: drop}, nil)
		return
	}
	e.Feed(l).Fetch(m, from, n, true, func(data []byte, release func(), err error) {
		if err != nil {
			m.Drop()
			done(Data{}, err)
			return
		}
		done(Data{Bytes: data, Release: func() { release(); drop() }}, nil)
	})
}

// value returns a value that has memory, or its error.
func (e *Executor) value(l *Queue, id ops.ID) (store.Value, error) {
	v, err := l.value(id)
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
func (e *Executor) Describe(l *Queue, id ops.ID, done func(ops.Type, error)) {
	e.enqueue(l, request{read: id, task: func(l *Queue) queue.Wait {
		v, err := e.value(l, id)
		done(v.Type, err)
		return 0
	}})
}

// Sync calls done when everything that the session asked for before has been
// computed.
func (e *Executor) Sync(l *Queue, done func(error)) {
	e.Do(l, func(l *Queue) queue.Wait {
		e.afterAsync(l, func() { e.computed(l, done) })
		return 0
	})
}

// Barrier calls done when everything that the session asked for before has been
// computed but for runs that may take any time, and what needs their results.
func (e *Executor) Barrier(l *Queue, done func(error)) {
	e.Do(l, func(l *Queue) queue.Wait {
		e.computed(l, done)
		return 0
	})
}

// computed calls done when the device has done what a session has given it.
func (e *Executor) computed(l *Queue, done func(error)) {
	if e.dev == nil {
		done(nil)
		return
	}
	e.Feed(l).Finish(done)
}

// Explain tells how a program of the session is carried out once it has been seen
// before, in the order in which it runs. Loops are told once. With measure the
// parts that the device carries out are measured.
func (e *Executor) Explain(l *Queue, key string, measure bool, done func([]explain.Part, error)) {
	e.Do(l, func(l *Queue) queue.Wait {
		p, err := e.Program(l, key)
		if err != nil {
			done(nil, err)
			return 0
		}
		prepared := explain.Prepare(p, explain.Rules{Device: e.dev != nil, Fuses: e.fuses(), Target: e.target, Eval: e.specializer.Evaluator(),
			Cost: e.feeds.Seconds, Stead: e.dispatcher.onHost})
		var x *explain.Explanation
		e.jobs.aside(l, workExplain, func(*sched.Worker) (err error) {
			x, err = prepared()
			return err
		}, func(err error) {
			switch {
			case err != nil:
				done(nil, err)
			case !measure || e.dev == nil:
				done(x.Parts, nil)
			default:
				explain.Profiler{Device: e.dev, Feeds: e.feeds, Kernels: e.kernels, Post: e.cfg.Post}.Measure(x, done)
			}
		})
		return 0
	})
}
