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
)

var errNotStream = errors.New("a message is {nxvk, Instructions}; see gen/README.md")

// newIncarnation is a random number that tells runs of a server apart. It is a
// small integer of the BEAM and never 0.
func newIncarnation() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])>>5 | 1
}

// queue returns the queue of a process's session, which begins here where it has
// none.
func (d *Device) lane(pid gen.PID) *exec.Queue {
	s, ok := d.sessions[pid]
	if !ok {
		s = store.NewSession(pid)
		if d.cfg.Limit > 0 {
			s.Limit = d.cfg.Limit
		}
		s.Deadline = d.cfg.Deadline
		d.sessions[pid] = s
		d.exec.Queue(s).Orphan = func(err error) { d.orphan(pid, err) }
		if err := d.cfg.Watcher.Watch(d.PID(), pid); err != nil {
			// The process is gone already: its end arrives like any other.
			d.mailbox.post(gen.MessageDownPID{PID: pid, Reason: err})
		}
	}
	return d.exec.Queue(s)
}

// end frees everything of a process.
func (d *Device) end(pid gen.PID) {
	s, ok := d.sessions[pid]
	if !ok {
		return
	}
	delete(d.sessions, pid)
	d.cfg.Watcher.Unwatch(d.PID(), pid)
	d.exec.End(s)
	d.answered(pid)
}

// stale is the fault of a message for an earlier run of the server.
func (d *Device) stale(incarnation uint64) error {
	return &wire.Fault{Kind: wire.Stale, Err: fmt.Errorf(
		"this value belonged to an earlier run of the server (incarnation %d, it is %d now); compute or upload it again",
		incarnation, d.incarnation)}
}

// askSweep asks all sessions that said so to free what they do not need.
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

// swept notes the answer of a session to the latest sweep.
func (d *Device) swept(pid gen.PID, ref etf.Term) {
	if ref == d.sweep {
		d.answered(pid)
	}
}

func (d *Device) answered(pid gen.PID) {
	if !d.sweeping[pid] {
		return
	}
	delete(d.sweeping, pid)
	if len(d.sweeping) == 0 {
		d.exec.Swept()
	}
}
