package server

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"nxvk/gen/etf"
	"nxvk/node/dist"
	"nxvk/vulkan"
)

// TestCloseOf: a node closes the sessions of its own processes, and those of others where the
// operator says so. The owner is told, and its next message begins another session.
func TestCloseOf(t *testing.T) {
	for _, all := range []bool{false, true} {
		r := newRig(t, func(c *DeviceConfig) { c.CloseAny = all })
		owner, closer := r.client(), r.client()
		owner.tensor(1, 1, 2, 3)
		owner.wantFloats(1, 1, 2, 3)

		stranger := dist.Call{From: closer.pid, Tag: int64(77), Request: tuple{atom("close"), dist.Pid(owner.pid)}, Sender: closer.pid}
		stranger.Sender.Node = "other@127.0.0.1"
		if got := mayClose(dist.Pid(owner.pid), stranger.Sender, all); got != all {
			t.Errorf("another node may close the session: %t, want %t", got, all)
		}
		if !all {
			closer.tag = 77
			closer.post(r.server, stranger)
			if text := closer.wantError(closer.answer(), "bad_argument"); !strings.Contains(text, "--allow-close") {
				t.Error(text)
			}
			owner.wantFloats(1, 1, 2, 3)
		}
		row := closer.sessions()[0]
		if get(t, row, "closable") != atom("true") {
			t.Errorf("a session of this node cannot be closed: %v", row)
		}
		if got := closer.ask(r.server, tuple{atom("close"), get(t, row, "pid")}); got != atom("ok") {
			t.Fatalf("close gives %v", got)
		}
		told := owner.told().(tuple)
		if text := owner.wantFault(told[2], "stale"); told[0] != atom("nxvk_error") || !strings.Contains(text, "was closed by a process of") {
			t.Errorf("the owner is told %v", told)
		}
		if left := closer.sessions(); len(left) != 0 {
			t.Errorf("sessions %v are left", left)
		}
		if text := closer.wantError(closer.ask(r.server, tuple{atom("close"), dist.Pid(owner.pid)}), "bad_argument"); !strings.Contains(text, "no session here") {
			t.Error(text)
		}
		closer.wantError(closer.ask(r.server, tuple{atom("close"), int64(1)}), "bad_request")
		owner.tensor(1, 4)
		owner.wantFloats(1, 4)
	}
}

// TestKernels: the manager lists the kernels that a device has run, the slowest first, each
// under the name of its operation. The host runs none.
func TestKernels(t *testing.T) {
	host := newRig(t, nil).client()
	host.stream(tensor(1, 1, 2), add(2, 2, 1, 1))
	host.wantFloats(2, 2, 4)
	if l := host.success(host.ask(host.manager, atom("kernels"))).(list); len(l) != 0 {
		t.Errorf("the host has run %v", l)
	}

	c := newRig(t, onDevice(t, vulkan.Options{})).client()
	n := 1 << 14
	big := make([]float32, n)
	c.tensor(1, big...)
	for id := int64(2); id < 5; id++ {
		c.stream(add(id, int64(n), id-1, 1))
		c.ok(tuple{atom("download"), id, int64(0), int64(1)})
	}
	dispatches, last := int64(0), math.Inf(1)
	for _, k := range c.success(c.ask(c.manager, atom("kernels"))).(list) {
		op, seconds := string(get(t, k, "op").([]byte)), get(t, k, "seconds").(float64)
		if !strings.Contains(op, "add") || seconds <= 0 || seconds > last {
			t.Errorf("kernel %v", k)
		}
		last = seconds
		dispatches += get(t, k, "dispatches").(int64)
	}
	if dispatches != 3 {
		t.Errorf("%d dispatches, want 3", dispatches)
	}
}

// sampleWithoutCredit begins two chains of a normal density whose reader never asks for more
// than their first draw, so that they do not end.
func sampleWithoutCredit(c *client) {
	c.Helper()
	f64 := func(id int64, dims ...etf.Term) etf.Term { return tuple{id, atom("f64"), tuple(dims)} }
	half := binary.LittleEndian.AppendUint64(nil, math.Float64bits(-0.5))
	density := tuple{
		list{f64(1, int64(1))},
		list{
			tuple{atom("multiply"), list{f64(2, int64(1))}, list{int64(1), int64(1)}, list(nil)},
			tuple{atom("multiply"), list{f64(3, int64(1))}, list{int64(2), tuple{atom("f64"), half}}, list(nil)},
			tuple{atom("sum"), list{f64(4)}, list{int64(3)}, list{list{int64(0)}, atom("false")}},
			tuple{atom("negate"), list{f64(5, int64(1))}, list{int64(1)}, list(nil)},
		},
		list{int64(4), int64(5)},
	}
	c.stream(tuple{atom("program"), list(nil), list(nil), list{[]byte("normal"), density}})
	options := etf.Map{
		pair("program", []byte("normal")), pair("dim", int64(1)), pair("chains", int64(2)),
		pair("warmup", int64(20)), pair("chunk", int64(1)), pair("credit", int64(1)),
	}
	if run := c.ok(tuple{atom("sample"), options}); run != int64(1) {
		c.Fatalf("the run is %v", run)
	}
}

// TestChains: the manager tells how far chains under way are, and forgets them when they end.
func TestChains(t *testing.T) {
	c := newRig(t, nil).client()
	sampleWithoutCredit(c)
	if told := c.told().(tuple); told[0] != atom("nxvk_draws") {
		t.Fatalf("got %v, want draws", told)
	}
	other := c.client()
	rows := other.success(other.ask(c.manager, atom("chains"))).(list)
	if len(rows) != 2 {
		t.Fatalf("chains %v, want two", rows)
	}
	for i, row := range rows {
		for key, want := range map[atom]etf.Term{"device": int64(0), "chain": int64(i), "run": int64(1), "warmup_of": int64(20), "draws_of": int64(1000)} {
			if got := get(t, row, key); got != want {
				t.Errorf("chain %d: %s is %v, want %v", i, key, got, want)
			}
		}
	}
	if got := other.ask(c.server, tuple{atom("close"), dist.Pid(c.pid)}); got != atom("ok") {
		t.Fatalf("close gives %v", got)
	}
	if rows := other.success(other.ask(c.manager, atom("chains"))).(list); len(rows) != 0 {
		t.Errorf("chains %v are left", rows)
	}
}
