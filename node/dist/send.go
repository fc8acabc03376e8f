package dist

import (
	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/node/dist/control"
	"nxvk/node/dist/handshake"
)

// SendPID sends to a process of the peer. Ergo also sends its own notices this way, to
// the pid that stands for the peer (Connection.report). SendTerminatePID tells the peer
// of those ends.
func (c *Connection) SendPID(from, to gen.PID, _ gen.MessageOptions, message any) error {
	switch m := message.(type) {
	case gen.MessageDownPID, gen.MessageDownProcessID:
		return nil
	case Reply:
		if alias, ok := aliasOf(m.Tag); ok && c.peer.Flags&handshake.FlagAlias != 0 {
			return c.send(from, etf.Tuple{control.OpAliasSend, Pid(from), alias}, m, false)
		}
		return c.send(from, c.sendTo(from, to), m, false)
	}
	return c.send(from, c.sendTo(from, to), message, true)
}

// sendTo returns the control message of a send to a pid.
func (c *Connection) sendTo(from, to gen.PID) etf.Tuple {
	if c.peer.Flags&handshake.FlagSendSender != 0 {
		return etf.Tuple{control.OpSendSender, Pid(from), Pid(to)}
	}
	return etf.Tuple{control.OpSend, etf.Atom(""), Pid(to)}
}

// SendProcessID sends to a registered process of the peer.
func (c *Connection) SendProcessID(from gen.PID, to gen.ProcessID, _ gen.MessageOptions, message any) error {
	return c.send(from, etf.Tuple{control.OpRegSend, Pid(from), etf.Atom(""), etf.Atom(to.Name)}, message, true)
}

// SendAlias sends to an alias of a process of the peer. Ergo's aliases and
// Erlang's differ in size, so only a Reply can be addressed so.
func (c *Connection) SendAlias(gen.PID, gen.Alias, gen.MessageOptions, any) error {
	return gen.ErrUnsupported
}

// SendExit is exit/2.
func (c *Connection) SendExit(from, to gen.PID, reason error) error {
	return c.sendReason(from, control.OpExit2, control.OpPayloadExit2, Pid(from), Pid(to), nil, reason)
}

// sendReason sends one of the signals that carry an exit reason, in the form
// that the peer knows.
func (c *Connection) sendReason(sender gen.PID, op, payloadOp int, from, to, ref etf.Term, reason error) error {
	t := reasonTerm(reason)
	message := etf.Tuple{op, from, to}
	if ref != nil {
		message = append(message, ref)
	}
	if c.peer.Flags&handshake.FlagExitPayload == 0 {
		return c.send(sender, append(message, t), nil, false)
	}
	message[0] = payloadOp
	return c.send(sender, message, t, false)
}
