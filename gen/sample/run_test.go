package sample

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"nxvk/gen/exec"
	"nxvk/gen/exec/exectest/harness"
	"nxvk/gen/nuts"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// slow is a reader of a run: it takes so many chunks, then none until it is told.
type slow struct {
	room   int
	offers int // of chunks that were not taken
	draws  []*nuts.Draw
	ended  bool
	err    error
}

func (s *slow) take(_ int, c Chunk) bool {
	if s.room == 0 {
		s.offers++
		return false
	}
	s.room--
	s.draws = append(s.draws, c.Draws...)
	if c.Draws == nil {
		s.ended, s.err = true, c.Err
	}
	return true
}

// sample starts a chain of two normal numbers, and gives its run.
func (r *bench) sample(q *exec.Queue, seed uint64, draws int, to *slow) (run int) {
	r.sampler.Sample(q, &wire.Sample{Density: wire.Density{Program: "bell", Data: harness.Uses(1), Type: ops.F64, Dim: 2}, Chains: 1, Chunk: 10,
		Options: nuts.Options{Warmup: 20, Draws: draws, Seed: seed}}, func(n int, err error) {
		if err != nil {
			r.Fatal(err)
		}
		run = n
	}, to.take)
	return run
}

// TestSlowReader: a chain whose reader takes no more does not run on, loses
// nothing, and ends when it is stopped or its session is gone.
func TestSlowReader(t *testing.T) {
	r := newRig(t, nil)
	q := r.Session()
	r.bell(q, 1, 3, -1)

	fast := &slow{room: 1 << 20}
	r.sample(q, 5, 100, fast)
	r.Until(func() bool { return fast.ended })

	reader := &slow{room: 3}
	r.sample(q, 5, 100, reader)
	r.Until(func() bool { return reader.offers >= 5 })
	if n := len(reader.draws); n != 30 {
		t.Errorf("%d draws were taken, want 30", n)
	}
	reader.room = 1 << 20
	r.Until(func() bool { return reader.ended })
	if len(reader.draws) != len(fast.draws) {
		t.Fatalf("%d draws, want %d", len(reader.draws), len(fast.draws))
	}
	for i, d := range reader.draws {
		if d.Q[0] != fast.draws[i].Q[0] || d.Q[1] != fast.draws[i].Q[1] {
			t.Fatalf("draw %d is not that of a fast reader", i)
		}
	}

	stopped := &slow{room: 2}
	run := r.sample(q, 5, 1<<30, stopped)
	r.Until(func() bool { return stopped.offers >= 2 })
	if !r.sampler.Stop(q, run) {
		t.Fatal("there is no run")
	}
	stopped.room = 1
	r.Until(func() bool { return stopped.ended })
	if !errors.Is(stopped.err, context.Canceled) || len(stopped.draws) != 20 {
		t.Errorf("got %v after %d draws, want the end after 20", stopped.err, len(stopped.draws))
	}

	gone := &slow{room: 2}
	r.sample(q, 5, 1<<30, gone)
	r.Until(func() bool { return gone.offers >= 2 })
	r.Exec.End(q.Session)
	offers, over := gone.offers, false
	time.AfterFunc(5*slowReader, func() { r.Posted <- func() { over = true } })
	r.Until(func() bool { return over })
	if gone.offers > offers || gone.ended {
		t.Errorf("a session that is gone was offered %d chunks more", gone.offers-offers)
	}
}

// TestCredit: chunks that nobody has asked for wait, those of all chains in turn.
func TestCredit(t *testing.T) {
	r := newRig(t, nil)
	q := r.Session()
	r.bell(q, 1, 3, -1)
	var taken []Chunk
	run, ends := 0, 0
	r.sampler.Sample(q, &wire.Sample{Density: wire.Density{Program: "bell", Data: harness.Uses(1), Type: ops.F64, Dim: 2}, Chains: 2, Chunk: 10, Credit: 3,
		Options: nuts.Options{Warmup: 20, Draws: 50}}, func(n int, err error) {
		if err != nil {
			t.Fatal(err)
		}
		run = n
	}, func(_ int, c Chunk) bool {
		if c.Draws == nil {
			ends++
		} else {
			taken = append(taken, c)
		}
		return true
	})
	waiting := func(n int) func() bool {
		return func() bool { return len(runsOf(q).active[run].reader.waiting) == n }
	}
	r.Until(waiting(2))
	if len(taken) != 3 {
		t.Fatalf("%d chunks were sent for a credit of 3", len(taken))
	}
	last := runsOf(q).active[run].reader.waiting[0].chunk.Chain
	r.sampler.More(q, run, 1)
	if len(taken) != 4 || taken[3].Chain != last {
		t.Errorf("%d chunks; want one more, of the chain that has waited longest", len(taken))
	}
	r.Until(waiting(2))
	r.sampler.More(q, run, mostCredit)
	r.Until(func() bool { return ends == 2 })
	if len(taken) != 10 {
		t.Errorf("%d chunks, want 10", len(taken))
	}
	if r.sampler.More(q, run, 1) {
		t.Error("a run that is over takes credit")
	}
}

// TestCreditStopped: a run that waits for credit ends when it is stopped.
func TestCreditStopped(t *testing.T) {
	r := newRig(t, nil)
	q := r.Session()
	r.bell(q, 1, 3, -1)
	var end error
	draws, run := 0, 0
	r.sampler.Sample(q, &wire.Sample{Density: wire.Density{Program: "bell", Data: harness.Uses(1), Type: ops.F64, Dim: 2}, Chains: 1, Chunk: 10, Credit: 2,
		Options: nuts.Options{Draws: 1 << 30}}, func(n int, _ error) { run = n }, func(_ int, c Chunk) bool {
		draws += len(c.Draws)
		end = c.Err
		return true
	})
	r.Until(func() bool { return run > 0 && len(runsOf(q).active[run].reader.waiting) == 1 })
	r.sampler.Stop(q, run)
	r.Until(func() bool { return end != nil })
	if !errors.Is(end, context.Canceled) || draws != 20 {
		t.Errorf("got %v after %d draws, want the end after 20", end, draws)
	}
}

