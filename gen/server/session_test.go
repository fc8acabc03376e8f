package server

import (
	"strings"
	"testing"
	"time"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/gen/exec/memory"
)

// sessions counts those that the manager names.
func (c *client) sessions() list {
	c.Helper()
	return c.success(c.ask(c.manager, atom("sessions"))).(list)
}

// A session ends with its process, and is watched until then.
func TestSessionEnds(t *testing.T) {
	r := newRig(t, nil)
	a, b := r.client(), r.client()
	a.stream(tensor(1, 1, 2, 3))
	a.ok(tuple{atom("open"), etf.Map{{Key: atom("label"), Value: []byte("job")}}})
	s := b.sessions()
	if len(s) != 1 || string(get(t, s[0], "label").([]byte)) != "job" || get(t, s[0], "bytes") != int64(12) ||
		get(t, s[0], "buffers") != int64(1) || get(t, s[0], "device") != int64(0) || get(t, s[0], "limit") != atom("infinity") {
		t.Fatalf("sessions %v", s)
	}
	if !r.watch.watches(a.pid) {
		t.Error("the process is not watched")
	}
	r.post(r.server, gen.MessageDownPID{PID: a.pid, Reason: gen.ErrNoConnection})
	for deadline := time.Now().Add(patience); len(b.sessions()) != 0 || r.watch.watches(a.pid); {
		if time.Now().After(deadline) {
			t.Fatalf("sessions %v", b.sessions())
		}
	}
	r.post(r.server, gen.MessageDownPID{PID: a.pid, Reason: gen.ErrNoConnection}) // once more is no matter
	a.wantError(a.ask(r.server, tuple{atom("download"), int64(1)}), "unknown_id")
}

func TestClose(t *testing.T) {
	c := newRig(t, nil).client()
	c.tensor(1, 1, 2, 3)
	if got := c.ask(c.server, atom("close")); got != atom("ok") {
		t.Errorf("close gives %v", got)
	}
	if s := c.sessions(); len(s) != 0 {
		t.Errorf("sessions %v", s)
	}
	c.wantError(c.ask(c.server, tuple{atom("download"), int64(1)}), "unknown_id")
	c.tensor(1, 4) // another session begins
	c.wantFloats(1, 4)
}

