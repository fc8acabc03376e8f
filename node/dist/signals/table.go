package signals

import (
	"sync"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
)

// Cost is how many bytes a monitor or a link takes in the maps that have it.
const Cost = 640

// Incoming is a monitor of a process of the peer on a target here.
type Incoming struct {
	By     etf.Pid
	Target any
}

// Outgoing is a monitor of a process here on a target of the peer.
type Outgoing struct {
	Owner  gen.PID
	Target any
	Ergo   bool // it was made through Ergo, which keeps a table of its own
}

// Link is between a process here and one of the peer.
type Link struct {
	Local, Remote gen.PID
}

// Table is the monitors and links of a connection. Any goroutine may call its methods.
type Table struct {
	mu       sync.Mutex
	serial   uint64
	reported map[any]bool  // targets whose ends Ergo reports, and that have not ended
	telling  int           // ends that are being told
	quiet    chan struct{} // closed when no end is left to tell; nil while nobody waits

	incoming map[etf.Ref]Incoming
	byTarget map[any]map[etf.Ref]bool // of incoming
	outgoing map[etf.Ref]Outgoing
	refs     map[Outgoing]etf.Ref         // of outgoing
	byOwner  map[gen.PID]map[etf.Ref]bool // of outgoing
	links    map[Link]bool                // true where Ergo knows of it
}

// NewTable returns an empty table.
func NewTable() *Table {
	t := &Table{}
	t.clear()
	return t
}

func (t *Table) clear() {
	t.reported = make(map[any]bool)
	t.incoming = make(map[etf.Ref]Incoming)
	t.byTarget = make(map[any]map[etf.Ref]bool)
	t.outgoing = make(map[etf.Ref]Outgoing)
	t.refs = make(map[Outgoing]etf.Ref)
	t.byOwner = make(map[gen.PID]map[etf.Ref]bool)
	t.links = make(map[Link]bool)
}

// Serial returns a number that the table has not returned before.
func (t *Table) Serial() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.serial++
	return t.serial
}

// report marks a target as reported. It returns true where it was not: the caller asks
// Ergo to report its end then. The caller holds mu.
func (t *Table) report(target any) bool {
	if t.reported[target] {
		return false
	}
	t.reported[target] = true
	return true
}

// Unreported says that Ergo will not report the end of a target after all.
func (t *Table) Unreported(target any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.reported, target)
	t.notifyQuiet()
}

// AddIncoming enters a monitor of the peer. report says that Ergo has to be asked to
// report the end of its target; a target that cannot end before the connection is never
// reported.
func (t *Table) AddIncoming(ref etf.Ref, m Incoming, ends bool) (report bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.incoming[ref] = m
	addRef(t.byTarget, m.Target, ref)
	return ends && t.report(m.Target)
}

// RemoveIncoming removes a monitor of the peer and reports whether there was one.
func (t *Table) RemoveIncoming(ref etf.Ref) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.incoming[ref]
	if !ok {
		return false
	}
	delete(t.incoming, ref)
	// Every call monitors and demonitors its server, so the set of a reported
	// target is kept, empty or not, until the target ends.
	if t.reported[m.Target] {
		delete(t.byTarget[m.Target], ref)
	} else {
		removeRef(t.byTarget, m.Target, ref)
	}
	return true
}

// AddOutgoing enters a monitor of ours, once for each Outgoing, with a reference that
// newRef makes of a serial number. report is that of AddIncoming, for its owner.
func (t *Table) AddOutgoing(m Outgoing, newRef func(serial uint64) etf.Ref) (ref etf.Ref, added, report bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ref, exists := t.refs[m]; exists {
		return ref, false, false
	}
	t.serial++
	ref = newRef(t.serial)
	t.outgoing[ref], t.refs[m] = m, ref
	addRef(t.byOwner, m.Owner, ref)
	return ref, true, t.report(m.Owner)
}

// TakeOutgoing removes the monitor of ours that has a reference.
func (t *Table) TakeOutgoing(ref etf.Ref) (m Outgoing, found bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m, found = t.outgoing[ref]; found {
		t.removeOutgoing(ref, m)
	}
	return m, found
}

