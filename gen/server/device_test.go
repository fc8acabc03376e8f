package server

import (
	"strings"
	"testing"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/node/dist"
	"nxvk/ops/terms"
)

func TestComputes(t *testing.T) {
	c := newRig(t, nil).client()
	c.stream(tensor(1, 1, 2, 3), add(2, 3, 1, 1))
	c.wantFloats(2, 2, 4, 6)
	got := c.ok(tuple{atom("download"), int64(2), int64(1), int64(9)})
	if string(got.([]byte)) != string(floats(4, 6)) {
		t.Errorf("a part is %v", got)
	}
	if d := c.ok(tuple{atom("describe"), int64(2)}).(tuple); d[0] != atom("f32") || d[1].(tuple)[0] != int64(3) {
		t.Errorf("described as %v", d)
	}
	if got := c.ask(c.server, atom("sync")); got != atom("ok") {
		t.Errorf("sync gives %v", got)
	}
}

// Values that are too large to be copied are sent from where they lie.
func TestLargeDownload(t *testing.T) {
	c := newRig(t, nil).client()
	n := int64(inline)
	c.stream(tuple{atom("iota"), result(1, n), list(nil), list{int64(0)}}, add(2, n, 1, 1))
	got := c.ok(tuple{atom("download"), int64(2)}).([]byte)
	if int64(len(got)) != 4*n || string(got[4*n-4:]) != string(floats(float32(2*n-2))) {
		t.Errorf("%d bytes that end in %x", len(got), got[len(got)-4:])
	}
	// The download holds the memory only until it is sent.
	c.stream(free(int64(1), int64(2)))
	if m := c.ok(atom("memory")); get(t, m, "session", "bytes") != int64(0) {
		t.Errorf("%v is held after all is freed", get(t, m, "session"))
	}
}

// An error goes to the caller, with the operation and its operands.
func TestErrors(t *testing.T) {
	c := newRig(t, nil).client()
	c.stream(tensor(1, 1, 2, 3), tensor(2, 1, 2), add(3, 3, 1, 2), add(4, 3, 3, 1))
	for _, id := range []int64{3, 4} {
		answer := c.ask(c.server, tuple{atom("download"), id})
		if text := c.wantError(answer, "bad_argument"); !strings.Contains(text, "cannot broadcast {3} to {2}") {
			t.Errorf("value %d: %s", id, text)
		}
		fault := answer.(tuple)[1].(tuple)
		if shapes := fault[2].(list); string(fault[1].([]byte)) != "add" || string(shapes[0].([]byte)) != "f32{3}" {
			t.Errorf("value %d: %v", id, fault)
		}
	}
	c.wantError(c.ask(c.server, tuple{atom("describe"), int64(3)}), "bad_argument")
	c.wantError(c.ask(c.server, tuple{atom("download"), int64(9)}), "unknown_id")
	c.wantError(c.ask(c.server, tuple{atom("download"), int64(1), int64(4), int64(1)}), "bad_argument")
	c.wantError(c.ask(c.server, atom("nonsense")), "bad_request")
	c.wantError(c.ask(c.server, tuple{atom("open"), list(nil)}), "bad_request")
	c.wantFloats(1, 1, 2, 3)
}

// Errors that no result can carry are messages.
func TestOrphans(t *testing.T) {
	c := newRig(t, nil).client()
	for _, x := range []struct {
		term etf.Term
		kind atom
	}{
		{atom("hello"), "bad_request"},
		{tuple{atom("nxvk"), list{atom("x")}}, "bad_request"},
		{tuple{atom("nxvk"), list{tuple{atom("no_such_op"), list(nil), list(nil), list(nil)}}}, "unknown_op"},
	} {
		c.send(x.term)
		m := c.told().(tuple)
		if len(m) != 3 || m[0] != atom("nxvk_error") || m[1] != atom("nxvk_0") {
			t.Fatalf("%v: told %v", x.term, m)
		}
		c.wantFault(m[2], x.kind)
	}
	// A stream may come as a cast, too.
	c.post(c.server, dist.Cast{Request: tuple{atom("nxvk"), list{tensor(1, 5)}}, Sender: c.pid})
	c.wantFloats(1, 5)
}

func TestOpen(t *testing.T) {
	c := newRig(t, func(c *DeviceConfig) { c.Limit = 1000 }).client()
	limit := func() etf.Term { return get(t, c.ok(atom("memory")), "session", "limit") }
	if got := limit(); got != int64(1000) {
		t.Errorf("the limit of the node is %v", got)
	}
	for _, x := range []struct{ asked, want etf.Term }{
		{int64(50), int64(50)}, {int64(5000), int64(1000)}, {atom("infinity"), int64(1000)},
	} {
		c.ok(tuple{atom("open"), etf.Map{{Key: atom("limit"), Value: x.asked}}})
		if got := limit(); got != x.want {
			t.Errorf("limit %v is %v, want %v", x.asked, got, x.want)
		}
	}
	opened := c.ok(tuple{atom("open"), etf.Map{{Key: atom("digest"), Value: []byte(terms.Digest())}}})
	if got := get(t, opened, "session"); got != dist.Pid(c.pid) {
		t.Errorf("session of %v, want %v", got, dist.Pid(c.pid))
	}
	other := tuple{atom("open"), etf.Map{{Key: atom("digest"), Value: []byte("another")}}}
	if text := c.wantError(c.ask(c.server, other), "bad_argument"); !strings.Contains(text, "install the same version") {
		t.Error(text)
	}
}

