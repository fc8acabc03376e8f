package exec

import (
	"fmt"

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

// importValue gives a value of another session an id of this one. Where the
// other session has yet to make it, the queue waits, a bounded time.
func (e *Executor) importValue(l *Queue, in *wire.Instr) (wait queue.Wait) {
	if len(in.Outs) != 1 {
		e.poison(l, in, nil, &wire.Fault{Kind: wire.BadArgument, Err: fmt.Errorf("gives one result, %d are named", len(in.Outs))})
		return 0
	}
	from := e.sharing(in.Shared)
	if from == nil {
		e.poison(l, in, nil, &wire.Fault{Kind: wire.NotShared, Err: fmt.Errorf(
			"value %d of process %v: no session here has this process and key; it has ended, or the value was not shared; have its owner share it while its session lasts",
			in.Shared.ID, in.Shared.Owner)})
		return 0
	}
	id := in.Shared.ID
	theirs := e.queues[from]
	if theirs.trace.Makes(id) {
		e.recorder.flushTrace(theirs)
	}
	v, ok := from.Get(id)
	if !ok && (id > from.Last || theirs.makers[id] != nil || theirs.trace.Makes(id) || theirs.running.Makes(id)) && e.waitImport(l) {
		return queue.ForImport
	}
	out := in.Outs[0]
	switch {
	case !ok:
		e.poison(l, in, nil, from.Missing(id))
	case v.Failure() != nil:
		e.poison(l, in, nil, v.Failure())
	case !v.Type.Equal(out.Type):
		e.poison(l, in, nil, &wire.Fault{Kind: wire.BadArgument, Err: fmt.Errorf("the value is %v, stated is %v", v.Type, out.Type)})
	default:
		v.Mem.Retain()
		l.Session.Put(out.ID, v)
	}
	return 0
}
