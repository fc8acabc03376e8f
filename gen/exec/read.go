package exec

import (
	"fmt"

	"nxvk/gen/exec/queue"
	"nxvk/gen/exec/spans"
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

// reader gives values, and tells when everything before has been computed.
type reader struct {
	*core
	queues   *scheduler
	observer *spans.Observer[*Queue] // where the time of a read goes
}

// Read gives count elements of a value from offset on, after everything that
// the session asked for before. done runs on the goroutine of the Executor.
func (rd *reader) Read(q *Queue, id ops.ID, offset, count int, done func(Data, error)) {
	rd.queues.enqueue(q, request{read: id, task: func(q *Queue) queue.Wait {
		rd.read(q, id, offset, count, done)
		return 0
	}})
}

func (rd *reader) read(q *Queue, id ops.ID, offset, count int, done func(Data, error)) {
	v, err := rd.value(q, id)
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
	drop := func() { rd.cfg.Post(m.Drop) }
	if m.Host != nil {
		m.Pins++ // what is lent stays where it is
		done(Data{Bytes: m.Host[from : from+n], Release: func() {
			rd.cfg.Post(func() {
				m.Pins--
				m.Drop()
			})
		}}, nil)
		return
	}
	rd.feed(q).Fetch(m, from, n, true, func(data []byte, release func(), err error) {
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
func (rd *reader) ReadTraced(q *Queue, c *wire.Context, r Range, done func(Data, error)) {
	o := rd.observer.Observe(q, "download", c)
	if o == nil {
		rd.Read(q, r.ID, r.Offset, r.Count, done)
		return
	}
	rd.queues.enqueue(q, request{read: r.ID, task: func(of *Queue) queue.Wait {
		o.BeginRead()
		rd.read(of, r.ID, r.Offset, r.Count, func(data Data, err error) {
			done(data, err)
			o.ConcludeRead(err)
		})
		return 0
	}})
}

// value returns a value that has memory, or its error.
func (rd *reader) value(q *Queue, id ops.ID) (store.Value, error) {
	v, err := q.value(id)
	switch {
	case err != nil:
		return v, err
	case v.Failure() != nil:
		return v, v.Failure()
	case v.Mem.Host == nil && rd.feeds.Lost() != nil:
		return v, rd.feeds.Lost()
	}
	return v, nil
}

// Describe gives the type of a value, after everything before.
func (rd *reader) Describe(q *Queue, id ops.ID, done func(ops.Type, error)) {
	rd.queues.enqueue(q, request{read: id, task: func(q *Queue) queue.Wait {
		v, err := rd.value(q, id)
		done(v.Type, err)
		return 0
	}})
}

// Sync calls done when everything that the session asked for before has been
// computed.
func (rd *reader) Sync(q *Queue, done func(error)) {
	rd.queues.Do(q, func(q *Queue) queue.Wait {
		q.afterAsync(func() { rd.whenComputed(q, done) })
		return 0
	})
}

// Barrier calls done when everything that the session asked for before has been
// computed but for runs that may take any time, and what needs their results.
func (rd *reader) Barrier(q *Queue, done func(error)) {
	rd.queues.Do(q, func(q *Queue) queue.Wait {
		rd.whenComputed(q, done)
		return 0
	})
}

// whenComputed calls done when the device has done what a session has given it.
func (rd *reader) whenComputed(q *Queue, done func(error)) {
	if rd.dev == nil {
		done(nil)
		return
	}
	rd.feed(q).Finish(done)
}
