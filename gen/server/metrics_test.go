package server

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"nxvk/gen/etf"
)

// The numbers follow what a client does.
func TestMetrics(t *testing.T) {
	c := newRig(t, nil).client()
	c.stream(tensor(1, 1, 2, 3), add(2, 3, 1, 1), tuple{atom("no_such_op"), result(3), list(nil), list(nil)})
	c.ok(tuple{atom("describe"), int64(2)})
	m := c.success(c.ask(c.manager, atom("metrics")))
	for name, want := range map[atom]float64{
		"sessions": 1, "buffers": 3, "session_bytes": 24, "instructions_total": 3, "host_instructions_total": 1,
		"failed_total": 1, "dispatches_total": 0, "uploaded_bytes_total": 12,
	} {
		if got := get(t, m, name, "nxvk_0"); got != etf.Term(want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if got, want := len(m.(etf.Map)), len(metricRows); got != want {
		t.Errorf("%d metrics, want %d", got, want)
	}

	answer := make(chan Metrics, 1)
	c.post(c.manager, AskMetrics{Answer: answer})
	select {
	case got := <-answer:
		checkText(t, got)
	case <-time.After(patience):
		t.Fatal("no metrics")
	}
}

// checkText checks that the text is what Prometheus reads: two comments of each
// metric, then its samples.
func checkText(t *testing.T, m Metrics) {
	t.Helper()
	var b strings.Builder
	m.Write(&b)
	forms := []*regexp.Regexp{
		regexp.MustCompile(`^# HELP (nxvk_[a-z_]+) [A-Z].*\.$`),
		regexp.MustCompile(`^# TYPE (nxvk_[a-z_]+) (counter|gauge)$`),
		regexp.MustCompile(`^(nxvk_[a-z_]+)\{device="nxvk_0"\} [0-9.e+-]+$`),
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 3*len(metricRows) {
		t.Fatalf("%d lines, want %d", len(lines), 3*len(metricRows))
	}
	for i, line := range lines {
		match := forms[i%3].FindStringSubmatch(line)
		if match == nil {
			t.Fatalf("line %d: %q", i, line)
		}
		row := metricRows[i/3]
		if match[1] != "nxvk_"+row.name {
			t.Errorf("line %d: %q, want it of %s", i, line, row.name)
		}
		if counter := strings.HasSuffix(row.name, "_total"); counter != row.counter {
			t.Errorf("%s: counter is %v", row.name, row.counter)
		}
	}
}

func TestMetricsText(t *testing.T) {
	m := Metrics{
		{Name: "a", Help: "First.", Device: "x", Value: 1}, {Name: "a", Help: "First.", Device: `y"`, Value: 2.5},
		{Name: "b_total", Help: "Second.", Counter: true, Value: 1e12},
	}
	var b strings.Builder
	m.Write(&b)
	want := `# HELP nxvk_a First.
# TYPE nxvk_a gauge
nxvk_a{device="x"} 1
nxvk_a{device="y\""} 2.5
# HELP nxvk_b_total Second.
# TYPE nxvk_b_total counter
nxvk_b_total 1e+12
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
