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

// addressee is what becomes of a message by its control message.
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
func (c *Connection) wanted(control etf.Tuple) (bool, error) {
	f := fields{control: control}
	op := f.int(0)
	if err := c.checkSender(op, &f); err != nil {
		return false, err
	}
	c.to = addressee{sender: gen.PID{Node: c.name}}
	switch op {
	case opSend, opSendTT:
		c.toPID(f.pid(2))
	case opSendSender, opSendSenderTT:
		c.to.sender = PID(f.pid(1))
		c.toPID(f.pid(2))
	case opRegSend, opRegSendTT:
		c.to.sender = PID(f.pid(1))
		c.toName(f.atom(3))
	case opAliasSend, opAliasSendTT:
		// No process here has an alias that a peer could know.
	case opGroupLeader, opSpawnReply, opSpawnReplyTT, opUnlinkIDAck:
		c.to.kind = toSignals
		return false, f.err
	case opSpawnRequest, opSpawnRequestTT:
		c.to.kind = toRefusal
	default:
		c.to.kind = toSignals
	}
	return c.to.kind != toNobody && c.to.kind != toRefusal, f.err
}

// toPID addresses a process of ours.
func (c *Connection) toPID(to etf.Pid) {
	c.to.pid = PID(to)
	if c.to.inbox = c.node.inboxOf(c.to.pid); c.to.inbox != nil || c.hasPID(c.to.pid) {
		c.to.kind = toProcess
	}
}

// toName addresses a registered process.
func (c *Connection) toName(name etf.Atom) {
	c.to.name = name
	switch c.to.inbox = c.node.inboxNamed(gen.Atom(name)); {
	case c.to.inbox != nil:
		c.to.kind = toProcess
	case name == netKernel:
		c.to.kind = toKernel
	case c.hasName(name):
		c.to.kind = toProcess
	}
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
	if to.Node != c.core.Name() {
		return false
	}
	_, err := c.node.ProcessState(to)
	return err == nil
}

// hasName says whether a process of ours has a name. Ergo has no question for that;
// to unlink what never was linked changes nothing, and finds it out.
func (c *Connection) hasName(name etf.Atom) bool {
	nobody := gen.PID{Node: c.name, ID: 1<<64 - 2}
	to := gen.ProcessID{Name: gen.Atom(name), Node: c.core.Name()}
	return c.core.RouteUnlinkProcessID(nobody, to) == nil
}

// deliver acts on a message from the peer, which wanted has looked at. taken says that
// the payload belongs to an actor from now on. An error ends the reader, errRelieved
// because there is another, any other one with the connection; a message to nobody is
// none.
func (c *Connection) deliver(control etf.Tuple, content payload, size int) (taken bool, err error) {
	c.node.counters.MessagesIn.Add(1)
	switch to := c.to; to.kind {
	case toProcess:
		return c.toActor(to, content, size)
	case toKernel:
		if call, ok := received(to.sender, content, charge{}).(Call); ok && !c.forged(call) {
			c.answerPing(call)
		}
		return false, nil
	case toNobody:
		return c.drop(), nil
	}
	f := fields{control: control}
	switch op := f.int(0); op {
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
		return false, c.signal(op, &f, content.keep())
	}
}

// refuse acts on a message that there is no room for. The process that it is for gets
// Refused in its place: it answers a call, in the words of its protocol. Only a message
// of which nobody can be told, a signal or a call from nobody knows whom, is an error.
func (c *Connection) refuse(_ etf.Tuple, f front, cause error) error {
	to := c.to
	from, tag, readable := f.caller()
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

// toActor hands a message to a process of ours, and what it was charged to an inbox.
// Nobody says when a process with a mailbox of Ergo's has handled a message, so its
// charge ends here.
func (c *Connection) toActor(to addressee, content payload, size int) (taken bool, err error) {
	cost := c.reader.cost
	if to.inbox == nil {
		cost = charge{}
	}
	message := received(to.sender, content, cost)
	if call, ok := message.(Call); ok && c.forged(call) {
		return false, nil
	}
	if to.inbox == nil {
		return c.toMailbox(to, message), nil
	}
	c.reader.cost = charge{}
	return true, c.relay.hand(to.inbox, message, size)
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

// forged counts and says whether a call is in the name of a process that is not the
// peer's. Its answer would go to another node, which asked for none.
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
