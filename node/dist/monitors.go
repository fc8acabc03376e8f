package dist

import (
	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/node/dist/control"
	"nxvk/node/dist/quota"
	"nxvk/node/dist/signals"
)

// monitor sets up a monitor of the peer on a pid or a name here. An error says that
// there are too many.
func (c *Connection) monitor(by etf.Pid, on etf.Term, ref etf.Ref) error {
	var target any
	switch t := on.(type) {
	case etf.Pid:
		target = PID(t)
	case etf.Atom:
		target = gen.ProcessID{Name: gen.Atom(t), Node: c.core.Name()}
	}
	c.demonitor(ref) // a reference names one monitor
	if err := c.account.Take(quota.Signals, signals.Cost); err != nil {
		return err
	}
	// The net kernel is the node, which does not end before the connection.
	ends := on != etf.Term(etf.Atom(netKernel))
	report := c.signals.AddIncoming(ref, signals.Incoming{By: by, Target: target}, ends)
	if !report || c.report(target) == nil {
		return nil
	}
	if c.demonitor(ref) {
		c.sendReason(gen.PID{}, control.OpMonitorExit, control.OpPayloadMonitorExit, on, by, ref, gen.ErrProcessUnknown)
	}
	return nil
}

// demonitor removes a monitor of the peer and says whether there was one.
func (c *Connection) demonitor(ref etf.Ref) bool {
	found := c.signals.RemoveIncoming(ref)
	if found {
		c.account.Give(quota.Signals, signals.Cost)
	}
	return found
}

// monitorExit handles the end of a process, or a name, that a process of this node
// monitors.
func (c *Connection) monitorExit(ref etf.Ref, reason error) {
	m, ok := c.signals.TakeOutgoing(ref)
	switch {
	case !ok:
	case m.Ergo:
		c.tellErgo(m.Target, reason)
	default:
		c.notify(m, reason)
	}
}

// notify tells the owner of a monitor that its target is gone.
func (c *Connection) notify(m signals.Outgoing, reason error) {
	options := gen.MessageOptions{Priority: gen.MessagePriorityHigh}
	switch t := m.Target.(type) {
	case gen.PID:
		c.core.RouteSendPID(t, m.Owner, options, gen.MessageDownPID{PID: t, Reason: reason})
	case gen.ProcessID:
		c.core.RouteSendPID(c.core.PID(), m.Owner, options, gen.MessageDownProcessID{ProcessID: t, Reason: reason})
	}
}

// MonitorPID and the three methods after it are what Ergo's processes call.
func (c *Connection) MonitorPID(pid, target gen.PID) error {
	return c.addMonitor(signals.Outgoing{Owner: pid, Target: target, Ergo: true})
}

func (c *Connection) DemonitorPID(pid, target gen.PID) error {
	return c.removeMonitor(signals.Outgoing{Owner: pid, Target: target, Ergo: true})
}

func (c *Connection) MonitorProcessID(pid gen.PID, target gen.ProcessID) error {
	return c.addMonitor(signals.Outgoing{Owner: pid, Target: target, Ergo: true})
}

func (c *Connection) DemonitorProcessID(pid gen.PID, target gen.ProcessID) error {
	return c.removeMonitor(signals.Outgoing{Owner: pid, Target: target, Ergo: true})
}

// addMonitor monitors a target of the peer, once for each owner.
func (c *Connection) addMonitor(m signals.Outgoing) error {
	ref, added, report := c.signals.AddOutgoing(m, c.newRef)
	if !added {
		return nil
	}
	if report {
		// So that the peer's monitor goes when the owner does. The node's own
		// pid, which is no process, cannot end before the connection.
		c.report(m.Owner)
	}
	return c.send(m.Owner, etf.Tuple{control.OpMonitor, Pid(m.Owner), targetTerm(m.Target), ref}, nil, false)
}

// newRef makes a reference of a serial number of this connection.
func (c *Connection) newRef(serial uint64) etf.Ref {
	return etf.Ref{
		Node:     etf.Atom(c.core.Name()),
		Creation: uint32(c.core.Creation()),
		Len:      3,
		Words:    [etf.RefWords]uint32{uint32(serial) & (1<<18 - 1), uint32(serial >> 18), 1},
	}
}

func (c *Connection) removeMonitor(m signals.Outgoing) error {
	ref, found := c.signals.RemoveOutgoing(m)
	if !found {
		return nil
	}
	return c.send(m.Owner, etf.Tuple{control.OpDemonitor, Pid(m.Owner), targetTerm(m.Target), ref}, nil, false)
}

// targetTerm is a target of ours on the peer as the peer knows it.
func targetTerm(target any) etf.Term {
	switch t := target.(type) {
	case gen.PID:
		return Pid(t)
	case gen.ProcessID:
		return etf.Atom(t.Name)
	}
	panic("BUG: target of an unknown type")
}
