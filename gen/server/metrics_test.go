package server

import (
	"strings"
	"testing"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/server/report/reporttest"
	"nxvk/node/dist"
	"nxvk/vulkan"

	"ergo.services/ergo/gen"
)

// The numbers follow what a client does.
func TestMetrics(t *testing.T) {
	c := newRig(t, nil).client()
	c.stream(tensor(1, 1, 2, 3), add(2, 3, 1, 1), tuple{atom("no_such_op"), result(3), list(nil), list(nil)})
	c.ok(tuple{atom("describe"), int64(2)})
	m := c.success(c.ask(c.manager, atom("metrics")))
	for name, want := range map[atom]float64{
		"sessions": 1, "buffers": 3, "session_bytes": 24, "instructions_total": 3, "host_instructions_total": 1,
		"failed_total": 1, "dispatches_total": 0, "uploaded_bytes_total": 12, "call_seconds_count": 1,
		"device_up": 1,
	} {
		if got := get(t, m, name, "nxvk_0"); got != etf.Term(want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	families := reporttest.Gather(t, c.reports)
	s := families["nxvk_session_memory_bytes"].GetMetric()
	if len(s) != 1 || s[0].Gauge.GetValue() != 24 || !strings.Contains(reporttest.Label(s[0], "session"), string(c.pid.Node)) {
		t.Errorf("the sessions are %v", s)
	}
}

// stick has the device server handle a message until the test ends, begun so long
// ago.
func (r *rig) stick(ago time.Duration) {
	r.Helper()
	stuck, release := make(chan struct{}), make(chan struct{})
	r.post(r.server, func() { close(stuck); <-release })
	r.Cleanup(func() { close(release) })
	<-stuck
	began := &r.inbox.mailbox.Began
	began.Add(-int64(ago))
}

// A server that is busy for ever hides nothing: the manager answers, metrics are
// served, info of the device itself is told, and all of them say for how long.
func TestStuckServer(t *testing.T) {
	var direct dist.Inbox
	r := newRig(t, func(c *DeviceConfig) {
		c.Direct = func(_ gen.PID, _ gen.Atom, in dist.Inbox) func() { direct = in; return func() {} }
	})
	c := r.client()
	c.stream(tensor(1, 1, 2, 3))
	c.ok(tuple{atom("describe"), int64(1)})
	c.sessions() // publishes
	r.stick(time.Hour)
	for _, m := range []any{dist.Message{}, dist.Cast{}} {
		if direct.Put(m) {
			t.Fatal("the mailbox is idle")
		}
	}
	hour := time.Hour.Seconds()
	info := c.success(c.ask(c.manager, atom("info")))
	if busy := get(t, get(t, info, "devices").(list)[0], "busy_for").(float64); busy < hour {
		t.Errorf("info: busy for %v s", busy)
	}
	if s := c.sessions(); len(s) != 1 || get(t, s[0], "bytes") != int64(12) {
		t.Errorf("sessions: %v", s)
	}
	metrics := c.success(c.ask(c.manager, atom("metrics")))
	if busy := get(t, metrics, "device_busy_seconds", "nxvk_0").(float64); busy < hour {
		t.Errorf("metrics: busy for %v s", busy)
	}
	all := reporttest.Gather(t, r.reports)
	if g := all["nxvk_device_busy_seconds"].Metric[0].Gauge; g.GetValue() < hour {
		t.Errorf("gathered: busy for %v s", g)
	}
	if g := all["nxvk_device_queued_messages"].Metric[0].Gauge; g.GetValue() < 2 {
		t.Errorf("gathered: %v messages wait", g)
	}
	c.tag++
	if direct.Put(dist.Call{From: c.pid, Tag: c.tag, Request: atom("info"), Sender: c.pid}) {
		t.Fatal("info is left to the mailbox")
	}
	if busy := get(t, c.success(c.answer()), "busy_for").(float64); busy < hour {
		t.Errorf("info of the device: busy for %v s", busy)
	}
	if why := r.reports.NotReady(); !strings.Contains(why, "nxvk_0 has been busy with one message for 1h0m") {
		t.Errorf("ready: %q", why)
	}
}

// A server that has just begun to be busy is waited for no longer than patience.
func TestPatience(t *testing.T) {
	r := newRig(t, nil)
	r.stick(0)
	if s := r.reports.Snapshots(time.Millisecond); len(s) != 1 || s[0].Busy == 0 {
		t.Errorf("snapshots %v", s)
	}
	if why := r.reports.NotReady(); why != "" && !strings.Contains(why, "busy with one message") {
		t.Errorf("ready: %q", why)
	}
}

// Submissions are timed from when the device gets them.
func TestSubmissionTime(t *testing.T) {
	r := newRig(t, onDevice(t, vulkan.Options{}))
	c := r.client()
	c.stream(tensor(1, 1, 2, 3), add(2, 3, 1, 1))
	c.wantFloats(2, 2, 4, 6)
	if got := c.ask(c.server, atom("sync")); got != atom("ok") {
		t.Fatal(got)
	}
	m := c.success(c.ask(c.manager, atom("metrics")))
	submits := get(t, m, "submits_total", "nxvk_0").(float64)
	if n := get(t, m, "submit_latency_seconds_count", "nxvk_0"); n != etf.Term(submits) || submits == 0 {
		t.Errorf("%v submissions have a time, want %v", n, submits)
	}
	for _, name := range []atom{"device_wait_seconds_count", "device_run_seconds_count"} {
		if n := get(t, m, name, "nxvk_0"); n == etf.Term(0.0) {
			t.Errorf("%s is %v after %v submissions", name, n, submits)
		}
	}
	if x := get(t, m, "device_submission_seconds", "nxvk_0"); x != etf.Term(0.0) {
		t.Errorf("a submission is under way for %v s", x)
	}
}
