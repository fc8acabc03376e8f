package exec

import (
	"fmt"
	"slices"

	"nxvk/gen/exec/devcopy"
	"nxvk/gen/exec/exchange"
	"nxvk/gen/exec/mesh"
	"nxvk/gen/exec/mesh/schedule"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/ops/shard"
	"nxvk/vulkan"
)

// A collective of the stream leaves the order of its session like an import from another device, and one of a
// program leaves the order of its run: what follows goes on until it needs the result. So gradients are summed while
// others are computed. This device takes memory for the result and enters the
// collective (package mesh). Once all ranks have done so, the operand is sent from here chunk by chunk, and
// the result arrives. The device may still send when the session goes on.

// collective is a rank's part in a collective, at the front of a queue of its own, or of the queue that
// makes its operand.
type collective struct {
	arrival
	owner *Queue         // of whose session, or run, the result is
	run   *run           // nil where it is of the stream
	typ   ops.Type       // of the operand
	arg   *store.Storage // held until the collective ends; the sender has a hold of its own

	round   *mesh.Round
	seq     int         // in the round
	eager   bool        // the round is of this collective alone
	entry   *mesh.Entry // nil before there is memory for the result
	sender  *devcopy.Sender
	sending bool
	met     bool // all ranks have entered
	told    bool // the other ranks know err

	check *store.Check // of the result that a kernel has got; nil where none has
}

// JoinMesh gives a session a rank of a mesh, in place of the one that it had. done is called when everything
// before has been carried out.
func (sh *sharing) JoinMesh(q *Queue, o wire.Mesh, done func(error)) {
	sh.queues.Do(q, func(q *Queue) queue.Wait {
		if len(o.Nodes) == 0 {
			done(sh.join(q, o))
			return 0
		}
		sh.cfg.Meshes.Meet(o.Nodes, func(err error) {
			sh.cfg.Post(func() {
				if err == nil && !q.Session.Ended {
					err = sh.join(q, o)
				}
				done(err)
			})
		})
		return 0
	})
}

func (sh *sharing) join(q *Queue, o wire.Mesh) error {
	if q.place != nil && q.place.Is(o.ID, o.Rank, o.Size) {
		return nil
	}
	if q.place != nil {
		q.place.Leave(fmt.Errorf("its session has joined another mesh"))
	}
	var err error
	if q.place, err = sh.cfg.Meshes.Join(o.ID, o.Rank, o.Size, o.Nodes, sh.cfg.Tell); err == nil {
		sh.openPort(q)
	}
	return err
}

// beginRound begins a round of the session of a queue; nil where that is in no mesh.
func (q *Queue) beginRound(named uint64) *mesh.Round {
	if q.home().place == nil {
		return nil
	}
	return q.home().place.Begin(named)
}

var errNoMesh = &wire.Fault{Kind: wire.BadArgument, Err: fmt.Errorf(
	"the session is in no mesh: open it with the option mesh, and name the round of a run with collectives")}

// communicate carries out a collective, from where it stands.
func (sh *sharing) communicate(q *Queue, in *wire.Instr) (wait queue.Wait) {
	if q.incoming != nil {
		return q.incoming.from.(*collective).step(q)
	}
	if q.from != nil && q.run == nil {
		return sh.newCollective(q, q, in, q.queue.At(0).round, true).step(q)
	}
	f := q.home().startAsync()
	if r := q.run; r != nil {
		x := sh.newCollective(q, f, in, r.round, false)
		r.await(x)
		f.push(request{task: x.step})
	} else {
		x := sh.newCollective(q, f, in, q.beginRound(0), true)
		f.expect(in.Outs)
		f.push(request{task: x.step, in: in})
	}
	sh.queues.advance(f)
	return 0
}

