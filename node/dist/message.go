package dist

import (
	"time"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/node/dist/inbox"
	"nxvk/node/dist/packet"
	"nxvk/node/dist/quota"
)

// Inbox takes messages from the goroutines that read connections: see Node.Direct.
type Inbox = inbox.Inbox

// Call is a request in the manner of gen_server:call/2. It waits for a Reply.
type Call struct {
	From    gen.PID  // who waits
	Tag     etf.Term // what identifies the request to From
	Request etf.Term
	// Sender is the process that sent the message as the peer's emulator
	// reports it, which no client can forge; From is what the client wrote.
	// It is zero where the peer did not say, as for sends to a name by an
	// emulator without that capability.
	Sender gen.PID
	// Came is when the call arrived. Whoever takes the call sets it, by a clock of
	// its own, to measure how long the answer took.
	Came time.Duration

	charge quota.Charge
}

// Cast is a request in the manner of gen_server:cast/2.
type Cast struct {
	Request etf.Term
	Sender  gen.PID

	charge quota.Charge
}

// Message is any other message.
type Message struct {
	Term   etf.Term
	Sender gen.PID

	charge quota.Charge
}

// Reply answers a Call: send it to Call.From with the Call's Tag. It reaches a
// caller that waits through an alias by that alias, so that an answer after
// the caller's timeout is dropped by the peer.
type Reply struct {
	Tag    etf.Term
	Result etf.Term
}

// NewReply is the Reply to c.
func NewReply(c Call, result etf.Term) Reply {
	return Reply{Tag: c.Tag, Result: result}
}

// Refused is a message that there was no room for: its terms take more memory than
// its connection, or all connections, may have. Nothing of it is kept but who sent it.
// A call waits for a Reply.
type Refused struct {
	From   gen.PID  // who calls; zero where the message is no call
	Tag    etf.Term // what identifies the call to From
	Sender gen.PID  // as in Call
	Err    error    // ErrOverLimit or ErrTooLarge
}

// Call returns the call that was refused, without its request. ok is false where the
// message is no call.
func (r Refused) Call() (c Call, ok bool) {
	return Call{From: r.From, Tag: r.Tag, Sender: r.Sender}, r.From.Node != ""
}

// callerOf returns the caller and the tag of a call whose payload has a front; both are
// zero where the message is no call. readable is false where the message is a call, or
// may be one, and the front does not show its caller.
func callerOf(f packet.Front) (from gen.PID, tag etf.Term, readable bool) {
	switch {
	case f.Size != 3:
		return from, nil, true
	case len(f.Tuple) == 0:
		return from, nil, false
	case f.Tuple[0] != etf.Term(etf.Atom("$gen_call")):
		return from, nil, true
	case len(f.Tuple) == 1:
		return from, nil, false
	}
	from, tag, _ = callFrom(f.Tuple[1])
	return from, tag, true
}

// received gives a payload the form in which actors get it. The charge is settled by
// Handled.
func received(sender gen.PID, p packet.Payload, cost quota.Charge) any {
	if len(p.Tuple) < 2 {
		return Message{Term: p.Keep(), Sender: sender, charge: cost}
	}
	switch p.Tuple[0] {
	case etf.Term(etf.Atom("$gen_call")):
		if len(p.Tuple) != 3 {
			break
		}
		if from, tag, ok := callFrom(p.Tuple[1]); ok {
			return Call{From: from, Tag: tag, Request: p.Tuple[2], Sender: sender, charge: cost}
		}
	case etf.Term(etf.Atom("$gen_cast")):
		if len(p.Tuple) == 2 {
			return Cast{Request: p.Tuple[1], Sender: sender, charge: cost}
		}
	}
	return Message{Term: p.Keep(), Sender: sender, charge: cost}
}

func callFrom(t etf.Term) (gen.PID, etf.Term, bool) {
	from, ok := t.(etf.Tuple)
	if !ok || len(from) != 2 {
		return gen.PID{}, nil, false
	}
	pid, ok := from[0].(etf.Pid)
	if !ok {
		return gen.PID{}, nil, false
	}
	return PID(pid), from[1], true
}

// aliasOf returns the alias in a call's tag, which is [alias | Ref], or has
// that as its head where the caller collects many requests.
func aliasOf(tag etf.Term) (etf.Ref, bool) {
	for range 2 {
		l, ok := tag.(etf.ImproperList)
		if !ok || len(l.Items) == 0 {
			return etf.Ref{}, false
		}
		if ref, ok := l.Tail.(etf.Ref); ok && len(l.Items) == 1 && l.Items[0] == etf.Term(etf.Atom("alias")) {
			return ref, true
		}
		tag = l.Items[0]
	}
	return etf.Ref{}, false
}

// Handled says that a message which an Inbox was given has been handled, once for
// each. Until then its terms count as its connection's memory.
func Handled(message any) {
	switch m := message.(type) {
	case Call:
		m.charge.Settle()
	case Cast:
		m.charge.Settle()
	case Message:
		m.charge.Settle()
	}
}

// PID is the Ergo form of an Erlang pid. Nothing is lost: the serial becomes
// the upper half of the ID.
func PID(p etf.Pid) gen.PID {
	return gen.PID{Node: gen.Atom(p.Node), ID: uint64(p.Serial)<<32 | uint64(p.ID), Creation: int64(p.Creation)}
}

// Pid is the Erlang form of an Ergo pid.
func Pid(p gen.PID) etf.Pid {
	return etf.Pid{Node: etf.Atom(p.Node), ID: uint32(p.ID), Serial: uint32(p.ID >> 32), Creation: uint32(p.Creation)}
}

// convert lets terms hold Ergo's own types.
func convert(v any) (etf.Term, bool) {
	switch v := v.(type) {
	case gen.PID:
		return Pid(v), true
	case gen.Atom:
		return etf.Atom(v), true
	case gen.ProcessID:
		return etf.Tuple{etf.Atom(v.Name), etf.Atom(v.Node)}, true
	case Cast:
		return etf.Tuple{etf.Atom("$gen_cast"), v.Request}, true
	case Message:
		return v.Term, true
	case Reply:
		return etf.Tuple{v.Tag, v.Result}, true
	}
	return nil, false
}