// The sender decides the session, wherever the answer goes.
func TestForwardedCall(t *testing.T) {
	r := newRig(t, nil)
	session, caller := r.client(), r.client()
	session.tensor(1, 5)
	caller.tag = 42
	r.post(r.server, dist.Call{From: caller.pid, Tag: caller.tag, Request: tuple{atom("download"), int64(1)}, Sender: session.pid})
	if got := caller.success(caller.answer()); string(got.([]byte)) != string(floats(5)) {
		t.Errorf("got %v", got)
	}
	caller.wantError(caller.ask(r.server, tuple{atom("download"), int64(1)}), "unknown_id")
}

func TestImport(t *testing.T) {
	r := newRig(t, nil)
	a, b := r.client(), r.client()
	a.tensor(1, 5, 6)
	opened := a.ok(tuple{atom("open"), etf.Map(nil)})
	shared := tuple{atom("shared"), get(t, opened, "session"), get(t, opened, "key"), int64(1)}
	b.stream(tuple{atom("import"), result(9, 2), list{shared}, list(nil)})
	r.post(r.server, gen.MessageDownPID{PID: a.pid, Reason: gen.TerminateReasonNormal})
	b.wantFloats(9, 5, 6)
	shared[2] = int64(1)
	b.stream(tuple{atom("import"), result(10, 2), list{shared}, list(nil)})
	b.wantError(b.ask(r.server, tuple{atom("download"), int64(10)}), "not_shared")
}

// of is the instruction that imports n floats of another session of the server.
func of(id, n int64, c *client, theirs int64) etf.Term {
	pid, key, _ := c.secret()
	return tuple{atom("import"), result(id, n), list{tuple{atom("shared"), pid, key, theirs}}, list(nil)}
}

// TestImportFromBusySession: an import waits as long as the other session takes to make the value.
func TestImportFromBusySession(t *testing.T) {
	r := newRig(t, nil)
	a, b := r.client(), r.client()
	const n = 700
	products := list{tuple{atom("iota"), result(1, n, n), list(nil), list{int64(1)}}}
	for id := int64(2); id < 40; id++ {
		products = append(products, tuple{atom("dot"), result(id, n, n), list{id - 1, int64(1)}, list{list{int64(1)}, list(nil), list{int64(0)}, list(nil)}})
	}
	pid, key, _ := a.secret()
	a.send(tuple{atom("nxvk"), products})
	b.stream(tuple{atom("import"), result(1, n, n), list{tuple{atom("shared"), pid, key, int64(39)}}, list(nil)})
	b.ok(tuple{atom("describe"), int64(1)})
}

// TestImportsOfEachOther: sessions whose values wait for each other get an error, and go on.
func TestImportsOfEachOther(t *testing.T) {
	r := newRig(t, nil)
	clients := []*client{r.client(), r.client(), r.client()}
	var imports []etf.Term
	for i := range clients {
		imports = append(imports, of(2, 2, clients[(i+1)%len(clients)], 3))
	}
	for i, c := range clients {
		c.stream(tensor(1, 1, 2), imports[i], add(3, 2, 2, 1))
	}
	for _, c := range clients {
		c.wantError(c.ask(r.server, tuple{atom("download"), int64(3)}), "unknown_id")
		c.stream(add(4, 2, 1, 1))
		c.wantFloats(4, 2, 4)
	}
}

func TestInfo(t *testing.T) {
	c := newRig(t, nil).client()
	info := c.ok(atom("info"))
	for key, want := range map[atom]etf.Term{"server": atom("nxvk_0"), "index": int64(0), "kind": atom("host"), "memory": int64(0)} {
		if got := get(t, info, key); got != want {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
	for _, key := range []atom{"name", "uuid", "driver", "types", "features", "incarnation"} {
		get(t, info, key)
	}
	node := c.success(c.ask(c.manager, atom("info")))
	if d := get(t, node, "devices").(list); len(d) != 1 || get(t, d[0], "incarnation") != get(t, info, "incarnation") {
		t.Errorf("devices %v", d)
	}
	if got := get(t, node, "digest"); string(got.([]byte)) != terms.Digest() {
		t.Errorf("digest %s", got)
	}
	get(t, node, "version")
	get(t, node, "os")
}

// Without a device the host computes all that anybody does.
func TestSupport(t *testing.T) {
	c := newRig(t, nil).client()
	devices := c.success(c.ask(c.manager, atom("support"))).(list)
	if len(devices) != 1 {
		t.Fatalf("%d devices", len(devices))
	}
	places := map[etf.Term]int{}
	for _, x := range get(t, devices[0], "max").(list) {
		x := x.(tuple)
		places[x[0]] = len(x[1].(list))
	}
	if places[atom("host")] != 18 || places[atom("refused")] != 2 {
		t.Errorf("max is computed %v, want for 18 types by the host, for 2 by nobody", places)
	}
}