// newCollective finds the operand of a collective of q, and makes it the request at the front of f.
func (sh *sharing) newCollective(q, f *Queue, in *wire.Instr, round *mesh.Round, eager bool) *collective {
	x := &collective{arrival: arrival{sharing: sh, queue: f, in: in, what: "collective"}, owner: f, round: round, eager: eager}
	x.from, f.incoming = x, &x.arrival
	if q.run != nil {
		x.owner, x.run = q, q.run
	}
	x.typ, x.arg, x.err = sh.operandOf(q, in)
	if round == nil {
		x.err = errNoMesh
	} else {
		x.seq = round.Next()
	}
	if x.run == nil {
		x.bound()
	}
	return x
}

// operandOf returns the operand of an instruction that has one, with a hold on its memory.
func (sh *sharing) operandOf(q *Queue, in *wire.Instr) (t ops.Type, m *store.Storage, err error) {
	if in.Err != nil {
		return t, nil, in.Err
	}
	w, err := q.gather(in)
	defer w.Release()
	if err != nil {
		return t, nil, err
	}
	if err := w.In.Check(w.Types); err != nil {
		return t, nil, &wire.Fault{Kind: wire.BadArgument, Err: err}
	}
	w.SettleLiterals()
	if m = w.Args[0]; m == nil {
		m = &store.Storage{Host: placement.Detach(w.In.Ins[0].Lit).Data}
	}
	m.Retain()
	return w.Types[0], m, nil
}

// step is the task of the collective.
func (x *collective) step(q *Queue) (wait queue.Wait) {
	if x.ended {
		return 0
	}
	if err := x.sharing.feeds.Lost(); err != nil {
		x.fail(err)
	}
	switch {
	case x.receiver != nil && !x.copied:
		return queue.ForMesh
	case x.err == nil && x.entry != nil:
		if x.future == nil {
			x.owner.put(x.in.Outs[0].ID, x.value())
		}
	case x.err == nil:
		if wait, x.err = x.bring(q); wait != 0 {
			return wait
		}
		p := x.owner.home().port
		own := x.sharing.exchanges || p != nil && p.open // the device gets the result without the host
		x.goesOn = x.run != nil && own && x.arg.Dev != nil && x.arg.Host == nil
		if x.err == nil {
			wait, x.err = x.take(q)
		}
		if wait != 0 {
			return wait
		}
		if x.err == nil {
			x.err = x.keep()
		}
		if x.err == nil {
			x.enter()
			return queue.ForMesh
		}
	}
	if x.err != nil {
		x.tell()
		if x.future == nil {
			x.sharing.poison(x.owner, x.in, nil, x.err)
		}
	}
	x.end()
	if x.run != nil {
		x.run.arrived(x)
	}
	return 0
}

// value is the result, with a hold on its memory.
func (x *collective) value() store.Value {
	x.mem.Retain()
	return store.Value{Type: x.in.Outs[0].Type, Mem: x.mem}
}

// bring brings an operand to the device that the host has, where devices would exchange it.
func (x *collective) bring(q *Queue) (wait queue.Wait, err error) {
	sh := x.sharing
	if !sh.exchanges || x.arg.Dev != nil || x.typ.Bytes() <= shard.HostBytes {
		return 0, nil
	}
	if err, q.failed = q.failed, nil; err != nil {
		return 0, err
	}
	return sh.transfers.ToDevice(q, x.arg)
}

// enter has the collective begin once the other ranks are there.
func (x *collective) enter() {
	v := store.Value{Type: x.typ, Mem: x.arg}
	x.sender = x.sharing.newSender(v)
	if sh := x.sharing; x.onDevice() {
		x.rank = exchange.NewRank(sh.exchanger(), &x.in.Instr, x.typ, x.arg.Dev, x.mem.Dev)
	}
	x.entry = x.round.Enter(x.seq, &x.in.Instr, x.typ, x, nil)
}

// onDevice reports whether devices may exchange the operand.
func (x *collective) onDevice() bool {
	return x.sharing.exchanges && x.feed != nil && x.arg.Dev != nil && x.typ.Bytes() > shard.HostBytes
}

