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

// An import from another device or another node leaves the order of its session like an async run: its
// result is pending, and only what needs that waits for it. The two Executors never wait for each
// other. Each has the other's server run functions (Server.Ask, Config.Tell), in this order:
//
//	this device                       the other one
//	ask for the value            →    wait until it is made (export)
//	take memory for it           ←    offer it: its memory is held
//	start                        →    lend its bytes, chunk by chunk (package devcopy)
//	copy a chunk, give it back   ⇄    read back the next one
//
// So the memory that the value takes here is taken when the value is there.

// Server is the device server of another device of the node.
type Server interface {
	// Ask runs f on the goroutine of the server's Executor, or gone, on any goroutine, where the
	// server has ended.
	Ask(f func(e *Executor), gone func())
}

// Source sends a value that another device or node has. Its methods may be called from any goroutine.
type Source interface {
	// Start has deliver called with all chunks of the value, in any order, or with an error, after which nothing
	// comes. With shared those of a device are in memory that other devices import.
	Start(shared bool, deliver func(devcopy.Chunk, error))
	Stop() // nobody wants the value any more
}

// Remote asks another node for a value of a type. offered is called once, on any goroutine, when the value is made, or with
// an error.
type Remote func(s *wire.Shared, t ops.Type, offered func(Source, error))

// deviceSource is the Sender of another Executor, which its server has run.
type deviceSource struct {
	server Server
	sender *devcopy.Sender
	gone   error // of a value whose server has ended
}

// Start implements Source.
func (d *deviceSource) Start(shared bool, deliver func(devcopy.Chunk, error)) {
	d.server.Ask(func(*Executor) { d.sender.Start(shared, deliver) }, func() { deliver(devcopy.Chunk{}, d.gone) })
}

// Stop implements Source.
func (d *deviceSource) Stop() { d.server.Ask(func(*Executor) { d.sender.Stop() }, func() {}) }

// deviceImport is an import from another device or node, the request at the front of a queue of its own.
type deviceImport struct {
	arrival
	source Source // nil before the value is offered
}

// importFromDevice begins the import of a value that a session of another device has.
func (sh *sharing) importFromDevice(q *Queue, in *wire.Instr) {
	var from Server
	s := in.Shared
	switch {
	case s.Node != "" && sh.cfg.Remote == nil:
		sh.poison(q, in, nil, &wire.Fault{Kind: wire.BadArgument, Err: fmt.Errorf("this server reaches no other nodes, such as %s", s.Node)})
		return
	case s.Node != "":
	default:
		if sh.cfg.Server != nil {
			from = sh.cfg.Server(s.Server)
		}
		if from == nil {
			sh.poison(q, in, nil, &wire.Fault{Kind: wire.BadArgument, Err: fmt.Errorf(
				"this node has no device server %q; the request info of the process nxvk lists them", s.Server)})
			return
		}
	}
	f := q.startAsync()
	x := &deviceImport{arrival: arrival{sharing: sh, queue: f, in: in, what: "import", copies: true}}
	x.from, f.incoming = x, &x.arrival
	f.expect(in.Outs)
	f.push(request{task: x.step, in: in})
	if from == nil {
		sh.cfg.Remote(s, in.Outs[0].Type, x.tell)
	} else {
		x.ask(from)
	}
	sh.queues.advance(f)
}

// ask asks the other device for the value.
func (x *deviceImport) ask(from Server) {
	shared, t := *x.in.Shared, x.in.Outs[0].Type
	gone := &wire.Fault{Kind: wire.ServerDown, Err: fmt.Errorf("the device server %s has ended; compute or upload the value again", shared.Server)}
	from.Ask(func(other *Executor) {
		other.sharing.export(&shared, t, func(s *devcopy.Sender, err error) {
			if err != nil {
				x.tell(nil, err)
				return
			}
			x.tell(&deviceSource{from, s, gone}, nil)
		})
	}, func() { x.tell(nil, gone) })
}

// tell has offered called on the goroutine of the Executor. It may be called from any one.
func (x *deviceImport) tell(s Source, err error) {
	x.sharing.cfg.Tell(func() { x.offered(s, err) }, func() {
		if s != nil {
			s.Stop()
		}
	})
}

// offered notes that the other side has the value, or what is wrong with it.
func (x *deviceImport) offered(s Source, err error) {
	if x.ended {
		if s != nil {
			s.Stop()
		}
		return
	}
	x.source = s
	if x.err == nil {
		x.err = err
	}
	x.sharing.queues.Resume(x.queue)
}

// step is the task of the import.
func (x *deviceImport) step(q *Queue) (wait queue.Wait) {
	if err := x.sharing.feeds.Lost(); err != nil {
		x.fail(err)
	}
	switch {
	case x.receiver != nil && !x.copied:
		return queue.ForImport
	case x.err != nil:
	case x.receiver != nil:
		x.sharing.counters.Imported += uint64(x.in.Outs[0].Type.Bytes())
		x.mem.Retain()
		q.put(x.in.Outs[0].ID, store.Value{Type: x.in.Outs[0].Type, Mem: x.mem})
	case x.source == nil:
		return queue.ForImport
	default:
		if wait, x.err = x.begin(q); wait != 0 {
			return wait
		}
		if x.err == nil {
			return queue.ForImport
		}
	}
	if x.err != nil {
		x.sharing.poison(q, x.in, nil, x.err)
	}
	x.end()
	return 0
}

// begin takes memory for the value and has the other device send it.
func (x *deviceImport) begin(q *Queue) (wait queue.Wait, err error) {
	if wait, err := x.take(q); wait != 0 || err != nil {
		return wait, err
	}
	x.bound()
	x.start()
	return 0, nil
}

// start has the other side send the value.
func (x *deviceImport) start() {
	sh, r := x.sharing, x.receiver
	x.source.Start(sh.exchanges && x.feed != nil, func(c devcopy.Chunk, err error) {
		if err != nil {
			sh.cfg.Post(func() { r.Fail(err) })
			return
		}
		sh.cfg.Tell(func() { r.Take(c) }, c.Release)
	})
}

// abort implements origin. What the source still sends is let go.
func (x *deviceImport) abort(error) {}

// letGo implements origin.
func (x *deviceImport) letGo() {
	if x.source != nil {
		x.source.Stop()
	}
}

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