func TestMemory(t *testing.T) {
	c := newRig(t, nil).client()
	c.stream(tensor(1, 1, 2, 3), tensor(2, 4), free(int64(2), int64(77)))
	m := c.ok(atom("memory"))
	for key, want := range map[atom]etf.Term{"buffers": int64(1), "bytes": int64(12), "limit": atom("infinity")} {
		if got := get(t, m, "session", key); got != want {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
	for _, key := range []atom{"used", "reserved", "peak", "total"} {
		get(t, m, "device", key)
	}
	if got := get(t, m, "device", "used"); got != int64(12) {
		t.Errorf("the host holds %v bytes, want 12", got)
	}
	if got := get(t, m, "device", "sessions"); got != int64(1) {
		t.Errorf("%v sessions", got)
	}
}

// Where the host is the device, its limit is the device's memory.
func TestHostLimit(t *testing.T) {
	r := newRig(t, func(cfg *DeviceConfig) { cfg.Host = memory.NewHost(20) })
	c, other := r.client(), r.client()
	other.tensor(1, 7, 8)
	c.stream(tensor(1, 1, 2), add(2, 2, 1, 1))
	text := c.wantError(c.ask(c.server, tuple{atom("download"), int64(2)}), "out_of_memory")
	for _, part := range []string{"allocate 8 bytes", "16 of the limit of 20 bytes are in use", "holds 8 bytes"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not say %q", text, part)
		}
	}
	other.wantFloats(1, 7, 8)
	if got := get(t, c.ok(atom("memory")), "device", "total"); got != int64(20) {
		t.Errorf("total is %v, want 20", got)
	}
	if got := get(t, c.ok(atom("info")), "memory"); got != int64(20) {
		t.Errorf("info gives %v, want 20", got)
	}
}

// A message for an earlier incarnation of the server changes nothing in this
// one.
func TestStale(t *testing.T) {
	c := newRig(t, nil).client()
	run := get(t, c.ok(atom("info")), "incarnation").(int64)
	c.send(tuple{atom("nxvk"), run, list{tensor(1, 5)}})
	c.wantFloats(1, 5)
	c.send(tuple{atom("nxvk"), run - 2, list{tensor(2, 5), tensor(1, 6)}})
	text := c.wantError(c.ask(c.server, tuple{atom("download"), int64(2)}), "stale")
	if !strings.Contains(text, "earlier run") {
		t.Error(text)
	}
	c.wantError(c.ask(c.server, tuple{atom("at"), run - 2, atom("sync")}), "stale")
	if got := c.ask(c.server, tuple{atom("at"), run, atom("sync")}); got != atom("ok") {
		t.Errorf("sync gives %v", got)
	}
}

// A call may bring the instructions along that it waits for.
func TestThen(t *testing.T) {
	c := newRig(t, nil).client()
	run := get(t, c.ok(atom("info")), "incarnation").(int64)
	c.stream(tensor(1, 1, 2))
	then := func(instrs list, request etf.Term) etf.Term { return tuple{atom("then"), instrs, request} }
	got := c.ok(tuple{atom("at"), run, then(list{add(2, 2, 1, 1)}, tuple{atom("download"), int64(2)})})
	if string(got.([]byte)) != string(floats(2, 4)) {
		t.Errorf("twice 1 2 is %v", got)
	}
	// Instructions are carried out whatever becomes of the request.
	c.wantError(c.ask(c.server, then(list{add(3, 2, 2, 2)}, atom("sink"))), "bad_request")
	c.wantFloats(3, 4, 8)
	c.wantError(c.ask(c.server, tuple{atom("at"), run - 2, then(list{tensor(4, 5)}, atom("sync"))}), "stale")
	c.wantError(c.ask(c.server, tuple{atom("download"), int64(4)}), "stale")
}

// Over its limit a session is asked to free what it does not need; the
// instruction goes on when it has.
func TestSweep(t *testing.T) {
	r := newRig(t, nil)
	c, other := r.client(), r.client()
	options := etf.Map{{Key: atom("limit"), Value: int64(16)}, {Key: atom("sweep"), Value: atom("true")}}
	c.ok(tuple{atom("open"), options})
	other.ok(tuple{atom("open"), etf.Map{{Key: atom("sweep"), Value: atom("true")}}})
	c.stream(tensor(1, 1, 2), tensor(2, 3, 4), add(3, 2, 2, 2))
	for _, asked := range []*client{c, other} {
		m := asked.told().(tuple)
		if len(m) != 3 || m[0] != atom("nxvk_sweep") || m[1] != atom("nxvk_0") {
			t.Fatalf("told %v", m)
		}
		if asked == c {
			c.stream(free(int64(1)))
		}
		asked.send(tuple{atom("nxvk_swept"), m[2]})
	}
	c.wantFloats(3, 6, 8)
	c.wantError(c.ask(c.server, tuple{atom("download"), int64(1)}), "unknown_id")
}

// A session that wants to know is told how far it may send ahead, and others are told nothing.
func TestFlow(t *testing.T) {
	r := newRig(t, nil)
	c, other := r.client(), r.client()
	other.wantError(other.ask(other.server, tuple{atom("open"), etf.Map{{Key: atom("flow"), Value: int64(1)}}}), "bad_request")
	c.ok(tuple{atom("open"), etf.Map{{Key: atom("flow"), Value: atom("true")}}})
	c.ok(tuple{atom("open"), etf.Map{{Key: atom("label"), Value: []byte("still told")}}})
	last := int64(0)
	for first := int64(1); first < 2000; first += 100 {
		instrs := list{}
		for id := first; id < first+100; id++ {
			instrs = append(instrs, tensor(id, 1))
		}
		c.stream(instrs...)
		other.stream(instrs...)
		for last < first+100 {
			m := c.told().(tuple)
			if len(m) != 4 || m[0] != atom("nxvk_flow") || m[1] != atom("nxvk_0") || m[2].(int64) <= last || m[3].(int64) < 1 {
				t.Fatalf("told %v after %d", m, last)
			}
			last = m[2].(int64)
		}
	}
	other.wantFloats(1999, 1) // its next message is an answer
}

// A session that does not answer is not waited for for long.
func TestSweepUnanswered(t *testing.T) {
	r := newRig(t, nil)
	c, dying := r.client(), r.client()
	c.ok(tuple{atom("open"), etf.Map{{Key: atom("limit"), Value: int64(8)}}})
	dying.ok(tuple{atom("open"), etf.Map{{Key: atom("sweep"), Value: atom("true")}}})

	started := time.Now()
	c.stream(tensor(1, 1, 2), tensor(2, 3, 4))
	text := c.wantError(c.ask(c.server, tuple{atom("download"), int64(2)}), "limit")
	if !strings.Contains(text, "free values or raise the limit") {
		t.Error(text)
	}
	if waited := time.Since(started); waited < memory.SweepTime {
		t.Errorf("answered after %v", waited)
	}
	dying.told()

	// The end of the one that was asked is an answer.
	c.stream(tensor(3, 3, 4))
	dying.told()
	r.post(r.server, gen.MessageDownPID{PID: dying.pid, Reason: gen.ErrNoConnection})
	c.wantError(c.ask(c.server, tuple{atom("download"), int64(3)}), "limit")
}

// A node is not stopped before its servers have freed what clients hold: the
// device is closed then.
func TestStopFreesFirst(t *testing.T) {
	r := newRig(t, nil)
	stopped := make(chan struct{})
	r.watch.end = func() {
		select {
		case <-stopped:
		// That a node does not stop is no event: it is given the time to.
		case <-time.After(200 * time.Millisecond):
		}
	}
	a := r.client()
	a.tensor(1, 5)
	a.wantFloats(1, 5)
	r.node.Close()
	close(stopped)
	if r.watch.watches(a.pid) {
		t.Error("the node is stopped while a session is there")
	}
}
