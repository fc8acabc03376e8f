package exec

import (
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/exec/devcopy"
	"nxvk/gen/exec/dispatch"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/memory"
	"nxvk/gen/exec/queue"
	"nxvk/gen/exec/transfer"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// ImportTime is how long an import waits for the instruction that makes its value in the other
// session: messages of different processes may overtake each other.
const ImportTime = time.Second

// sharing brings values from session to session, from device to device and from node to node: imports, exports
// and collectives.
type sharing struct {
	*core
	queues     *scheduler
	kernels    *kernels.Cache               // what combines operands of collectives
	memory     *memory.Manager[*Queue]      // of what arrives
	transfers  *transfer.Transfers[*Queue]  // of what collectives take
	dispatcher *dispatch.Dispatcher[*Queue] // says which values arrive on the host
	flush      func(q *Queue)               // has what is pending in a queue carried out

	imports []*Queue                 // queues that wait for another session
	exports []*export                // that wait for a value which has not been announced
	senders map[*devcopy.Sender]bool // of values that other devices import

	exchanges bool           // values and collectives go over memory that devices share: not those of a processor, whose memory the host has
	slots     *devcopy.Slots // that memory, for values that other devices import
	relays    bool           // kernels of the device may wait for other devices
}

// retryShared serves the queues that wait for another session, and looks again for values that no instruction
// made before.
func (sh *sharing) retryShared() {
	if waiting := sh.imports; len(waiting) > 0 {
		sh.imports = nil
		for _, q := range waiting {
			q.waits = 0
			sh.queues.advance(q)
		}
	}
	sh.retryExports()
}

// sharerOf returns the session that a shared value belongs to, or nil where the
// key is not that of such a session.
func sharerOf(queues map[*store.Session]*Queue, s *wire.Shared) *store.Session {
	for session := range queues {
		o := session.Owner
		if string(o.Node) == string(s.Owner.Node) && o.ID == pidID(s.Owner) &&
			uint32(o.Creation) == s.Owner.Creation && sameKey(session.Key, s.Key) {
			return session
		}
	}
	return nil
}

// sharedBy returns the session that a shared value belongs to.
func (sh *sharing) sharedBy(s *wire.Shared) (*store.Session, error) {
	if s.Incarnation != 0 && s.Incarnation != sh.cfg.Incarnation {
		return nil, &wire.Fault{Kind: wire.NotShared, Err: fmt.Errorf(
			"value %d belonged to an earlier run of %s (incarnation %d; this run is %d): compute or upload it again", s.ID, s.Server, s.Incarnation, sh.cfg.Incarnation)}
	}
	if from := sharerOf(sh.queues.bySession, s); from != nil {
		return from, nil
	}
	return nil, notShared(s)
}

func notShared(s *wire.Shared) error {
	return &wire.Fault{Kind: wire.NotShared, Err: fmt.Errorf(
		"value %d of process %v: no session here has this process and key; it has ended, or the value was not shared; have its owner share it while its session lasts",
		s.ID, s.Owner)}
}

// pidID is the id of a pid as Ergo has it: the serial above the number.
func pidID(p etf.Pid) uint64 { return uint64(p.ID) | uint64(p.Serial)<<32 }

func sameKey(a, b uint64) bool {
	var x, y [8]byte
	binary.LittleEndian.PutUint64(x[:], a)
	binary.LittleEndian.PutUint64(y[:], b)
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// waitImport parks a queue until other sessions have made progress. While an instruction of the session
// source is on its way to make the value that may take any time; otherwise it reports false when the
// queue has waited long enough.
func (sh *sharing) waitImport(q, source *Queue, id ops.ID) bool {
	q.source = source
	if sh.isComing(q, id) {
		q.since = time.Time{}
		sh.imports = append(sh.imports, q)
		return true
	}
	now := time.Now()
	if q.since.IsZero() {
		q.since = now
		time.AfterFunc(ImportTime, func() { sh.cfg.Post(sh.queues.settle) })
	}
	if now.Sub(q.since) >= ImportTime {
		return false
	}
	sh.imports = append(sh.imports, q)
	return true
}

// isComing reports whether an instruction that makes the value which q imports has come and will be
// carried out. It is not where it waits for an import that waits for q: sessions that wait for each other
// do so for a bounded time.
func (sh *sharing) isComing(q *Queue, id ops.ID) bool {
	if !q.source.makes(id) {
		return false
	}
	w := q.source
	for range sh.queues.bySession {
		if w.waits != queue.ForImport || w.source == nil {
			return true
		}
		if w = w.source; w == q {
			return false
		}
	}
	return false
}

// importValue gives a value of another session an id of this one. Where the
// other session has yet to make it, the queue waits: a bounded time for an instruction that makes it to
// come, and as long as that takes once it is there.
func (sh *sharing) importValue(q *Queue, in *wire.Instr) (wait queue.Wait) {
	if len(in.Outs) != 1 {
		sh.poison(q, in, nil, &wire.Fault{Kind: wire.BadArgument, Err: fmt.Errorf("gives one result, %d are named", len(in.Outs))})
		return 0
	}
	if in.Shared.Node == sh.cfg.Node {
		in.Shared.Node = ""
	}
	if s := in.Shared; s.Node != "" || s.Server != "" && s.Server != sh.cfg.Name {
		sh.importFromDevice(q, in)
		return 0
	}
	from, err := sh.sharedBy(in.Shared)
	if err != nil {
		sh.poison(q, in, nil, err)
		return 0
	}
	id := in.Shared.ID
	theirs := sh.queues.bySession[from]
	if theirs.trace.Makes(id) {
		sh.flush(theirs)
	}
	v, ok := from.Get(id)
	if !ok && (id > from.Last || theirs.makers[id] != nil || theirs.trace.Makes(id) || theirs.running.Makes(id)) && sh.waitImport(q, theirs, id) {
		return queue.ForImport
	}
	out := in.Outs[0]
	switch {
	case !ok:
		sh.poison(q, in, nil, from.Missing(id))
	case v.Failure() != nil:
		sh.poison(q, in, nil, v.Failure())
	case !v.Type.Equal(out.Type):
		sh.poison(q, in, nil, unlike(v, out.Type))
	default:
		v.Mem.Retain()
		q.Session.Put(out.ID, v)
	}
	return 0
}
