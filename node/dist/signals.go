package dist

import (
	"sync"
	"time"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
)

// signals is what is linked and monitored over one connection, in both
// directions. A target is a gen.PID or a gen.ProcessID.
//
// Ergo tells a connection when a local process ends if something of that peer
// watches it; one stand-in for each process is registered for that ("armed"),
// and who really watches is kept here. An armed target is one whose end the peer
// has yet to be told.
type signals struct {
	mu      sync.Mutex
	serial  uint64
	armed   map[any]bool
	telling int                      // ends that are being told
	told    chan struct{}            // closed when nothing is left to tell; nil while nobody waits
	watched map[etf.Ref]watched      // monitors of the peer on us
	refs    map[any]map[etf.Ref]bool // the same by target
	watches map[etf.Ref]watch        // monitors of ours on the peer
	made    map[watch]etf.Ref        // the same by watch, for demonitor
	links   map[link]bool            // true where Ergo knows it
	owned   map[any]map[etf.Ref]bool // watches by owner, a gen.PID
}

// watched is a monitor of a process of the peer on a target here.
type watched struct {
	by     etf.Pid
	target any
}

// watch is a monitor of a local process on a target there.
type watch struct {
	owner  gen.PID
	target any
	ergo   bool // made through Ergo, which keeps its own table
}

// link is between a local and a remote process.
type link struct {
	local, remote gen.PID
}

func (s *signals) init() {
	s.armed = make(map[any]bool)
	s.watched = make(map[etf.Ref]watched)
	s.refs = make(map[any]map[etf.Ref]bool)
	s.watches = make(map[etf.Ref]watch)
	s.made = make(map[watch]etf.Ref)
	s.links = make(map[link]bool)
	s.owned = make(map[any]map[etf.Ref]bool)
}

// claim says whether the caller is to arm a target because nobody has. The
// caller holds mu.
func (s *signals) claim(target any) bool {
	if s.armed[target] {
		return false
	}
	s.armed[target] = true
	return true
}

// disarm takes back a claim to a target whose end Ergo will not report.
func (s *signals) disarm(target any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.armed, target)
	s.settle()
}

// fire takes a target that has ended off what is armed, and returns who watched
// it. Once these have been told, settled is to be called.
func (s *signals) fire(target any) map[etf.Ref]watched {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.armed, target)
	s.telling++
	fired := make(map[etf.Ref]watched)
	for ref := range s.refs[target] {
		fired[ref] = s.watched[ref]
		delete(s.watched, ref)
	}
	delete(s.refs, target)
	return fired
}

func (s *signals) settled() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.telling--
	s.settle()
}

// settle tells those who wait that nothing is left to tell. The caller holds mu.
func (s *signals) settle() {
	if s.told != nil && len(s.armed) == 0 && s.telling == 0 {
		close(s.told)
		s.told = nil
	}
}

// quiet returns a channel that is closed once the ends of all targets that the
// peer watches are in the writer's queue.
func (s *signals) quiet() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told == nil {
		s.told = make(chan struct{})
	}
	told := s.told
	s.settle()
	return told
}

// unlink forgets a link and says whether there was one, and whether Ergo knows
// of it.
func (s *signals) unlink(l link) (ergo, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ergo, found = s.links[l]
	delete(s.links, l)
	return ergo, found
}

// unwatched forgets a monitor of the peer.
func (s *signals) unwatched(ref etf.Ref) (watched, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.watched[ref]
	if ok {
		delete(s.watched, ref)
		// Every call monitors and demonitors its server, so the set of an
		// armed target is kept, empty or not, until the target ends.
		if s.armed[w.target] {
			delete(s.refs[w.target], ref)
		} else {
			dropRef(s.refs, w.target, ref)
		}
	}
	return w, ok
}

// unwatch forgets a monitor of ours.
func (s *signals) unwatch(ref etf.Ref) (watch, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.watches[ref]
	if ok {
		s.forgetWatch(ref, w)
	}
	return w, ok
}

func (s *signals) forgetWatch(ref etf.Ref, w watch) {
	delete(s.watches, ref)
	delete(s.made, w)
	dropRef(s.owned, w.owner, ref)
}

func dropRef(index map[any]map[etf.Ref]bool, key any, ref etf.Ref) {
	if refs := index[key]; refs != nil {
		delete(refs, ref)
		if len(refs) == 0 {
			delete(index, key)
		}
	}
}

