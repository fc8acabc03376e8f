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
			c.linked(from, to)
		}
	case opUnlink:
		if from, to := f.pid(1), f.pid(2); f.ok() {
			c.signals.unlink(link{local: PID(to), remote: PID(from)})
		}
	case opUnlinkID:
		if id, from, to := f.term(1), f.pid(2), f.pid(3); f.ok() {
			c.signals.unlink(link{local: PID(to), remote: PID(from)})
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
			c.watchedBy(from, to, ref)
		}
	case opDemonitor:
		if ref := f.ref(3); f.ok() {
			c.signals.unwatched(ref)
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
		return true, c.relay.hand(in, received(from, payload), size)
	}
	if gen.Atom(to.Node) != c.core.Name() {
		return c.drop(), nil
	}
	if err := c.core.RouteSendPID(from, PID(to), gen.MessageOptions{}, received(from, payload)); err != nil {
		return c.drop(), nil
	}
	return true, nil
}

// toName hands a message to a registered process. Names that nobody has are
// what clusters are full of, so those messages vanish without a word.
func (c *Connection) toName(from gen.PID, name etf.Atom, payload etf.Term, size int) (taken bool, err error) {
	if in := c.node.inboxNamed(gen.Atom(name)); in != nil {
		return true, c.relay.hand(in, received(from, payload), size)
	}
	if name == netKernel {
		c.answerPing(received(from, payload))
		return false, nil
	}
	to := gen.ProcessID{Name: gen.Atom(name), Node: c.core.Name()}
	if err := c.core.RouteSendProcessID(from, to, gen.MessageOptions{}, received(from, payload)); err != nil {
		return c.drop(), nil
	}
	return true, nil
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
