package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/server/mailbox"
	"nxvk/gen/server/report/reporttest"
	"nxvk/vulkan"
)

// Each row of the table is a family for Prometheus, and an entry of the answer to the request metrics.
func TestRows(t *testing.T) {
	r := New("nxvk_0")
	r.Open(runningMailbox(), func() Snapshot { return Snapshot{Name: "nxvk_0"} })
	if got, want := len((Reporters{r}).Term(Patience).(etf.Map)), len(metricRows)+2*len(histograms); got != want {
		t.Errorf("%d metrics, want %d", got, want)
	}
	families := reporttest.Gather(t, Reporters{r})
	for _, row := range metricRows {
		if counter := strings.HasSuffix(row.name, "_total"); counter != row.counter {
			t.Errorf("%s: counter is %v", row.name, row.counter)
		}
		f := families[prefix+row.name]
		if f == nil || len(f.Metric) != 1 || reporttest.Label(f.Metric[0], "device") != "nxvk_0" {
			t.Errorf("%s: gathered %v", row.name, f)
		}
	}
}

// Readiness says why a device does not serve.
func TestNotReady(t *testing.T) {
	lost := vulkan.ErrDeviceLost
	for _, x := range []struct {
		name string
		s    Snapshot
		want string
	}{
		{"idle", Snapshot{}, ""},
		{"under way", Snapshot{Oldest: time.Now()}, ""},
		{"lost", Snapshot{Lost: lost.Error()}, "nxvk_0: device lost"},
		{"hung", Snapshot{Oldest: time.Now().Add(-time.Minute)}, "worked on one submission for "},
	} {
		r := New("nxvk_0")
		x.s.Name = "nxvk_0"
		r.Open(runningMailbox(), func() Snapshot { return x.s })
		if why := (Reporters{r}).NotReady(); why != x.want && (x.want == "" || !strings.Contains(why, x.want)) {
			t.Errorf("%s: %q, want %q", x.name, why, x.want)
		}
		r.Close()
		if why := (Reporters{r}).NotReady(); !strings.Contains(why, "1 of 1 device servers have ended") {
			t.Errorf("%s: it has ended: %q", x.name, why)
		}
	}
}

func runningMailbox() *mailbox.Mailbox {
	b := &mailbox.Mailbox{}
	b.Handle = func(m any) { m.(mailbox.Uncounted)() }
	return b
}

// The sessions that hold most have series of their own; their number is bounded, and
// no text of a client reaches a reader raw.
func TestSessionSeries(t *testing.T) {
	r := New("nxvk_0")
	var s Snapshot
	s.Name = "nxvk_0"
	for i := range 3 * maxSessions {
		s.Sessions = append(s.Sessions, Session{
			Owner: etf.Pid{Node: "a@b", ID: uint32(i)}, Bytes: int64(i), Waiting: 1,
			Label: fmt.Sprint("job\x1b[2J\n\xff", strings.Repeat("é", 2*maxLabel)),
		})
	}
	r.Open(runningMailbox(), func() Snapshot { return s })
	all := reporttest.Gather(t, Reporters{r})
	bytes := all["nxvk_session_memory_bytes"].GetMetric()
	waiting := all["nxvk_session_waiting_requests"].GetMetric()
	if len(bytes) != maxSessions+1 || len(waiting) != maxSessions+1 {
		t.Fatalf("%d and %d series, want %d", len(bytes), len(waiting), maxSessions+1)
	}
	var sum, others float64
	for _, m := range bytes {
		sum += m.Gauge.GetValue()
		if text := reporttest.Label(m, "label"); strings.ContainsAny(text, "\x1b\n") || len([]rune(text)) > maxLabel {
			t.Fatalf("label %q", text)
		}
	}
	for _, m := range waiting {
		if reporttest.Label(m, "session") == "other" {
			others = m.Gauge.GetValue()
		}
	}
	if n := 3 * maxSessions; sum != float64(n*(n-1)/2) || others != float64(2*maxSessions) {
		t.Errorf("%v bytes in all, %v requests of others", sum, others)
	}
}
