package dist

import (
	"fmt"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/node/dist/control"
	"nxvk/node/dist/packet"
	"nxvk/node/dist/quota"
	"nxvk/node/dist/signals"
)

// netKernel is the name under which every node answers pings.
const netKernel = "net_kernel"

// addressee is who gets a message, by its control message.
type addressee struct {
	kind   addressKind
	sender gen.PID
	inbox  Inbox // of a process that has one
	pid    gen.PID
	name   etf.Atom // of a process without an inbox that is addressed by name
}

type addressKind int

const (
	toNobody  addressKind = iota // the message vanishes
	toProcess                    // a process of ours gets it
	toKernel                     // the net kernel does, which this node has no process for
	toRefusal                    // it asks for a process
	toSignals                    // it is a link, a monitor, an exit or what is unknown
)

// wanted finds out who gets a message and says whether its payload is needed. It
// refuses the message of a sender that is not the peer's. Names that nobody has are
// what clusters are full of, so those messages vanish without being decoded.
func (c *Connection) wanted(message etf.Tuple) (bool, error) {
	m := control.NewMessage(message)
	if err := m.CheckSender(etf.Atom(c.name)); err != nil {
		return false, err
	}
	c.to = addressee{sender: gen.PID{Node: c.name}}
	switch m.Op() {
	case control.OpSend, control.OpSendTT:
		c.toPID(m.Pid(2))
	case control.OpSendSender, control.OpSendSenderTT:
		c.to.sender = PID(m.Pid(1))
		c.toPID(m.Pid(2))
	case control.OpRegSend, control.OpRegSendTT:
		c.to.sender = PID(m.Pid(1))
		c.toName(m.Atom(3))
	case control.OpAliasSend, control.OpAliasSendTT:
		// No process here has an alias that a peer could know.
	case control.OpGroupLeader, control.OpSpawnReply, control.OpSpawnReplyTT, control.OpUnlinkIDAck:
		c.to.kind = toSignals
		return false, m.Err()
	case control.OpSpawnRequest, control.OpSpawnRequestTT:
		c.to.kind = toRefusal
	default:
		c.to.kind = toSignals
	}
	return c.to.kind != toNobody && c.to.kind != toRefusal, m.Err()
}

// toPID addresses a process of ours.
func (c *Connection) toPID(to etf.Pid) {
	c.to.pid = PID(to)
	if c.to.inbox = c.node.inboxes.ByPID(c.to.pid); c.to.inbox != nil || c.hasPID(c.to.pid) {
		c.to.kind = toProcess
	}
}

// toName addresses a registered process.
func (c *Connection) toName(name etf.Atom) {
	c.to.name = name
	switch c.to.inbox = c.node.inboxes.ByName(gen.Atom(name)); {
	case c.to.inbox != nil:
		c.to.kind = toProcess
	case name == netKernel:
		c.to.kind = toKernel
	case c.hasName(name):
		c.to.kind = toProcess
	}
}

// hasPID says whether a process of ours exists.
func (c *Connection) hasPID(to gen.PID) bool {
	if to.Node != c.core.Name() {
		return false
	}
	_, err := c.node.ProcessState(to)
	return err == nil
}

// hasName says whether a process of ours has a name. Ergo has no call that tells. To
// unlink a process that was never linked changes nothing, and fails where there is none.
func (c *Connection) hasName(name etf.Atom) bool {
	nobody := gen.PID{Node: c.name, ID: 1<<64 - 2}
	to := gen.ProcessID{Name: gen.Atom(name), Node: c.core.Name()}
	return c.core.RouteUnlinkProcessID(nobody, to) == nil
}

// deliver acts on a message from the peer, which wanted has looked at. taken says that
// the payload belongs to an actor from now on. An error ends the reader, inbox.ErrPromoted
// because there is another, any other one with the connection; a message to nobody is
// none.
func (c *Connection) deliver(m packet.Message) (taken bool, err error) {
	c.node.counters.MessagesIn.Add(1)
	switch to := c.to; to.kind {
	case toProcess:
		return c.toActor(to, m)
	case toKernel:
		if call, ok := received(to.sender, m.Payload, quota.Charge{}).(Call); ok && !c.forged(call) {
			c.answerPing(call)
		}
		return false, nil
	case toNobody:
		return c.drop(), nil
	}
	f := control.NewMessage(m.Control)
	switch f.Op() {
	case control.OpSpawnRequest, control.OpSpawnRequestTT:
		id, from := f.Term(1), f.Pid(2)
		if f.OK() {
			refusal := etf.Tuple{control.OpSpawnReply, id, from, 0, etf.Atom("notsup")}
			c.send(gen.PID{}, refusal, nil, false)
		}
		return false, f.Err()
	case control.OpGroupLeader, control.OpSpawnReply, control.OpSpawnReplyTT, control.OpUnlinkIDAck:
		return false, nil
	default:
		return false, c.signal(&f, m.Payload.Keep())
	}
}