// arm makes Ergo report the end of a local target. It is asked twice: a
// process that ended between Ergo's look for it and its entry in Ergo's table
// would never be reported, and the second look finds that out.
func (c *Connection) arm(target any) error {
	for range 2 {
		if err := c.standIn(target); err != nil {
			c.signals.disarm(target)
			return err
		}
	}
	return nil
}

// standIn registers the stand-in of the peer with Ergo as a watcher of a local
// target.
func (c *Connection) standIn(target any) error {
	by := gen.PID{Node: c.name, ID: 1<<64 - 1, Creation: int64(c.peer.creation)}
	switch t := target.(type) {
	case gen.PID:
		if t.Node == c.core.Name() {
			return c.core.RouteMonitorPID(by, t)
		}
	case gen.ProcessID:
		return c.core.RouteMonitorProcessID(by, t)
	}
	return gen.ErrProcessUnknown
}

// SendTerminatePID tells the peer that a process ended, in all the ways in
// which it asked, and lets go of what the process itself had asked there.
func (c *Connection) SendTerminatePID(target gen.PID, reason error) error {
	defer c.signals.settled()
	c.terminated(target, Pid(target), reason)

	s := &c.signals
	s.mu.Lock()
	var linked []gen.PID
	for l := range s.links {
		if l.local == target {
			linked = append(linked, l.remote)
			delete(s.links, l)
		}
	}
	c.account.give(signalling, int64(len(linked))*signalCost)
	dead := make(map[etf.Ref]watch)
	for ref := range s.owned[target] {
		dead[ref] = s.watches[ref]
	}
	for ref, w := range dead {
		s.forgetWatch(ref, w)
	}
	s.mu.Unlock()

	for _, remote := range linked {
		c.sendReason(target, opExit, opPayloadExit, Pid(target), Pid(remote), nil, reason)
	}
	for ref, w := range dead {
		c.send(target, etf.Tuple{opDemonitor, Pid(target), targetTerm(w.target), ref}, nil, false)
	}
	return nil
}

// SendTerminateProcessID tells the peer that the process of a name ended.
func (c *Connection) SendTerminateProcessID(target gen.ProcessID, reason error) error {
	defer c.signals.settled()
	c.terminated(target, etf.Atom(target.Name), reason)
	return nil
}

// terminated tells those of the peer who monitor a target, which has name there.
func (c *Connection) terminated(target any, name etf.Term, reason error) {
	fired := c.signals.fire(target)
	c.account.give(signalling, int64(len(fired))*signalCost)
	for ref, w := range fired {
		c.sendReason(gen.PID{}, opMonitorExit, opPayloadMonitorExit, name, w.by, ref, reason)
	}
}

// exit delivers an exit signal. An Ergo actor that does not trap exits ends
// for any reason, an Erlang process not for normal, so that one is dropped.
func (c *Connection) exit(from, to gen.PID, reason error) {
	if to.Node == c.core.Name() && reason != gen.TerminateReasonNormal {
		c.core.RouteSendExit(from, to, reason)
	}
}

// ended tells Ergo that a remote target is gone. Ergo enters a watcher into
// its table only after the peer has been asked, so a quick answer may come
// before the entry; telling it again later reaches those, and nobody twice.
func (c *Connection) ended(target any, reason error) {
	tell := func() {
		switch t := target.(type) {
		case gen.PID:
			c.core.RouteTerminatePID(t, reason)
		case gen.ProcessID:
			c.core.RouteTerminateProcessID(t, reason)
		}
	}
	tell()
	for _, delay := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 500 * time.Millisecond} {
		time.AfterFunc(delay, tell)
	}
}

// down reports the loss of the connection to those that Ergo does not know of.
func (s *signals) down(c *Connection) {
	s.mu.Lock()
	watches, links := s.watches, s.links
	c.account.give(signalling, int64(len(s.watched)+len(links))*signalCost)
	s.init()
	s.settle()
	s.mu.Unlock()
	for _, w := range watches {
		if !w.ergo {
			c.notify(w, gen.ErrNoConnection)
		}
	}
	for l, ergo := range links {
		if !ergo {
			c.exit(l.remote, l.local, gen.ErrNoConnection)
		}
	}
}

// targetTerm is a remote target as the peer knows it.
func targetTerm(target any) etf.Term {
	switch t := target.(type) {
	case gen.PID:
		return Pid(t)
	case gen.ProcessID:
		return etf.Atom(t.Name)
	}
	panic("BUG: target of an unknown type")
}
