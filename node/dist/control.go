package dist

import (
	"fmt"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
)

// Control messages. Those that end in TT carry a trace token, which is ignored.
const (
	opLink               = 1
	opSend               = 2
	opExit               = 3
	opUnlink             = 4
	opRegSend            = 6
	opGroupLeader        = 7
	opExit2              = 8
	opSendTT             = 12
	opExitTT             = 13
	opRegSendTT          = 16
	opExit2TT            = 18
	opMonitor            = 19
	opDemonitor          = 20
	opMonitorExit        = 21
	opSendSender         = 22
	opSendSenderTT       = 23
	opPayloadExit        = 24
	opPayloadExitTT      = 25
	opPayloadExit2       = 26
	opPayloadExit2TT     = 27
	opPayloadMonitorExit = 28
	opSpawnRequest       = 29
	opSpawnRequestTT     = 30
	opSpawnReply         = 31
	opSpawnReplyTT       = 32
	opAliasSend          = 33
	opAliasSendTT        = 34
	opUnlinkID           = 35
	opUnlinkIDAck        = 36
)

// netKernel is the name under which every node answers pings.
const netKernel = "net_kernel"

// wanted says whether a message's payload is needed, and refuses the message of a
// sender that is not the peer's. Names that nobody has are what clusters are full of,
// so those messages vanish without being decoded.
func (c *Connection) wanted(control etf.Tuple) (bool, error) {
	f := fields{control: control}
	op := f.int(0)
	if err := c.checkSender(op, &f); err != nil {
		return false, err
	}
	known := true
	switch op {
	case opSend, opSendTT, opSendSender, opSendSenderTT:
		if to := f.pid(2); f.ok() {
			known = c.hasPID(PID(to))
		}
	case opRegSend, opRegSendTT:
		if name := f.atom(3); f.ok() {
			known = c.hasName(name)
		}
	case opAliasSend, opAliasSendTT, opSpawnRequest, opSpawnRequestTT:
		return false, nil
	}
	return known, f.err
}

// checkSender refuses a control message in the name of a process that is not of the
// peer's node: a session belongs to who asks for it.
func (c *Connection) checkSender(op int, f *fields) error {
	var from etf.Term
	switch op {
	case opSendSender, opSendSenderTT, opRegSend, opRegSendTT, opAliasSend, opAliasSendTT, opLink, opUnlink,
		opMonitor, opDemonitor, opExit, opExitTT, opExit2, opExit2TT,
		opPayloadExit, opPayloadExitTT, opPayloadExit2, opPayloadExit2TT:
		from = f.term(1)
	case opUnlinkID, opSpawnRequest, opSpawnRequestTT:
		from = f.term(2)
	}
	if pid, ok := from.(etf.Pid); ok && gen.Atom(pid.Node) != c.name {
		return fmt.Errorf("%w: control message %d of %v", ErrSender, op, pid)
	}
	return f.err
}

// hasPID says whether a process of ours exists.
func (c *Connection) hasPID(to gen.PID) bool {
	if c.node.inboxOf(to) != nil {
		return true
	}
	if to.Node != c.core.Name() {
		return false
	}
	_, err := c.node.ProcessState(to)
	return err == nil
}

// hasName says whether a process of ours has a name. Ergo has no question for that;
// to unlink what never was linked changes nothing, and finds it out.
func (c *Connection) hasName(name etf.Atom) bool {
	if name == netKernel || c.node.inboxNamed(gen.Atom(name)) != nil {
		return true
	}
	nobody := gen.PID{Node: c.name, ID: 1<<64 - 2}
	to := gen.ProcessID{Name: gen.Atom(name), Node: c.core.Name()}
	return c.core.RouteUnlinkProcessID(nobody, to) == nil
}

// deliver acts on a message from the peer. taken says that the payload belongs
// to an actor from now on. An error ends the reader, errRelieved because there
// is another, any other one with the connection; a message to nobody is none.
func (c *Connection) deliver(control etf.Tuple, payload etf.Term, size int) (taken bool, err error) {
	c.node.counters.MessagesIn.Add(1)
	f := fields{control: control}
	switch op := f.int(0); op {
	case opSend, opSendTT:
		if to := f.pid(2); f.ok() {
			return c.toPID(gen.PID{Node: c.name}, to, payload, size)
		}
		return false, f.err
	case opSendSender, opSendSenderTT:
		if from, to := f.pid(1), f.pid(2); f.ok() {
			return c.toPID(PID(from), to, payload, size)
		}
		return false, f.err
	case opRegSend, opRegSendTT:
		if from, name := f.pid(1), f.atom(3); f.ok() {
			return c.toName(PID(from), name, payload, size)
		}
		return false, f.err
	case opAliasSend, opAliasSendTT:
		// No process here has an alias that a peer could know.
		c.node.counters.Dropped.Add(1)
		return false, nil
	case opSpawnRequest, opSpawnRequestTT:
		id, from := f.term(1), f.pid(2)
		if f.ok() {
			refusal := etf.Tuple{opSpawnReply, id, from, 0, etf.Atom("notsup")}
			c.send(gen.PID{}, refusal, nil, false)
		}
		return false, f.err
	case opGroupLeader, opSpawnReply, opSpawnReplyTT, opUnlinkIDAck:
		return false, nil
	default:
		return false, c.signal(op, &f, payload)
	}
}