// TestReport: reports of how far chains are come while they run, and none after it.
func TestReport(t *testing.T) {
	r := newRig(t, nil)
	q := r.Session()
	r.bell(q, 1, 3, -1)
	var last []Progress
	reports, run, ends, late := 0, 0, 0, false
	r.sampler.Sample(q, &wire.Sample{Density: wire.Density{Program: "bell", Data: harness.Uses(1), Type: ops.F64, Dim: 2}, Chains: 2, Chunk: 1 << 20, Credit: 1,
		Report: time.Millisecond, Steps: []float64{0.5, 0.25}, Options: nuts.Options{Warmup: 50, Draws: 1 << 30, Fixed: true}},
		func(n int, _ error) { run = n }, func(_ int, c Chunk) bool {
			switch {
			case c.Report != nil:
				reports++
				last, late = c.Report, ends == 2
			case c.Draws == nil:
				ends++
			}
			return true
		})
	r.Until(func() bool { return reports > 2 && last[0].Draws.Done > 0 && last[1].Draws.Done > 0 })
	for i, p := range last {
		if p.Warmup.Done != 50 || p.Steps < 50+p.Draws.Done || p.Step != []float64{0.5, 0.25}[i] {
			t.Errorf("chain %d: %+v", i, p)
		}
	}
	r.sampler.Stop(q, run)
	r.Until(func() bool { return ends == 2 && len(runsOf(q).active) == 0 })
	r.Settle(20 * time.Millisecond)
	if late {
		t.Error("a report came after the end")
	}
}

// TestWideChunks: draws of many parameters go in chunks of bounded size.
func TestWideChunks(t *testing.T) {
	r := newRig(t, nil)
	q := r.Session()
	const dim = chunkBytes / 8 / 3
	r.bell(q, 1, make([]float64, dim)...)
	longest, ended := 0, false
	r.sampler.Sample(q, &wire.Sample{Density: wire.Density{Program: "bell", Data: harness.Uses(1), Type: ops.F64, Dim: dim}, Chains: 1, Chunk: 1 << 20,
		Options: nuts.Options{Draws: 7, Step: 0.1, MaxDepth: 1, Fixed: true}}, func(_ int, err error) {
		if err != nil {
			t.Fatal(err)
		}
	}, func(_ int, c Chunk) bool {
		longest = max(longest, len(c.Draws))
		ended = c.Draws == nil
		return true
	})
	r.Until(func() bool { return ended })
	if longest != 3 {
		t.Errorf("the longest chunk has %d draws, want 3", longest)
	}
}

// TestNoDensity: a request for draws or steps of a program that is not such a
// density is refused, and the error says why.
func TestNoDensity(t *testing.T) {
	r := newRig(t, nil)
	q := r.Session()
	r.bell(q, 1, 3, -1)
	shape := func(dims ...int) ops.Type { return ops.Type{DType: ops.F64, Shape: dims} }
	wrong := bell(2)
	wrong.Body = append(wrong.Body, harness.Op(ops.Reshape, harness.Res(8, shape(1, 2)), harness.Ref(7)))
	wrong.Values = harness.Uses(6, 8)
	r.Define(q, "gradient", wrong)
	vector := bell(2)
	vector.Values = harness.Uses(4, 7)
	r.Define(q, "vector", vector)
	alone := bell(2)
	alone.Values = harness.Uses(6)
	r.Define(q, "alone", alone)
	for _, c := range []struct {
		name string
		d    wire.Density
		want string
	}{
		{"a gradient of another shape", wire.Density{Program: "gradient", Data: harness.Uses(1), Type: ops.F64, Dim: 2}, "gives [f64 f64{1, 2}]"},
		{"a density that is no scalar", wire.Density{Program: "vector", Data: harness.Uses(1), Type: ops.F64, Dim: 2}, "gives [f64{2} f64{2}]"},
		{"no gradient", wire.Density{Program: "alone", Data: harness.Uses(1), Type: ops.F64, Dim: 2}, "gives [f64]"},
		{"another dimension", wire.Density{Program: "bell", Data: harness.Uses(1), Type: ops.F64, Dim: 3}, "operand 0 of the program is f64{2}, must be f64{3}"},
		{"another type", wire.Density{Program: "bell", Data: harness.Uses(1), Type: ops.F32, Dim: 2}, "must be f32{2}"},
		{"no data", wire.Density{Program: "bell", Type: ops.F64, Dim: 2}, "takes 2 operands"},
		{"no program", wire.Density{Program: "never", Type: ops.F64, Dim: 2}, "no program"},
	} {
		check := func(err error) {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", c.name, err, c.want)
			}
		}
		answered := false
		r.sampler.Sample(q, &wire.Sample{Density: c.d, Chains: 1, Chunk: 1}, func(_ int, err error) {
			check(err)
			answered = true
		}, func(int, Chunk) bool {
			t.Errorf("%s: it is drawn from", c.name)
			return true
		})
		r.Until(func() bool { return answered })
		zeros := make([]float64, c.d.Dim)
		_, err := r.leap(q, &wire.Leapfrog{Density: c.d, N: 1, K: 1, Step: 0.1, Q: zeros, P: zeros, Metric: zeros})
		check(err)
	}
}
