package dist

import (
	"slices"
	"time"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
)

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
	// Came is when the call arrived, by the clock of whoever takes it, for what
	// that tells of the time that it took.
	Came time.Duration

	charge charge
}

// Cast is a request in the manner of gen_server:cast/2.
type Cast struct {
	Request etf.Term
	Sender  gen.PID

	charge charge
}

// Message is any other message.
type Message struct {
	Term   etf.Term
	Sender gen.PID

	charge charge
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

// payload is what a message has beside its control message: a tuple of few elements,
// which lie in work space of the reader, or any other term.
type payload struct {
	tuple etf.Tuple
	term  etf.Term
}

// keep returns the payload as a term that may outlive the reader's work space.
func (p payload) keep() etf.Term {
	if p.tuple != nil {
		return slices.Clone(p.tuple)
	}
	return p.term
}

// front is the front of a payload that is a tagged tuple, see etf.Decoder.
type front struct {
	tuple etf.Tuple
	size  int
}

// caller returns who calls. readable is false where somebody does, or may, of whom
// the front does not tell.
func (f front) caller() (from gen.PID, tag etf.Term, readable bool) {
	switch {
	case f.size != 3:
		return from, nil, true
	case len(f.tuple) == 0:
		return from, nil, false
	case f.tuple[0] != etf.Term(etf.Atom("$gen_call")):
		return from, nil, true
	case len(f.tuple) == 1:
		return from, nil, false
	}
	from, tag, _ = callFrom(f.tuple[1])
	return from, tag, true
}

// received gives a payload the form in which actors get it. The charge is settled by
// Handled.
func received(sender gen.PID, p payload, cost charge) any {
	if len(p.tuple) < 2 {
		return Message{Term: p.keep(), Sender: sender, charge: cost}
	}
	switch p.tuple[0] {
	case etf.Term(etf.Atom("$gen_call")):
		if len(p.tuple) != 3 {
			break
		}
		if from, tag, ok := callFrom(p.tuple[1]); ok {
			return Call{From: from, Tag: tag, Request: p.tuple[2], Sender: sender, charge: cost}
		}
	case etf.Term(etf.Atom("$gen_cast")):
		if len(p.tuple) == 2 {
			return Cast{Request: p.tuple[1], Sender: sender, charge: cost}
		}
	}
	return Message{Term: p.keep(), Sender: sender, charge: cost}
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
