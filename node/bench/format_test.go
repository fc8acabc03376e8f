package bench

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"
)

// parse reads lines as benchstat does. Each has to be a line of the format.
func parse(t *testing.T, text string) (all []*benchfmt.Result) {
	t.Helper()
	r := benchfmt.NewReader(strings.NewReader(text), t.Name())
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			if rec.GetConfig("device") != "A GPU (of 1 test)" || rec.GetConfig("pkg") != "nxvk/node/bench" {
				t.Errorf("%s has the configuration %v", rec.Name, rec.Config)
			}
			all = append(all, rec.Clone())
		case *benchfmt.SyntaxError:
			t.Error(rec)
		}
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	return all
}

// wantValue compares a value of a result, in the unit that benchstat makes of ours.
func wantValue(t *testing.T, r *benchfmt.Result, unit string, want float64) {
	t.Helper()
	if got, ok := r.Value(unit); !ok || got < want*(1-1e-5) || got > want*(1+1e-5) {
		t.Errorf("%s: %v %s, want %v", r.Name, got, unit, want)
	}
}

const testDevice = "A GPU (of 1 test)"

// Each time of a row is a sample that benchstat reads; the table has their median.
func TestOpsReport(t *testing.T) {
	r := row{name: "dot f32 4×4, uploads and read", rounds: 20, bytes: 6e6, flops: 3e6}
	times := []time.Duration{3 * time.Millisecond, time.Millisecond, 2 * time.Millisecond}
	var b bytes.Buffer
	report := newOpsReport(&b, Benchstat, testDevice)
	report(r, times, nil)
	report(row{name: "broken"}, nil, errors.New("no"))
	all := parse(t, b.String())
	if len(all) != 3 {
		t.Fatalf("%d samples of 3\n%s", len(all), &b)
	}
	for i, x := range all {
		if x.Iters != 20 || x.Name.Base() == nil || string(x.Name.Base()) != "Ops" || !strings.HasPrefix(string(x.Name.Full()), "Ops/dot_f32_4×4,_uploads_and_read-") {
			t.Errorf("%d times %q", x.Iters, x.Name)
		}
		wantValue(t, x, "sec/op", times[i].Seconds())
		wantValue(t, x, "B/s", 6e6/times[i].Seconds())
		wantValue(t, x, "GFLOP/s", 3e6/times[i].Seconds()/1e9)
	}

	b.Reset()
	newOpsReport(&b, Table, testDevice)(r, times, nil)
	if got := strings.Join(strings.Fields(b.String()), " "); !strings.HasSuffix(got, "dot f32 4×4, uploads and read 2ms 3.0 1.5") {
		t.Errorf("the table ends with %q", got)
	}
}

// The means of a run of chains are those of the table, for benchstat.
func TestSamplerReport(t *testing.T) {
	c := sampleCounts{time: 2 * time.Second, draws: 400, steps: 2000, deeps: 1200, leaps: 2800, dispatches: 300}
	var b bytes.Buffer
	report := newSamplerReport(&b, Benchstat, testDevice)
	report.calls("schools", [][]time.Duration{{1000, 2000}, {3000}, {4000}, {5000}})
	report.chains("schools", 4, c)
	report.flush()
	all := parse(t, b.String())
	if len(all) != 6 {
		t.Fatalf("%d samples of 6\n%s", len(all), &b)
	}
	wantValue(t, all[1], "sec/op", 2e-6)
	if name := string(all[4].Name.Full()); !strings.HasPrefix(name, "Leapfrog/schools/steps=256-") {
		t.Errorf("the name is %q", name)
	}
	for unit, want := range map[string]float64{"sec/op": 0.02, "steps/draw": 5, "unused-steps/draw": 2, "dispatches/op": 3, "depth/draw": 3} {
		wantValue(t, all[5], unit, want)
	}
	b.Reset()
	report = newSamplerReport(&b, Table, testDevice)
	report.chains("schools", 4, c)
	report.flush()
	if got := strings.Join(strings.Fields(b.String()), " "); !strings.HasSuffix(got, "schools, 4 2.00 s 20.000 3.00 5.0 2.0 3.00 6666.7 0") {
		t.Errorf("the table ends with %q", got)
	}
}

// Lines of the client become samples of each side; a side without a number has none.
func TestWireLines(t *testing.T) {
	client := "device\t" + testDevice + "\ncall, there and back\t20.5\t10.25\tus\nupload 1 MB\t1.5\t3.0\tGB/s\n" +
		"instructions in batches of 10000\t-\t2.5\tmillions a second\n"
	var b bytes.Buffer
	if err := printWireLines(&b, bufio.NewScanner(strings.NewReader(client))); err != nil {
		t.Fatal(err)
	}
	all := parse(t, b.String())
	if len(all) != 5 {
		t.Fatalf("%d samples of 5\n%s", len(all), &b)
	}
	wantValue(t, all[0], "sec/op", 20.5e-6)
	wantValue(t, all[1], "sec/op", 10.25e-6)
	wantValue(t, all[3], "B/s", 3e9)
	wantValue(t, all[4], "instructions/s", 2.5e6)
	if name := string(all[1].Name.Full()); !strings.HasPrefix(name, "Wire/call,_there_and_back/peer=nxvk-") {
		t.Errorf("the name is %q", name)
	}
	if err := printWireLines(&b, bufio.NewScanner(strings.NewReader("crashed\n"))); !errors.Is(err, errNoNumber) {
		t.Errorf("without a number: %v", err)
	}
}

func TestParseFormat(t *testing.T) {
	for _, f := range []Format{Table, Benchstat} {
		if got, err := ParseFormat(string(f)); got != f || err != nil {
			t.Errorf("%s: %v, %v", f, got, err)
		}
	}
	if _, err := ParseFormat("csv"); err == nil {
		t.Error("csv is a format")
	}
}
