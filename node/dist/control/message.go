package control

import (
	"errors"
	"fmt"

	"nxvk/gen/etf"
)

var (
	// ErrMalformed says that a control message has not the form of its operation.
	ErrMalformed = errors.New("malformed control message")
	// ErrSender says that a peer speaks in the name of another node's process.
	ErrSender = errors.New("sender is not of the peer's node")
)

// Message reads the elements of a control message. It keeps the first error: that an
// element is missing or of another type than the method's, which returns the zero value.
type Message struct {
	elements etf.Tuple
	err      error
}

// NewMessage returns a reader of a control message of at least one element.
func NewMessage(elements etf.Tuple) Message { return Message{elements: elements} }

// Err returns the first error, or nil.
func (m *Message) Err() error { return m.err }

// OK reports whether there was no error.
func (m *Message) OK() bool { return m.err == nil }

// Op returns the operation.
func (m *Message) Op() int {
	n, ok := m.Term(0).(int64)
	if !ok {
		m.fail(0)
	}
	return int(n)
}

// Term returns element i.
func (m *Message) Term(i int) etf.Term {
	if i < len(m.elements) {
		return m.elements[i]
	}
	m.fail(i)
	return nil
}

func (m *Message) fail(i int) {
	if m.err == nil {
		m.err = fmt.Errorf("%w: element %d of operation %v", ErrMalformed, i+1, m.elements[0])
	}
}

// Pid returns element i, a pid.
func (m *Message) Pid(i int) etf.Pid {
	p, ok := m.Term(i).(etf.Pid)
	if !ok {
		m.fail(i)
	}
	return p
}

// Ref returns element i, a reference.
func (m *Message) Ref(i int) etf.Ref {
	r, ok := m.Term(i).(etf.Ref)
	if !ok {
		m.fail(i)
	}
	return r
}

// Atom returns element i, an atom.
func (m *Message) Atom(i int) etf.Atom {
	a, ok := m.Term(i).(etf.Atom)
	if !ok {
		m.fail(i)
	}
	return a
}

// Reason returns the exit reason: the payload, or the last element where the operation
// has no payload.
func (m *Message) Reason(payload etf.Term) etf.Term {
	switch m.Op() {
	case OpPayloadExit, OpPayloadExitTT, OpPayloadExit2, OpPayloadExit2TT, OpPayloadMonitorExit:
		return payload
	}
	return m.Term(len(m.elements) - 1)
}

// CheckSender returns ErrSender where the message is in the name of a process that is
// not of the peer's node. A session belongs to the process that asks for it.
func (m *Message) CheckSender(peer etf.Atom) error {
	var from etf.Term
	op := m.Op()
	switch op {
	case OpSendSender, OpSendSenderTT, OpRegSend, OpRegSendTT, OpAliasSend, OpAliasSendTT, OpLink, OpUnlink,
		OpMonitor, OpDemonitor, OpExit, OpExitTT, OpExit2, OpExit2TT,
		OpPayloadExit, OpPayloadExitTT, OpPayloadExit2, OpPayloadExit2TT:
		from = m.Term(1)
	case OpUnlinkID, OpSpawnRequest, OpSpawnRequestTT:
		from = m.Term(2)
	}
	if pid, ok := from.(etf.Pid); ok && pid.Node != peer {
		return fmt.Errorf("%w: operation %d of %v", ErrSender, op, pid)
	}
	return m.err
}