// keep copies what the rank keeps of its operand. Then the device begins with what makes the operand: an exchange waits for that,
// and not for what the session has the device do from now on.
func (x *collective) keep() error {
	if !x.onDevice() || len(x.in.Attrs[0]) == 0 {
		return nil
	}
	f, group := x.sharing.feed(x.owner), x.in.Attrs[0]
	at := slices.Index(group, x.round.Rank())
	if c, ok := schedule.Kept(x.in.Op, len(group), at, x.typ.Bytes()); ok && at >= 0 {
		to, from := vulkan.Arg{Buffer: x.mem.Dev, Offset: c.To[0].Offset}, vulkan.Arg{Buffer: x.arg.Dev, Offset: c.From[0].Offset}
		if err := f.Stream().Copy(to, from, c.Bytes); err != nil {
			return x.sharing.feeds.Error(err)
		}
		f.Note()
	}
	f.Flush()
	return nil
}

// tell tells the other ranks of an error.
func (x *collective) tell() {
	switch {
	case x.told || x.round == nil:
	case x.entry != nil:
		x.entry.Fail(x.err)
	case x.in.Err == nil && len(x.in.Attrs) > 0 && len(x.in.Attrs[0]) > 0:
		x.entry = x.round.Enter(x.seq, &x.in.Instr, x.typ, x, x.err)
	}
	x.told = true
	if x.eager {
		x.round.End(x.err)
	}
}

// Ahead reports whether a run may go on with the result before it is there.
func (x *collective) Ahead() bool { return x.run != nil && x.feed != nil }

// Met has the run go on with the result that is to come.
func (x *collective) Met() {
	x.met = true
	x.run.goOn(x)
}

// Send sends the operand.
func (x *collective) Send(chunk int, deliver func(devcopy.Chunk, error)) {
	x.sending = true
	if x.entry == nil && x.feed != nil { // while it enters: nothing that has been recorded waits for the result
		x.sender.SendNow(x.sharing.feed(x.owner), chunk, deliver)
		return
	}
	x.sender.Send(chunk, deliver)
}

// Take copies a chunk of the result.
func (x *collective) Take(c devcopy.Chunk) { x.receiver.Take(c) }

// Device is the part of the device where it has the operand and the result.
func (x *collective) Device() mesh.Device {
	if x.rank == nil {
		return nil
	}
	return x
}

// Kind implements mesh.Device.
func (x *collective) Kind() string {
	i := x.sharing.dev.Info()
	return fmt.Sprint(i.VendorID, i.DeviceID, i.Driver, i.DriverInfo)
}

// Open makes the device ready, unless the operand is an error.
func (x *collective) Open(mem *vulkan.HostMemory, have *vulkan.Buffer, s *schedule.Schedule, at int, ready func(*vulkan.Buffer, error)) {
	if x.err != nil || x.ended {
		return
	}
	x.sharing.feeds.Checked(x.arg, func(err error) {
		if err == nil && x.arg != nil {
			err = x.sharing.feeds.Error(x.arg.Dev.Err())
		}
		switch {
		case x.err != nil || x.ended:
		case err != nil:
			x.fail(err)
		default:
			x.rank.Open(mem, have, s, at, ready)
		}
	})
}

// Step has the device carry out commands. What makes the result is in the order of the device with the last of them, so the
// session goes on.
func (x *collective) Step(list []schedule.Command, last bool, done func(error)) {
	if x.err != nil || x.ended {
		return
	}
	for i := range list {
		x.sharing.counters.Exchanged += uint64(list[i].Crosses())
	}
	x.rank.Step(list, func() {
		if last && x.err == nil && !x.ended {
			x.receiver.Dismiss()
		}
	}, done)
}

// Fail ends the collective with an error of another rank.
func (x *collective) Fail(err error) {
	x.told = true
	x.fail(err)
}

// abort implements origin.
func (x *collective) abort(error) {
	if x.sender != nil {
		x.sender.Stop()
	}
	if !x.told {
		x.tell()
	}
}

// letGo implements origin. What is being sent the sender holds.
func (x *collective) letGo() {
	if x.eager {
		x.round.End(x.err)
	}
	if x.sender != nil && !x.sending {
		x.sender.Stop() // nobody needs this operand
	}
	if x.arg != nil {
		x.arg.Drop()
		x.arg = nil
	}
}
