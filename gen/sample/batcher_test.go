package sample

import (
	"slices"
	"testing"

	"nxvk/gen/exec"
	"nxvk/gen/exec/exectest/harness"
	"nxvk/gen/exec/queue"
	"nxvk/gen/nuts"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/vulkan"
)

// TestSegments: a chain draws the same, bit for bit, however many steps it is given at once
// and has taken ahead; the more, the fewer dispatches.
func TestSegments(t *testing.T) {
	const dim, draws = 50, 100
	r := newRig(t, harness.Device(t, vulkan.Options{}))
	q := r.Session()
	r.bell(q, 1, make([]float64, dim)...)
	d := r.prepared(q, &wire.Density{Program: "bell", Data: harness.Uses(1), Type: ops.F64, Dim: dim})
	// run gives positions and the dispatches of each draw.
	run := func(rows int, cost float64) (qs []float64, dispatches float64) {
		b := r.sampler.newBatcher(d, 1)
		b.rows, b.cost = rows, cost
		c, err := nuts.New(b, dim, 0, nuts.Options{Draws: draws, Seed: 7, Step: 0.2, Fixed: true})
		if err != nil {
			t.Fatal(err)
		}
		before, ended := r.Exec.Counters().Dispatches, false
		go func() {
			err := c.Run(t.Context(), func(_ bool, d *nuts.Draw) error {
				qs = append(qs, d.Q...)
				return nil
			})
			r.Posted <- func() { ended = true }
			if err != nil {
				t.Error(err)
			}
		}()
		r.Until(func() bool { return ended })
		b.end()
		return qs, float64(r.Exec.Counters().Dispatches-before) / draws
	}
	want, most := run(1, 0)
	for _, c := range []struct {
		rows int
		cost float64
		most float64 // dispatches a draw
	}{{3, 0, most / 2}, {maxRows, 0, 6}, {maxRows, 30, 1.5}, {maxRows, 1e6, 1.5}} {
		got, dispatches := run(c.rows, c.cost)
		t.Logf("%d rows, a dispatch costs %v steps: %.2f dispatches a draw", c.rows, c.cost, dispatches)
		if !slices.Equal(got, want) {
			t.Errorf("%d rows, a dispatch costs %v steps: other draws", c.rows, c.cost)
		}
		if dispatches > c.most {
			t.Errorf("%d rows, a dispatch costs %v steps: %v dispatches a draw, want at most %v", c.rows, c.cost, dispatches, c.most)
		}
	}
}

// prepared is a density with its kernel.
func (r *bench) prepared(q *exec.Queue, s *wire.Density) (d *density) {
	r.Helper()
	r.Exec.Do(q, func(q *exec.Queue) queue.Wait {
		var wait queue.Wait
		var err error
		in := &wire.Instr{Name: "sample", Instr: ops.Instr{Op: ops.Run, Ins: s.Data}}
		if d, wait, err = r.sampler.density(q, in, s); err == nil && wait == 0 {
			err = d.device()
		}
		if err != nil {
			r.Fatal(err)
		}
		return wait
	})
	r.Until(func() bool { return d != nil })
	return d
}

// TestSamplerGone: when the session of a long run ends, so do its chains, and all
// memory is back.
func TestSamplerGone(t *testing.T) {
	const (
		dim, chains = 300, 3
		kept        = 16 << 20 // what a stream keeps for uploads is a multiple of this
	)
	r := newRig(t, harness.Device(t, vulkan.Options{}))
	q := r.Session()
	r.bell(q, 1, make([]float64, dim)...)
	chunks, ended := 0, 0
	r.sampler.Sample(q, &wire.Sample{Density: wire.Density{Program: "bell", Data: harness.Uses(1), Type: ops.F64, Dim: dim}, Chains: chains, Chunk: 2,
		Options: nuts.Options{Draws: 1_000_000, Step: 0.1, Fixed: true}}, func(_ int, err error) {
		if err != nil {
			t.Fatal(err)
		}
	}, func(_ int, c Chunk) bool {
		if chunks++; c.Draws == nil {
			ended++
		}
		return true
	})
	r.Until(func() bool { return chunks >= 5*chains })
	if ended != 0 || r.Dev.Stats().InUse%kept == 0 {
		t.Fatalf("%d chains have ended, %d bytes are in use", ended, r.Dev.Stats().InUse)
	}
	r.Exec.End(q.Session)
	seen := chunks
	r.Until(func() bool { return len(runsOf(q).active) == 0 && r.Dev.Stats().InUse%kept == 0 })
	if chunks != seen {
		t.Errorf("%d chunks came after the end of the session", chunks-seen)
	}
}
