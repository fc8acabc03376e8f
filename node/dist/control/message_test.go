package control

import (
	"errors"
	"testing"

	"nxvk/gen/etf"
)

var (
	peer     = etf.Pid{Node: "peer@h", ID: 1}
	stranger = etf.Pid{Node: "stranger@h", ID: 1}
	ours     = etf.Pid{Node: "ours@h", ID: 1}
)

// TestMessage reads elements of the right type, of a wrong one, and beyond the end.
func TestMessage(t *testing.T) {
	ref := etf.Ref{Node: "peer@h", Len: 1}
	m := NewMessage(etf.Tuple{int64(OpMonitor), peer, etf.Atom("nxvk"), ref})
	if m.Op() != OpMonitor || m.Pid(1) != peer || m.Atom(2) != "nxvk" || m.Ref(3) != ref || !m.OK() {
		t.Errorf("the message is misread: %v", m.Err())
	}
	for name, read := range map[string]func(m *Message){
		"a pid":      func(m *Message) { m.Pid(2) },
		"an atom":    func(m *Message) { m.Atom(1) },
		"a ref":      func(m *Message) { m.Ref(1) },
		"an element": func(m *Message) { m.Term(4) },
	} {
		m := m
		read(&m)
		if !errors.Is(m.Err(), ErrMalformed) || m.OK() {
			t.Errorf("%s that is not there: %v", name, m.Err())
		}
	}
	m = NewMessage(etf.Tuple{etf.Atom("x")})
	if m.Op(); !errors.Is(m.Err(), ErrMalformed) {
		t.Errorf("an operation that is no number: %v", m.Err())
	}
}

// TestSenders has every operation that names its sender speak for the peer, and for
// another node.
func TestSenders(t *testing.T) {
	first := []int{OpSendSender, OpSendSenderTT, OpRegSend, OpRegSendTT, OpAliasSend, OpAliasSendTT, OpLink, OpUnlink,
		OpMonitor, OpDemonitor, OpExit, OpExitTT, OpExit2, OpExit2TT, OpPayloadExit, OpPayloadExitTT, OpPayloadExit2, OpPayloadExit2TT}
	second := []int{OpUnlinkID, OpSpawnRequest, OpSpawnRequestTT}
	for _, tt := range []struct {
		ops []int
		at  int
	}{{first, 1}, {second, 2}} {
		for _, op := range tt.ops {
			elements := etf.Tuple{int64(op), ours, ours, ours}
			elements[tt.at] = peer
			if m := NewMessage(elements); m.CheckSender("peer@h") != nil {
				t.Errorf("operation %d of the peer: %v", op, m.CheckSender("peer@h"))
			}
			elements[tt.at] = stranger
			if m := NewMessage(elements); !errors.Is(m.CheckSender("peer@h"), ErrSender) {
				t.Errorf("operation %d of another node: %v", op, m.CheckSender("peer@h"))
			}
		}
	}
	if m := NewMessage(etf.Tuple{int64(OpSend), etf.Atom(""), ours}); m.CheckSender("peer@h") != nil {
		t.Error("a message that names no sender is refused")
	}
}

// TestReason finds the exit reason in the payload and in the message.
func TestReason(t *testing.T) {
	for op, want := range map[int]etf.Term{
		OpExit: etf.Atom("own"), OpExit2: etf.Atom("own"), OpMonitorExit: etf.Atom("own"),
		OpPayloadExit: etf.Atom("payload"), OpPayloadExit2: etf.Atom("payload"), OpPayloadMonitorExit: etf.Atom("payload"),
	} {
		m := NewMessage(etf.Tuple{int64(op), peer, ours, etf.Atom("own")})
		if got := m.Reason(etf.Atom("payload")); got != want {
			t.Errorf("operation %d: %v, want %v", op, got, want)
		}
	}
}