// RemoveOutgoing removes a monitor of ours and returns its reference.
func (t *Table) RemoveOutgoing(m Outgoing) (ref etf.Ref, found bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ref, found = t.refs[m]; found {
		t.removeOutgoing(ref, m)
	}
	return ref, found
}

func (t *Table) removeOutgoing(ref etf.Ref, m Outgoing) {
	delete(t.outgoing, ref)
	delete(t.refs, m)
	removeRef(t.byOwner, m.Owner, ref)
}

// AddLink enters a link and reports whether it is new. One that Ergo knows of stays
// so. report is that of AddIncoming, for the local process.
func (t *Table) AddLink(l Link, ergo bool) (added, report bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, exists := t.links[l]
	t.links[l] = known || ergo
	return !exists, t.report(l.Local)
}

// RemoveLink removes a link and says whether there was one, and whether Ergo knows of
// it.
func (t *Table) RemoveLink(l Link) (ergo, found bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ergo, found = t.links[l]
	delete(t.links, l)
	return ergo, found
}

// TargetEnded takes out a target that has ended and returns the monitors of the peer
// on it. Told is called once these have been told.
func (t *Table) TargetEnded(target any) map[etf.Ref]Incoming {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.reported, target)
	t.telling++
	monitors := make(map[etf.Ref]Incoming)
	for ref := range t.byTarget[target] {
		monitors[ref] = t.incoming[ref]
		delete(t.incoming, ref)
	}
	delete(t.byTarget, target)
	return monitors
}

// Told says that everybody has been told of an end.
func (t *Table) Told() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.telling--
	t.notifyQuiet()
}

// OwnerEnded takes out what a process here that has ended had on the peer: the links
// and the monitors of ours.
func (t *Table) OwnerEnded(owner gen.PID) (linked []gen.PID, monitors map[etf.Ref]Outgoing) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for l := range t.links {
		if l.Local == owner {
			linked = append(linked, l.Remote)
			delete(t.links, l)
		}
	}
	monitors = make(map[etf.Ref]Outgoing)
	for ref := range t.byOwner[owner] {
		monitors[ref] = t.outgoing[ref]
	}
	for ref, m := range monitors {
		t.removeOutgoing(ref, m)
	}
	return linked, monitors
}

// Quiet returns a channel that is closed once everybody has been told of the ends of
// all reported targets.
func (t *Table) Quiet() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.quiet == nil {
		t.quiet = make(chan struct{})
	}
	quiet := t.quiet
	t.notifyQuiet()
	return quiet
}

// notifyQuiet tells those who wait that no end is left to tell. The caller holds mu.
func (t *Table) notifyQuiet() {
	if t.quiet != nil && len(t.reported) == 0 && t.telling == 0 {
		close(t.quiet)
		t.quiet = nil
	}
}

// Clear empties the table of a connection that has ended. It returns the monitors of
// ours, the links, with whether Ergo knows of them, and how many monitors of the peer
// there were.
func (t *Table) Clear() (monitors map[etf.Ref]Outgoing, links map[Link]bool, incoming int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	monitors, links, incoming = t.outgoing, t.links, len(t.incoming)
	t.clear()
	t.notifyQuiet()
	return monitors, links, incoming
}

func addRef[K comparable](index map[K]map[etf.Ref]bool, key K, ref etf.Ref) {
	if index[key] == nil {
		index[key] = make(map[etf.Ref]bool)
	}
	index[key][ref] = true
}

func removeRef[K comparable](index map[K]map[etf.Ref]bool, key K, ref etf.Ref) {
	if refs := index[key]; refs != nil {
		delete(refs, ref)
		if len(refs) == 0 {
			delete(index, key)
		}
	}
}

// Stats is what a table has.
type Stats struct {
	Incoming, Outgoing, Links int
	Awaited                   bool // somebody waits for Quiet
}

// Stats reads it.
func (t *Table) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Stats{Incoming: len(t.incoming), Outgoing: len(t.outgoing), Links: len(t.links), Awaited: t.quiet != nil}
}
