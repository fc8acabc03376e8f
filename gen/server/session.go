package server

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/gen/exec"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/node/dist"
)

var errEnded = errors.New("the device server that has the value has ended; compute or upload the value again")

var errNotStream = errors.New("send {nxvk, Instructions}; gen/README.md describes the messages")

// newIncarnation returns a random number that distinguishes the runs of a server. It is a
// small integer of the BEAM and never 0.
func newIncarnation() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])>>5 | 1
}

// queueOf returns the queue of a process's session, which begins here where it has
// none.
func (d *Device) queueOf(pid gen.PID) *exec.Queue {
	s, ok := d.sessions[pid]
	if !ok {
		s = store.NewSession(pid)
		if d.cfg.Limit > 0 {
			s.Limit = d.cfg.Limit
		}
		s.Deadline = d.cfg.Deadline
		d.sessions[pid] = s
		d.exec.Queue(s).Orphan = func(err error) { d.reportError(pid, err) }
		if err := d.cfg.Watcher.Watch(d.PID(), pid); err != nil {
			// The process is gone already: report its end like any other.
			d.mailbox.Post(gen.MessageDownPID{PID: pid, Reason: err})
		}
	}
	return d.exec.Queue(s)
}

// end ends the session of a process and frees its memory.
func (d *Device) end(pid gen.PID) { d.endBy(pid, d.exec.End) }

func (d *Device) endBy(pid gen.PID, end func(*store.Session)) {
	s, ok := d.sessions[pid]
	if !ok {
		return
	}
	delete(d.sessions, pid)
	d.cfg.Watcher.Unwatch(d.PID(), pid)
	end(s)
	d.endSweepOf(pid)
}

// mayClose reports whether a process may close the session of another: a node closes those of
// its own processes, and every node closes any where the operator says so.
func mayClose(owner etf.Pid, closer gen.PID, all bool) bool {
	return all || string(owner.Node) == string(closer.Node)
}

// closeOf closes the session of any process. The owner is told, since its values are gone.
func (d *Device) closeOf(c dist.Call, owner etf.Pid, closer gen.PID) {
	pid := gen.PID{Node: gen.Atom(owner.Node), ID: uint64(owner.ID) | uint64(owner.Serial)<<32, Creation: int64(owner.Creation)}
	switch {
	case !mayClose(owner, closer, d.cfg.CloseAny):
		d.reply(c, wire.Failure(&wire.Fault{Kind: wire.BadArgument, Err: fmt.Errorf(
			"the session belongs to a process of %s: a node closes the sessions of its own processes; start nxvk-node with --allow-close to let every node close any", owner.Node)}))
		return
	case d.sessions[pid] == nil:
		d.reply(c, wire.Failure(&wire.Fault{Kind: wire.BadArgument, Err: errors.New(
			"this process has no session here: the request sessions of nxvk lists those that there are")}))
		return
	}
	d.cfg.Log.Info().Stringer("session", pid).Str("label", d.sessions[pid].Label).Stringer("by", closer).Msg("closing a session on request")
	d.end(pid)
	d.reportError(pid, &wire.Fault{Kind: wire.Stale, Err: fmt.Errorf("the session was closed by a process of %s", closer.Node)})
	d.reply(c, wire.OK)
}

// staleFault is the error of a message for an earlier run of the server.
func (d *Device) staleFault(incarnation uint64) error {
	return &wire.Fault{Kind: wire.Stale, Err: fmt.Errorf(
		"this value belonged to an earlier run of the server (incarnation %d; this run is %d): compute or upload it again",
		incarnation, d.incarnation)}
}

// askSweep asks sessions to free memory, those that accept sweeps, and returns their number.
func (d *Device) askSweep() int {
	d.sweep++
	d.sweeping = make(map[gen.PID]bool)
	for pid, s := range d.sessions {
		if s.Sweep {
			d.sweeping[pid] = true
			d.tell(pid, etf.Tuple{etf.Atom("nxvk_sweep"), etf.Atom(d.cfg.Name), d.sweep})
		}
	}
	return len(d.sweeping)
}

// noteSwept notes the answer of a session to a sweep. Answers to earlier sweeps do not count.
func (d *Device) noteSwept(pid gen.PID, ref etf.Term) {
	if ref == d.sweep {
		d.endSweepOf(pid)
	}
}

func (d *Device) endSweepOf(pid gen.PID) {
	if !d.sweeping[pid] {
		return
	}
	delete(d.sweeping, pid)
	if len(d.sweeping) == 0 {
		d.exec.Swept()
	}
}