// refuse acts on a message that there is no room for. The process that it is for gets
// Refused in its place, so that it can answer a call in the words of its protocol. It is
// an error where nobody can be told: of a signal, and of a call whose caller is unknown.
func (c *Connection) refuse(_ etf.Tuple, f packet.Front, cause error) error {
	to := c.to
	from, tag, readable := callerOf(f)
	if !readable || to.kind == toSignals {
		return cause
	}
	c.node.counters.MessagesIn.Add(1)
	c.node.counters.refusals[refusalLimit].Add(1)
	c.node.warnSome("refuse a message from %s: %v", c.name, cause)
	message := Refused{From: from, Tag: tag, Sender: to.sender, Err: cause}
	if call, ok := message.Call(); to.kind == toKernel || ok && c.forged(call) {
		return nil
	}
	if to.inbox == nil {
		c.toMailbox(to, message)
	} else if to.inbox.Put(message) {
		go to.inbox.Run() // the reader may be in the middle of a packet
	}
	return nil
}

// signal acts on links, monitors and exits.
func (c *Connection) signal(f *control.Message, payload etf.Term) error {
	switch op := f.Op(); op {
	case control.OpLink:
		if from, to := f.Pid(1), f.Pid(2); f.OK() {
			return c.link(from, to)
		}
	case control.OpUnlink:
		if from, to := f.Pid(1), f.Pid(2); f.OK() {
			c.unlink(signals.Link{Local: PID(to), Remote: PID(from)})
		}
	case control.OpUnlinkID:
		if id, from, to := f.Term(1), f.Pid(2), f.Pid(3); f.OK() {
			c.unlink(signals.Link{Local: PID(to), Remote: PID(from)})
			c.send(PID(to), etf.Tuple{control.OpUnlinkIDAck, id, to, from}, nil, false)
		}
	case control.OpExit, control.OpExitTT, control.OpPayloadExit, control.OpPayloadExitTT:
		if from, to, reason := f.Pid(1), f.Pid(2), reasonError(f.Reason(payload)); f.OK() {
			c.linkExit(signals.Link{Local: PID(to), Remote: PID(from)}, reason)
		}
	case control.OpExit2, control.OpExit2TT, control.OpPayloadExit2, control.OpPayloadExit2TT:
		if from, to, reason := f.Pid(1), f.Pid(2), reasonError(f.Reason(payload)); f.OK() {
			c.exit(PID(from), PID(to), reason)
		}
	case control.OpMonitor:
		if from, to, ref := f.Pid(1), f.Term(2), f.Ref(3); f.OK() {
			return c.monitor(from, to, ref)
		}
	case control.OpDemonitor:
		if ref := f.Ref(3); f.OK() {
			c.demonitor(ref)
		}
	case control.OpMonitorExit, control.OpPayloadMonitorExit:
		if ref, reason := f.Ref(3), reasonError(f.Reason(payload)); f.OK() {
			c.monitorExit(ref, reason)
		}
	default:
		return fmt.Errorf("%w: unknown operation %d", control.ErrMalformed, op)
	}
	return f.Err()
}

// toActor hands a message to a process of ours, and what it was charged to an inbox.
// Nobody says when a process with a mailbox of Ergo's has handled a message, so its
// charge ends here.
func (c *Connection) toActor(to addressee, m packet.Message) (taken bool, err error) {
	cost := m.Cost
	if to.inbox == nil {
		cost = quota.Charge{}
	}
	message := received(to.sender, m.Payload, cost)
	if call, ok := message.(Call); ok && c.forged(call) {
		return false, nil
	}
	if to.inbox != nil {
		return true, c.leader.Handle(to.inbox, message, m.Size)
	}
	if taken = c.toMailbox(to, message); taken {
		m.Cost.Settle()
	}
	return taken, nil
}

// toMailbox hands a message to a process that Ergo has a mailbox for.
func (c *Connection) toMailbox(to addressee, message any) (taken bool) {
	var err error
	if to.name != "" {
		err = c.core.RouteSendProcessID(to.sender, gen.ProcessID{Name: gen.Atom(to.name), Node: c.core.Name()}, gen.MessageOptions{}, message)
	} else {
		err = c.core.RouteSendPID(to.sender, to.pid, gen.MessageOptions{}, message)
	}
	if err != nil {
		return c.drop()
	}
	return true
}

// forged reports and counts a call in the name of a process that is not of the peer's
// node. Its answer would go to another node, which has not asked.
func (c *Connection) forged(call Call) bool {
	if call.From.Node == c.name {
		return false
	}
	c.node.counters.refusals[refusalSender].Add(1)
	c.node.warnSome("refuse a call from %s in the name of %v", c.name, Pid(call.From))
	return true
}

func (c *Connection) drop() bool {
	c.node.counters.Dropped.Add(1)
	return false
}

// answerPing answers net_adm:ping/1 in place of a net_kernel process.
func (c *Connection) answerPing(call Call) {
	request, ok := call.Request.(etf.Tuple)
	if ok && len(request) == 2 && request[0] == etf.Term(etf.Atom("is_auth")) {
		c.SendPID(gen.PID{}, call.From, gen.MessageOptions{}, NewReply(call, etf.Atom("yes")))
	}
}