// signal acts on links, monitors and exits.
func (c *Connection) signal(op int, f *fields, payload etf.Term) error {
	switch op {
	case opLink:
		if from, to := f.pid(1), f.pid(2); f.ok() {
			return c.linked(from, to)
		}
	case opUnlink:
		if from, to := f.pid(1), f.pid(2); f.ok() {
			c.unlink(link{local: PID(to), remote: PID(from)})
		}
	case opUnlinkID:
		if id, from, to := f.term(1), f.pid(2), f.pid(3); f.ok() {
			c.unlink(link{local: PID(to), remote: PID(from)})
			c.send(PID(to), etf.Tuple{opUnlinkIDAck, id, to, from}, nil, false)
		}
	case opExit, opExitTT, opPayloadExit, opPayloadExitTT:
		if from, to, reason := f.pid(1), f.pid(2), f.reason(op, payload); f.ok() {
			c.linkExit(link{local: PID(to), remote: PID(from)}, reason)
		}
	case opExit2, opExit2TT, opPayloadExit2, opPayloadExit2TT:
		if from, to, reason := f.pid(1), f.pid(2), f.reason(op, payload); f.ok() {
			c.exit(PID(from), PID(to), reason)
		}
	case opMonitor:
		if from, to, ref := f.pid(1), f.term(2), f.ref(3); f.ok() {
			return c.watchedBy(from, to, ref)
		}
	case opDemonitor:
		if ref := f.ref(3); f.ok() {
			c.unwatched(ref)
		}
	case opMonitorExit, opPayloadMonitorExit:
		if ref, reason := f.ref(3), f.reason(op, payload); f.ok() {
			c.watchedExit(ref, reason)
		}
	default:
		return fmt.Errorf("%w: control message %d", ErrMalformed, op)
	}
	return f.err
}

// toPID hands a message to a process of ours.
func (c *Connection) toPID(from gen.PID, to etf.Pid, payload etf.Term, size int) (taken bool, err error) {
	if in := c.node.inboxOf(PID(to)); in != nil {
		return c.toInbox(in, from, payload, size)
	}
	if gen.Atom(to.Node) != c.core.Name() {
		return c.drop(), nil
	}
	return c.toMailbox(from, payload, func(message any) error {
		return c.core.RouteSendPID(from, PID(to), gen.MessageOptions{}, message)
	})
}

// toName hands a message to a registered process.
func (c *Connection) toName(from gen.PID, name etf.Atom, payload etf.Term, size int) (taken bool, err error) {
	if in := c.node.inboxNamed(gen.Atom(name)); in != nil {
		return c.toInbox(in, from, payload, size)
	}
	if name == netKernel {
		c.answerPing(received(from, payload, charge{}))
		return false, nil
	}
	return c.toMailbox(from, payload, func(message any) error {
		to := gen.ProcessID{Name: gen.Atom(name), Node: c.core.Name()}
		return c.core.RouteSendProcessID(from, to, gen.MessageOptions{}, message)
	})
}

// toInbox hands a message to an inbox, and what it was charged with it.
func (c *Connection) toInbox(in Inbox, from gen.PID, payload etf.Term, size int) (taken bool, err error) {
	message := received(from, payload, c.reader.cost)
	if c.forged(message) {
		return false, nil
	}
	c.reader.cost = charge{}
	return true, c.relay.hand(in, message, size)
}

// toMailbox hands a message to a process that Ergo has a mailbox for. Nobody says when
// that has handled it, so its charge ends here.
func (c *Connection) toMailbox(from gen.PID, payload etf.Term, send func(any) error) (taken bool, err error) {
	message := received(from, payload, charge{})
	if c.forged(message) {
		return false, nil
	}
	if send(message) != nil {
		return c.drop(), nil
	}
	return true, nil
}

// forged counts and says whether a message is a call in the name of a process that is
// not the peer's. Its answer would go to another node, which asked for none.
func (c *Connection) forged(message any) bool {
	call, ok := message.(Call)
	if !ok || call.From.Node == c.name {
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
func (c *Connection) answerPing(message any) {
	call, ok := message.(Call)
	if !ok {
		return
	}
	request, ok := call.Request.(etf.Tuple)
	if ok && len(request) == 2 && request[0] == etf.Term(etf.Atom("is_auth")) {
		c.SendPID(gen.PID{}, call.From, gen.MessageOptions{}, NewReply(call, etf.Atom("yes")))
	}
}

// fields reads the elements of a control message. The first one that is not
// what it should be is kept as the error.
type fields struct {
	control etf.Tuple
	err     error
}

func (f *fields) ok() bool { return f.err == nil }

func (f *fields) term(i int) etf.Term {
	if i < len(f.control) {
		return f.control[i]
	}
	f.bad(i)
	return nil
}

func (f *fields) bad(i int) {
	if f.err == nil {
		f.err = fmt.Errorf("%w: element %d of control message %v", ErrMalformed, i+1, f.control[0])
	}
}

func (f *fields) int(i int) int {
	n, ok := f.term(i).(int64)
	if !ok {
		f.bad(i)
	}
	return int(n)
}

func (f *fields) pid(i int) etf.Pid {
	p, ok := f.term(i).(etf.Pid)
	if !ok {
		f.bad(i)
	}
	return p
}

func (f *fields) ref(i int) etf.Ref {
	r, ok := f.term(i).(etf.Ref)
	if !ok {
		f.bad(i)
	}
	return r
}

func (f *fields) atom(i int) etf.Atom {
	a, ok := f.term(i).(etf.Atom)
	if !ok {
		f.bad(i)
	}
	return a
}

// reason reads an exit reason: the payload, or the last element in the old
// forms.
func (f *fields) reason(op int, payload etf.Term) error {
	switch op {
	case opPayloadExit, opPayloadExitTT, opPayloadExit2, opPayloadExit2TT, opPayloadMonitorExit:
		return reasonError(payload)
	}
	return reasonError(f.term(len(f.control) - 1))
}
