package dist

import (
	"time"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/node/dist/control"
	"nxvk/node/dist/quota"
	"nxvk/node/dist/signals"
)

// report makes Ergo report the end of a target here. It asks twice: Ergo would never
// report a process that ended between Ergo's look for it and its entry in Ergo's table,
// and the second look finds that out.
func (c *Connection) report(target any) error {
	for range 2 {
		if err := c.askReport(target); err != nil {
			c.signals.Unreported(target)
			return err
		}
	}
	return nil
}

// askReport registers a pid that stands for the peer with Ergo, as a process that
// monitors a target here.
func (c *Connection) askReport(target any) error {
	by := gen.PID{Node: c.name, ID: 1<<64 - 1, Creation: int64(c.peer.Creation)}
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

// SendTerminatePID tells the processes of the peer that monitor a process, or are
// linked to it, that it ended. It also ends the monitors that the process has at the
// peer.
func (c *Connection) SendTerminatePID(target gen.PID, reason error) error {
	defer c.signals.Told()
	c.tellEnd(target, Pid(target), reason)
	linked, monitors := c.signals.OwnerEnded(target)
	c.account.Give(quota.Signals, int64(len(linked))*signals.Cost)
	for _, remote := range linked {
		c.sendReason(target, control.OpExit, control.OpPayloadExit, Pid(target), Pid(remote), nil, reason)
	}
	for ref, m := range monitors {
		c.send(target, etf.Tuple{control.OpDemonitor, Pid(target), targetTerm(m.Target), ref}, nil, false)
	}
	return nil
}

// SendTerminateProcessID tells the peer that the process of a name ended.
func (c *Connection) SendTerminateProcessID(target gen.ProcessID, reason error) error {
	defer c.signals.Told()
	c.tellEnd(target, etf.Atom(target.Name), reason)
	return nil
}

// tellEnd tells those of the peer who monitor a target of ours, which is name there.
func (c *Connection) tellEnd(target any, name etf.Term, reason error) {
	monitors := c.signals.TargetEnded(target)
	c.account.Give(quota.Signals, int64(len(monitors))*signals.Cost)
	for ref, m := range monitors {
		c.sendReason(gen.PID{}, control.OpMonitorExit, control.OpPayloadMonitorExit, name, m.By, ref, reason)
	}
}

// exit delivers an exit signal. An Ergo actor that does not trap exits ends
// for any reason, an Erlang process not for normal, so that one is dropped.
func (c *Connection) exit(from, to gen.PID, reason error) {
	if to.Node == c.core.Name() && reason != gen.TerminateReasonNormal {
		c.core.RouteSendExit(from, to, reason)
	}
}

// tellErgo tells Ergo that a target of the peer is gone. Ergo enters who monitors it
// into its table only after the peer has been asked, so a quick answer may come
// before the entry; telling it again later reaches those, and nobody twice.
func (c *Connection) tellErgo(target any, reason error) {
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

// tellLoss tells the processes that Ergo does not know of that the connection is lost.
func (c *Connection) tellLoss() {
	monitors, links, incoming := c.signals.Clear()
	c.account.Give(quota.Signals, int64(incoming+len(links))*signals.Cost)
	for _, m := range monitors {
		if !m.Ergo {
			c.notify(m, gen.ErrNoConnection)
		}
	}
	for l, ergo := range links {
		if !ergo {
			c.exit(l.Remote, l.Local, gen.ErrNoConnection)
		}
	}
}
