package exec

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"nxvk/gen/exec/devcopy"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// export is a value that another device of the node imports, until its memory is held by a Sender or
// there is an error.
type export struct {
	sharing *sharing
	queue   *Queue // of the session that has the value
	shared  *wire.Shared
	typ     ops.Type  // as the importer states it
	until   time.Time // when an instruction that makes the value has to be here
	offer   func(*devcopy.Sender, error)
}

// export offers a value to another device, once it has been made. The session that makes it may have
// any amount of work before; only a value that no instruction makes is waited for no longer than
// ImportTime. offer is called once, on the goroutine of the Executor.
func (sh *sharing) export(s *wire.Shared, t ops.Type, offer func(*devcopy.Sender, error)) {
	from, err := sh.sharedBy(s)
	if err == nil {
		err = sh.feeds.Lost()
	}
	if err != nil {
		offer(nil, err)
		return
	}
	q := sh.queues.bySession[from]
	if q.exports == nil {
		q.exports = make(map[*export]bool)
	}
	x := &export{sharing: sh, queue: q, shared: s, typ: t, until: time.Now().Add(ImportTime), offer: offer}
	q.exports[x] = true
	if x.find(); q.exports[x] && x.waits() {
		time.AfterFunc(ImportTime, func() { sh.cfg.Post(sh.queues.settle) })
	}
}

// waits reports whether no instruction that makes the value has come.
func (x *export) waits() bool { return slices.Contains(x.sharing.exports, x) }

// find takes the value where it is there, follows what makes it, or waits for the instruction.
func (x *export) find() {
	q, id := x.queue, x.shared.ID
	if x.take() {
		return
	}
	if q.trace.Makes(id) {
		x.sharing.flush(q)
		if x.take() {
			return
		}
	}
	switch {
	case q.makes(id):
		x.sharing.queues.enqueue(q, request{read: id, export: x, task: func(*Queue) queue.Wait {
			if q.exports[x] && !x.take() {
				x.end(nil, q.Session.Missing(id))
			}
			return 0
		}})
	case id > q.Session.Last && time.Now().Before(x.until):
		x.sharing.exports = append(x.sharing.exports, x)
	default:
		x.end(nil, q.Session.Missing(id))
	}
}

// makes reports whether an instruction that has come and has not been carried out makes a value.
func (q *Queue) makes(id ops.ID) bool {
	if q.makers[id] != nil || q.trace.Makes(id) || q.running.Makes(id) {
		return true
	}
	for i := range q.queue.All() {
		in := q.queue.At(i).in
		if in != nil && slices.ContainsFunc(in.Outs, func(r ops.Result) bool { return r.ID == id }) {
			return true
		}
	}
	return false
}

// take offers the value if it is there.
func (x *export) take() bool {
	v, ok := x.queue.Session.Get(x.shared.ID)
	if !ok || x.queue.makers[x.shared.ID] != nil {
		return false
	}
	switch {
	case v.Failure() != nil:
		x.end(nil, v.Failure())
	case !v.Type.Equal(x.typ):
		x.end(nil, unlike(v, x.typ))
	default:
		x.end(x.sharing.newSender(v), nil)
	}
	return true
}

// unlike is the fault of a value that is imported as another type.
func unlike(v store.Value, stated ops.Type) error {
	return &wire.Fault{Kind: wire.BadArgument, Err: fmt.Errorf("the value is %v, stated is %v", v.Type, stated)}
}

// newSender holds a value for another device.
func (sh *sharing) newSender(v store.Value) (s *devcopy.Sender) {
	feeds, slots := sh.feeds, sh.slots
	if sh.dev == nil {
		feeds = nil
	}
	if !sh.exchanges {
		slots = nil
	}
	s = devcopy.NewSender(feeds, slots, sh.cfg.Post, v.Mem, v.Type.Bytes(), func() {
		delete(sh.senders, s)
		sh.memory.Retry()
	})
	sh.senders[s] = true
	return s
}

// made offers values that an async run has made to the devices that wait for them. They do not wait
// for what the run has in hand after that: it may free a value of another import, which waits for
// the device that waits here.
func (q *Queue) made(id ops.ID) {
	waiting := q.awaited[id]
	delete(q.awaited, id)
	for _, x := range waiting {
		if q.exports[x] && !x.take() {
			x.end(nil, q.Session.Missing(id))
		}
	}
}

// end tells the importer what has come of the value.
func (x *export) end(s *devcopy.Sender, err error) {
	delete(x.queue.exports, x)
	x.offer(s, err)
}

// retryExports looks again for values that no instruction made before.
func (sh *sharing) retryExports() {
	waiting := sh.exports
	sh.exports = nil
	for _, x := range waiting {
		if x.queue.exports[x] {
			x.find()
		}
	}
}

// dropExports tells those who import from a session that it has ended. What they have begun to copy
// they keep.
func (q *Queue) dropExports() {
	for _, x := range slices.Collect(maps.Keys(q.exports)) {
		x.end(nil, notShared(x.shared))
	}
}

// EndExports ends all that other devices import, with an error: the server ends.
func (sh *sharing) EndExports(err error) {
	for _, q := range sh.queues.bySession {
		for _, x := range slices.Collect(maps.Keys(q.exports)) {
			x.end(nil, err)
		}
	}
	for _, s := range slices.Collect(maps.Keys(sh.senders)) {
		s.Abort(err)
	}
	sh.slots.Close()
}
