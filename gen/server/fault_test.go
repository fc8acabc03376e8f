package server

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ergo.services/ergo/gen"
	"github.com/rs/zerolog"

	"nxvk/gen/etf"
	"nxvk/gen/exec"
	"nxvk/node/dist"
	"nxvk/ops"
	"nxvk/vulkan"
)

// A panic in an instruction is the error of its results; the server and its
// other values live.
func TestPanicInInstruction(t *testing.T) {
	row := ops.Cbrt.Info()
	infer := row.Infer
	row.Infer = func(*ops.Instr, []ops.Type) ([]ops.Shape, error) { panic("BUG: seen") }
	t.Cleanup(func() { row.Infer = infer })
	c := newRig(t, nil).client()
	c.stream(tensor(1, 5), tuple{atom("cbrt"), result(2, 1), list{int64(1)}, list(nil)}, add(3, 1, 2, 1), add(4, 1, 1, 1))
	for _, id := range []int64{2, 3} {
		if text := c.wantError(c.ask(c.server, tuple{atom("download"), id}), "internal"); text != "BUG: seen" {
			t.Errorf("value %d: %s", id, text)
		}
	}
	c.wantFloats(4, 10)
}

// A panic in a callback is the answer of a call, or the end of a message.
func TestPanicInCallback(t *testing.T) {
	r := newRig(t, nil)
	r.watch.fault = func() { panic("BUG: seen") }
	c, d := r.client(), r.client()
	if text := c.wantError(c.ask(r.server, atom("sync")), "internal"); text != "BUG: seen" {
		t.Error(text)
	}
	d.tensor(1, 5)
	r.post(r.server, func() { panic("BUG: a completion") })
	r.watch.mu.Lock()
	r.watch.fault = nil
	r.watch.mu.Unlock()
	for _, x := range []*client{c, d} {
		x.tensor(2, 6)
		x.wantFloats(2, 6)
	}
}

// Data that its reader is no longer there for is given back.
func TestReaderIsGone(t *testing.T) {
	r := newRig(t, nil)
	var d *Device
	_, err := r.node.Spawn(func() gen.ProcessBehavior {
		b := NewDevice(DeviceConfig{Name: "nxvk_1", Watcher: r.watch, Direct: r.node.Direct, Log: zerolog.Nop()})()
		d = b.(*Device)
		return b
	}, gen.ProcessOptions{})
	if err != nil {
		t.Fatal(err)
	}
	nobody := dist.Call{From: gen.PID{Node: r.node.Name(), ID: 1 << 40}}
	for _, size := range []int{inline, 1 << 20} {
		released := 0
		d.mailbox.Do(func() {
			d.replyData(nobody, exec.Data{Bytes: make([]byte, size), Release: func() { released++ }}, nil)
		})
		if released != 1 {
			t.Errorf("%d bytes were released %d times, want once", size, released)
		}
	}
}

// A client that is linked to the servers and dies does not take them along.
func TestLinkedClientDies(t *testing.T) {
	r := newRig(t, nil)
	linked, other := r.client(), r.client()
	linked.tensor(1, 5)
	linked.do(func(i *inbox) error {
		if err := i.Link(r.manager); err != nil {
			return err
		}
		return i.Link(r.server)
	})
	if err := r.node.SendExit(linked.pid, gen.TerminateReasonKill); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		other.tensor(1, 7)
		other.wantFloats(1, 7)
		other.sessions()
	}
	for _, server := range []gen.PID{r.server, r.manager} {
		other.do(func(i *inbox) error { return i.SendExit(server, gen.TerminateReasonNormal) })
	}
	other.wantFloats(1, 7)
	other.sessions()
}

// A message that there was no room for is answered where it is a call. Of another one
// its sender is told by the device server.
func TestRefusedMessage(t *testing.T) {
	r := newRig(t, nil)
	c := r.client()
	for _, server := range []gen.PID{r.server, r.manager} {
		c.tag++
		c.post(server, dist.Refused{From: c.pid, Tag: c.tag, Sender: c.pid, Err: dist.ErrOverLimit})
		if text := c.wantError(c.answer(), "limit"); !strings.Contains(text, dist.ErrOverLimit.Error()) {
			t.Errorf("the answer is %q", text)
		}
	}
	c.post(r.manager, dist.Refused{Sender: c.pid, Err: dist.ErrOverLimit})
	c.post(r.server, dist.Refused{Err: dist.ErrOverLimit})
	c.post(r.server, dist.Refused{Sender: c.pid, Err: dist.ErrTooLarge})
	told := c.told().(tuple)
	if len(told) != 3 || told[0] != atom("nxvk_error") {
		t.Fatalf("got %v", told)
	}
	if text := c.wantFault(told[2], "limit"); !strings.Contains(text, dist.ErrTooLarge.Error()) {
		t.Errorf("the sender is told %q", text)
	}
	c.sessions()
}

// Messages of any form do no harm.
func TestNonsense(t *testing.T) {
	r := newRig(t, nil)
	c := r.client()
	for _, server := range []gen.PID{r.server, r.manager} {
		for _, m := range []any{nil, 5, "x", tuple{}, dist.Message{}, dist.Cast{}, gen.MessageExitPID{}, struct{}{}} {
			r.node.Send(server, m)
		}
	}
	c.tensor(1, 7)
	c.wantFloats(1, 7)
	c.sessions()
}

// A device that is lost is opened again, as another run of the server.
func TestDeviceLost(t *testing.T) {
	var lose atomic.Bool
	use := onDevice(t, vulkan.Options{Fault: vulkan.Fault{Lost: func() bool { return lose.Swap(false) }}})
	r := newRig(t, use)
	c := r.client()
	run := get(t, c.ok(atom("info")), "incarnation").(int64)
	c.stream(tensor(1, 1, 2, 3), add(2, 3, 1, 1))
	c.wantFloats(2, 2, 4, 6)

	lose.Store(true)
	c.stream(add(3, 3, 1, 1))
	c.wantError(c.ask(c.server, tuple{atom("download"), int64(3)}), "device_lost")

	deadline := time.Now().Add(patience)
	again := run
	for again == run {
		if time.Now().After(deadline) {
			t.Fatal("the device is not opened again")
		}
		again = get(t, c.ok(atom("info")), "incarnation").(int64)
	}
	c.wantError(c.ask(c.server, tuple{atom("at"), run, tuple{atom("download"), int64(2)}}), "stale")
	c.send(tuple{atom("nxvk"), run, list{add(4, 3, 1, 1)}})
	c.wantError(c.ask(c.server, tuple{atom("download"), int64(4)}), "stale")
	c.send(tuple{atom("nxvk"), again, list{tensor(5, 1), add(6, 1, 5, 5)}})
	c.wantFloats(6, 2)
	if got := get(t, c.ok(atom("memory")), "session", "buffers"); got != int64(3) {
		t.Errorf("%v values are held", got)
	}
}

// The manager answers anybody, and echoes large terms.
func TestManager(t *testing.T) {
	c := newRig(t, nil).client()
	large := strings.Repeat("x", etf.LargeBinary)
	if got := c.success(c.ask(c.manager, tuple{atom("echo"), large})); string(got.([]byte)) != large {
		t.Error("the echo differs")
	}
	if text := c.wantError(c.ask(c.manager, atom("x")), "bad_request"); !strings.Contains(text, "info, support, sessions, kernels, chains, metrics") {
		t.Error(text)
	}
}
