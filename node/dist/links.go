package dist

import (
	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/node/dist/control"
	"nxvk/node/dist/quota"
	"nxvk/node/dist/signals"
)

// link sets up a link that a process of the peer asked for. An error says that there
// are too many.
func (c *Connection) link(from, to etf.Pid) error {
	l := signals.Link{Local: PID(to), Remote: PID(from)}
	report, err := c.addLink(l, false)
	if err != nil || !report || c.report(l.Local) == nil {
		return err
	}
	if _, waiting := c.unlink(l); waiting {
		c.sendReason(l.Local, control.OpExit, control.OpPayloadExit, to, from, nil, gen.ErrProcessUnknown)
	}
	return nil
}

// addLink enters a link and charges it. report says that Ergo has to be asked to
// report the end of its local process.
func (c *Connection) addLink(l signals.Link, ergo bool) (report bool, err error) {
	if err := c.account.Take(quota.Signals, signals.Cost); err != nil {
		return false, err
	}
	added, report := c.signals.AddLink(l, ergo)
	if !added {
		c.account.Give(quota.Signals, signals.Cost)
	}
	return report, nil
}

// unlink removes a link and says whether there was one, and whether Ergo knows of it.
func (c *Connection) unlink(l signals.Link) (ergo, found bool) {
	if ergo, found = c.signals.RemoveLink(l); found {
		c.account.Give(quota.Signals, signals.Cost)
	}
	return ergo, found
}

// linkExit is the end of a process of the peer that is linked to one of ours.
func (c *Connection) linkExit(l signals.Link, reason error) {
	ergo, found := c.unlink(l)
	switch {
	case !found:
	case ergo:
		c.tellErgo(l.Remote, reason)
	default:
		c.exit(l.Remote, l.Local, reason)
	}
}

// LinkPID links a process of ours with one of the peer.
func (c *Connection) LinkPID(pid, target gen.PID) error {
	report, err := c.addLink(signals.Link{Local: pid, Remote: target}, true)
	if err == nil && report {
		err = c.report(pid)
	}
	if err != nil {
		return err
	}
	return c.send(pid, etf.Tuple{control.OpLink, Pid(pid), Pid(target)}, nil, false)
}

// UnlinkPID undoes it. An exit signal that crosses it finds no link any more,
// so the peer's acknowledgement need not be awaited.
func (c *Connection) UnlinkPID(pid, target gen.PID) error {
	if _, found := c.unlink(signals.Link{Local: pid, Remote: target}); !found {
		return nil
	}
	id := int64(c.signals.Serial())
	return c.send(pid, etf.Tuple{control.OpUnlinkID, id, Pid(pid), Pid(target)}, nil, false)
}
