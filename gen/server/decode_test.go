package server

import (
	"testing"

	"nxvk/gen/etf"
	"nxvk/gen/server/report"
	"nxvk/gen/wire"
	"nxvk/node/dist"
	"nxvk/ops"
)

// The goroutine that brings a message decodes it, so that long ones do not take turns of the
// server; what cannot be decoded comes as it is.
func TestDecoded(t *testing.T) {
	d := &Device{}
	d.cfg.Reporter = report.New("nxvk_0")
	var got []any
	d.mailbox.Handle = func(m any) { got = append(got, m) }
	bring := deviceInbox{d}
	stream := tuple{atom("nxvk"), list{add(2, 3, 1, 1), tuple{atom("no_such_op"), list(nil), list(nil), list(nil)}}}
	for _, m := range []any{dist.Message{Term: stream}, dist.Cast{Request: stream},
		dist.Call{Request: tuple{atom("then"), list{add(2, 3, 1, 1)}, atom("sync")}}, dist.Message{Term: atom("hello")}} {
		if !bring.Put(m) {
			t.Fatal("somebody else handles messages")
		}
		bring.Run()
	}
	for i, term := range []etf.Term{got[0].(dist.Message).Term, got[1].(dist.Cast).Request} {
		if s, ok := term.(wire.Stream); !ok || len(s.Instrs) != 2 || s.Instrs[0].Op != ops.Add || s.Instrs[1].Err == nil {
			t.Errorf("message %d comes as %v", i, term)
		}
	}
	if r, ok := got[2].(dist.Call).Request.(request); !ok || r.err != nil || r.Verb != wire.Sync || len(r.First.Instrs) != 1 {
		t.Errorf("the call comes as %v", got[2])
	}
	if got[3].(dist.Message).Term != atom("hello") {
		t.Errorf("another message comes as %v", got[3])
	}
}
