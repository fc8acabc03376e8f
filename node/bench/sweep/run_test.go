package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nxvk/gen/exec/exectest/harness"
	"nxvk/gen/exec/target"
	"nxvk/ops"
	"nxvk/vulkan"
)

func always() bool { return true }

// TestFamilies measures a small case of each family on the device and on the host.
func TestFamilies(t *testing.T) {
	d := harness.Device(t, vulkan.Options{})
	known, err := target.Probe(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{products: make(map[ops.DType]reference)}
	m.drive(d, known)
	t.Cleanup(func() {
		m.device = nil // rig closes it
		m.close()
	})
	host, err := open("host", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.close)
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			cases, err := Draw(Options{Seed: 5, Count: 1, Family: f.name, MaxBytes: 1 << 16})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range []*machine{m, host} {
				if r := m.measure(cases, always)[0]; r.Error != "" || r.Time <= 0 || r.First <= 0 {
					t.Errorf("%s on %v: %+v", r.Name, m, r)
				}
			}
		})
	}
}

// TestOperands compares what operands hold with what their fills promise.
func TestOperands(t *testing.T) {
	host, err := open("host", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.close)
	f := filler{host.warm}
	read := func(p Param) []byte {
		o, err := f.operand(&p)
		if err != nil {
			t.Fatal(err)
		}
		data, err := f.Read(o.ID)
		if err != nil {
			t.Fatal(err)
		}
		f.Free(o.ID)
		return data
	}
	param := func(fill Fill, d ops.DType, shape ...int) Param {
		return Param{Type: typeOf(typed(d, shape...)), Fill: fill}
	}

	indices := param(Indices, ops.U8, 1000)
	indices.Bound = 7
	var found [256]int
	for _, x := range read(indices) {
		found[x]++
	}
	for x, n := range found {
		if (n > 0) != (x < 7) {
			t.Errorf("index %d of 7 occurs %d times", x, n)
		}
	}
	for _, x := range read(param(Fraction, ops.U8, 64)) {
		if x > 1 {
			t.Errorf("a truth value is %d", x)
		}
	}
	for _, x := range read(param(Positive, ops.S8, 64)) {
		if x < 1 || x > 8 {
			t.Errorf("a small positive number is %d", x)
		}
	}
	zeros := 0
	for x := range slices.Chunk(read(param(Rectified, ops.BF16, 1000)), 2) {
		if x[1]&0x80 != 0 {
			t.Errorf("a rectified number is %#x", x)
		}
		if x[0] == 0 && x[1] == 0 {
			zeros++
		}
	}
	if zeros < 400 || zeros > 600 {
		t.Errorf("%d of 1000 rectified numbers are 0", zeros)
	}
	large := read(param(Uniform, ops.U8, tile+3))
	if len(large) != tile+3 || !bytes.Equal(large[tile:], large[:3]) {
		t.Errorf("a large operand has %d bytes, should have %d and repeat", len(large), tile+3)
	}
}

// bad is a case that fails when it is carried out: its index is outside.
func bad(id int) Case {
	b := &builder{}
	x := b.param(Uniform, typed(ops.F32, 4))
	i := b.indices(1000, typed(ops.S32, 64))
	b.finish(b.do(ops.Take, ops.F32, [][]int{{0}}, x, i))
	b.c.ID, b.c.Family, b.c.Name = id, "take", "take outside"
	return b.c
}

// TestFailure runs a case that fails between others: they are measured, and Run says so.
func TestFailure(t *testing.T) {
	good := *copying(16)
	good.Family, good.Name = "unary", "negate"
	last := good
	last.ID = 2
	var out, results bytes.Buffer
	err := Run(context.Background(), &out, Config{Device: "host", Cases: []Case{good, bad(1), last}, Results: &results})
	if !errors.Is(err, ErrFailed) {
		t.Errorf("the error is %v, should be ErrFailed", err)
	}
	if !strings.Contains(out.String(), "FAILED: take 1 take outside") {
		t.Errorf("the report does not name the failure:\n%s", &out)
	}
	var got []Result
	for d := json.NewDecoder(&results); d.More(); {
		var r Result
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	if len(got) != 3 || got[0].Error != "" || got[1].Error == "" || got[2].Error != "" || got[2].Time <= 0 {
		t.Errorf("the results are %+v", got)
	}
}

// TestBudget leaves the cases for which no time is left, and says how many.
func TestBudget(t *testing.T) {
	var out bytes.Buffer
	cfg := Config{Device: "host", Cases: []Case{*copying(16), *copying(16)}, Budget: time.Nanosecond}
	if err := Run(context.Background(), &out, cfg); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "2 of 2 cases left") {
		t.Errorf("the report does not say how many cases are left:\n%s", &out)
	}
}

// TestCompare joins two files of results: worst first, the means, and what has no counterpart.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, list ...Result) string {
		var text bytes.Buffer
		for _, r := range list {
			if err := json.NewEncoder(&text).Encode(r); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ours := write("ours", Result{ID: 0, Family: "dot", Name: "level", Time: 10, First: 2e6},
		Result{ID: 1, Family: "dot", Name: "ahead", Time: 10, First: 60e3}, Result{ID: 2, Family: "sort", Name: "behind", Time: 40},
		Result{ID: 3, Family: "fft", Name: "alone", Time: 40})
	theirs := write("theirs", Result{ID: 2, Time: 10}, Result{ID: 0, Time: 10, First: 1e6}, Result{ID: 1, Time: 40}, Result{ID: 3, Error: "none"})
	var out strings.Builder
	if err := Compare(&out, ours, theirs); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	last := -1
	for _, part := range []string{"0.25 40.0µs 10.0µs", "1.00 10.0µs 10.0µs", "4.00 10.0µs 40.0µs", "sort 1 0.25 0.25 1 1 1 1", "dot 2 2.00 1.00 0 0 0 0",
		"all 3 1.00 0.25 1 1 1 1", "first results: 1 of 3 after more than 1.00s, 2 more than 50.00ms later", "ours theirs family case 2.00s 1.00s dot 0 level", "no counterpart: fft 3 alone: none"} {
		at := strings.Index(text, part)
		if at <= last {
			t.Errorf("%q is not where it should be in:\n%s", part, &out)
		}
		last = at
	}
}
