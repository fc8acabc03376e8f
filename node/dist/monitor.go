package dist

import (
	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
)

// signalCost is what a monitor or a link of the peer takes, in the maps that have it.
const signalCost = 640

// watchedBy sets up a monitor of the peer on a pid or a name here. An error says that
// there are too many.
func (c *Connection) watchedBy(by etf.Pid, on etf.Term, ref etf.Ref) error {
	var target any
	switch t := on.(type) {
	case etf.Pid:
		target = PID(t)
	case etf.Atom:
		target = gen.ProcessID{Name: gen.Atom(t), Node: c.core.Name()}
	}
	c.unwatched(ref) // a reference names one monitor
	if err := c.account.take(signalling, signalCost); err != nil {
		return err
	}
	s := &c.signals
	s.mu.Lock()
	s.watched[ref] = watched{by: by, target: target}
	if s.refs[target] == nil {
		s.refs[target] = make(map[etf.Ref]bool)
	}
	s.refs[target][ref] = true
	// The net kernel is the node, which does not end before the connection.
	first := on != etf.Term(etf.Atom(netKernel)) && s.claim(target)
	s.mu.Unlock()

	if !first || c.arm(target) == nil {
		return nil
	}
	if c.unwatched(ref) {
		c.sendReason(gen.PID{}, opMonitorExit, opPayloadMonitorExit, on, by, ref, gen.ErrProcessUnknown)
	}
	return nil
}

// unwatched forgets a monitor of the peer and says whether there was one.
func (c *Connection) unwatched(ref etf.Ref) bool {
	_, found := c.signals.unwatched(ref)
	if found {
		c.account.give(signalling, signalCost)
	}
	return found
}

// watchedExit is the end of what a process of ours monitors.
func (c *Connection) watchedExit(ref etf.Ref, reason error) {
	w, ok := c.signals.unwatch(ref)
	switch {
	case !ok:
	case w.ergo:
		c.ended(w.target, reason)
	default:
		c.notify(w, reason)
	}
}

// notify tells the owner of a watch that its target is gone.
func (c *Connection) notify(w watch, reason error) {
	options := gen.MessageOptions{Priority: gen.MessagePriorityHigh}
	switch t := w.target.(type) {
	case gen.PID:
		c.core.RouteSendPID(t, w.owner, options, gen.MessageDownPID{PID: t, Reason: reason})
	case gen.ProcessID:
		c.core.RouteSendPID(c.core.PID(), w.owner, options, gen.MessageDownProcessID{ProcessID: t, Reason: reason})
	}
}

// MonitorPID and the three methods after it are what Ergo's processes call.
func (c *Connection) MonitorPID(pid, target gen.PID) error {
	return c.watch(watch{owner: pid, target: target, ergo: true})
}

func (c *Connection) DemonitorPID(pid, target gen.PID) error {
	return c.unwatch(watch{owner: pid, target: target, ergo: true})
}

func (c *Connection) MonitorProcessID(pid gen.PID, target gen.ProcessID) error {
	return c.watch(watch{owner: pid, target: target, ergo: true})
}

func (c *Connection) DemonitorProcessID(pid gen.PID, target gen.ProcessID) error {
	return c.unwatch(watch{owner: pid, target: target, ergo: true})
}

// watch monitors a target of the peer, once for each owner.
func (c *Connection) watch(w watch) error {
	s := &c.signals
	s.mu.Lock()
	if _, exists := s.made[w]; exists {
		s.mu.Unlock()
		return nil
	}
	s.serial++
	ref := etf.Ref{
		Node:     etf.Atom(c.core.Name()),
		Creation: uint32(c.core.Creation()),
		Len:      3,
		Words:    [etf.RefWords]uint32{uint32(s.serial) & (1<<18 - 1), uint32(s.serial >> 18), 1},
	}
	s.watches[ref], s.made[w] = w, ref
	if s.owned[w.owner] == nil {
		s.owned[w.owner] = make(map[etf.Ref]bool)
	}
	s.owned[w.owner][ref] = true
	first := s.claim(w.owner)
	s.mu.Unlock()

	if first {
		// So that the peer's monitor goes when the owner does. The node's own
		// pid, which is no process, cannot end before the connection.
		c.arm(w.owner)
	}
	return c.send(w.owner, etf.Tuple{opMonitor, Pid(w.owner), targetTerm(w.target), ref}, nil, false)
}

func (c *Connection) unwatch(w watch) error {
	s := &c.signals
	s.mu.Lock()
	ref, exists := s.made[w]
	if exists {
		s.forgetWatch(ref, w)
	}
	s.mu.Unlock()
	if !exists {
		return nil
	}
	return c.send(w.owner, etf.Tuple{opDemonitor, Pid(w.owner), targetTerm(w.target), ref}, nil, false)
}

// linked sets up a link that a process of the peer asked for. An error says that there
// are too many.
func (c *Connection) linked(from, to etf.Pid) error {
	l := link{local: PID(to), remote: PID(from)}
	if err := c.account.take(signalling, signalCost); err != nil {
		return err
	}
	s := &c.signals
	s.mu.Lock()
	_, exists := s.links[l]
	if !exists {
		s.links[l] = false
	}
	first := s.claim(l.local)
	s.mu.Unlock()
	if exists {
		c.account.give(signalling, signalCost)
	}
	if !first || c.arm(l.local) == nil {
		return nil
	}
	if _, waiting := c.unlink(l); waiting {
		c.sendReason(l.local, opExit, opPayloadExit, to, from, nil, gen.ErrProcessUnknown)
	}
	return nil
}

// unlink forgets a link and says whether there was one, and whether Ergo knows of it.
func (c *Connection) unlink(l link) (ergo, found bool) {
	if ergo, found = c.signals.unlink(l); found {
		c.account.give(signalling, signalCost)
	}
	return ergo, found
}

// linkExit is the end of a process of the peer that is linked to one of ours.
func (c *Connection) linkExit(l link, reason error) {
	ergo, found := c.unlink(l)
	switch {
	case !found:
	case ergo:
		c.ended(l.remote, reason)
	default:
		c.exit(l.remote, l.local, reason)
	}
}

// LinkPID links a process of ours with one of the peer.
func (c *Connection) LinkPID(pid, target gen.PID) error {
	s := &c.signals
	l := link{local: pid, remote: target}
	if err := c.account.take(signalling, signalCost); err != nil {
		return err
	}
	s.mu.Lock()
	_, exists := s.links[l]
	s.links[l] = true
	first := s.claim(pid)
	s.mu.Unlock()
	if exists {
		c.account.give(signalling, signalCost)
	}
	if first {
		if err := c.arm(pid); err != nil {
			return err
		}
	}
	return c.send(pid, etf.Tuple{opLink, Pid(pid), Pid(target)}, nil, false)
}

// UnlinkPID undoes it. An exit signal that crosses it finds no link any more,
// so the peer's acknowledgement need not be awaited.
func (c *Connection) UnlinkPID(pid, target gen.PID) error {
	if _, found := c.unlink(link{local: pid, remote: target}); !found {
		return nil
	}
	s := &c.signals
	s.mu.Lock()
	s.serial++
	id := int64(s.serial)
	s.mu.Unlock()
	return c.send(pid, etf.Tuple{opUnlinkID, id, Pid(pid), Pid(target)}, nil, false)
}
