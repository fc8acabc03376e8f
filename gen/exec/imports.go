package exec

import (
	"crypto/subtle"
	"encoding/binary"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/store"
	"nxvk/gen/wire"
)

// ImportTime is how long an import waits for a value that the other session
// has not made yet: messages of different processes may overtake each other.
const ImportTime = time.Second

// sharing returns the session that a shared value belongs to, or nil where the
// key is not that of such a session.
func (e *Executor) sharing(s *wire.Shared) *store.Session {
	for session := range e.queues {
		o := session.Owner
		if string(o.Node) == string(s.Owner.Node) && o.ID == pidID(s.Owner) &&
			uint32(o.Creation) == s.Owner.Creation && sameKey(session.Key, s.Key) {
			return session
		}
	}
	return nil
}

// pidID is the id of a pid as Ergo has it: the serial above the number.
func pidID(p etf.Pid) uint64 { return uint64(p.ID) | uint64(p.Serial)<<32 }

func sameKey(a, b uint64) bool {
	var x, y [8]byte
	binary.LittleEndian.PutUint64(x[:], a)
	binary.LittleEndian.PutUint64(y[:], b)
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// waitImport parks a queue until other sessions have made progress. It reports
// false when it has waited long enough.
func (e *Executor) waitImport(l *Queue) bool {
	now := time.Now()
	if l.since.IsZero() {
		l.since = now
		time.AfterFunc(ImportTime, func() { e.cfg.Post(e.settle) })
	}
	if now.Sub(l.since) >= ImportTime {
		return false
	}
	e.imports = append(e.imports, l)
	return true
}
