package vulkan

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"nxvk/vulkan/adapter"
)

// TestCutDispatches cuts dispatches of random grids, between others that depend on them: each workgroup
// runs once, knows its place in the whole grid, and comes before the next command.
func TestCutDispatches(t *testing.T) {
	shared := func() bool { return true }
	d := openTest(t, Options{Queues: 1, Piece: time.Millisecond, Fault: Fault{Shared: shared}})
	grid := must(d.Pipeline("grid", readWords(t, "grid_bind.spv"), Layout{Buffers: 1}))(t)
	whole := must(d.Pipeline("whole", readWords(t, "grid_bind.spv"), Layout{Buffers: 1, Whole: true}))(t)
	twice := affine(t, d, false)
	rnd := rand.New(rand.NewPCG(4, 7))
	s := d.Stream()
	for round := range 60 {
		g := [3]uint32{uint32(1 + rnd.IntN(40)), 1, 1}
		for k := 1; k < 3; k++ {
			if rnd.IntN(2) == 0 {
				g[k] = uint32(1 + rnd.IntN(12))
			}
		}
		n := int(g[0] * g[1] * g[2])
		b := must(s.Alloc(4 * n))(t)
		if err := s.Fill(WriteOnly(b), 0, 4*n); err != nil {
			t.Fatal(err)
		}
		p := grid
		if round%5 == 0 {
			p = whole
		}
		before := d.Stats().Submits
		want := make([]uint32, n)
		for range 3 {
			if err := s.Dispatch(p, []Arg{ReadWrite(b)}, nil, g[0], g[1], g[2]); err != nil {
				t.Fatal(err)
			}
			s.Expect((0.5 + 40*rnd.Float64()) * 1e-3 / p.Rate.Value())
			if err := s.Dispatch(twice, []Arg{ReadWrite(b), ReadWrite(b)}, affinePush(uint32(n), 2, 1), uint32(n+63)/64, 1, 1); err != nil {
				t.Fatal(err)
			}
			for i := range want {
				want[i] = 2*(want[i]+1+uint32(i)) + 1
			}
		}
		got := read(t, d, s, b)
		for i := range want {
			if x := binary.LittleEndian.Uint32(got[4*i:]); x != want[i] {
				t.Fatalf("grid %v: element %d is %d, want %d", g, i, x, want[i])
			}
		}
		if n := d.Stats().Submits - before; p == whole && n > 8 {
			t.Errorf("a kernel that is not to be cut made %d submissions", n)
		}
		b.Free()
	}
	if st := d.Stats(); st.Submits < 300 {
		t.Errorf("%d submissions: nothing was cut", st.Submits)
	}
}

// TestAloneIsNotCut submits the same long batches with and without other streams at work. Without
// them, each batch is one submission.
func TestAloneIsNotCut(t *testing.T) {
	for _, alone := range []bool{true, false} {
		shared := func() bool { return !alone }
		d := openTest(t, Options{Queues: 1, Piece: time.Millisecond, Fault: Fault{Shared: shared}})
		p := must(d.Pipeline("grid", readWords(t, "grid_bind.spv"), Layout{Buffers: 1}))(t)
		b := must(d.Alloc(1 << 16))(t)
		s := d.Stream()
		rnd := rand.New(rand.NewPCG(2, 12))
		const rounds = 20
		for range rounds {
			for range 8 {
				if err := s.Dispatch(p, []Arg{ReadWrite(b)}, nil, 64, 1, 1); err != nil {
					t.Fatal(err)
				}
				s.Expect((1 + 2*rnd.Float64()) * 1e-3 / p.Rate.Value())
			}
			wait(t, d, must(s.Submit())(t))
		}
		if n := d.Stats().Submits; (n == rounds) != alone {
			t.Errorf("alone %v: %d submissions of %d batches", alone, n, rounds)
		}
	}
}

// TestLongDispatchOfAProcessor has a stream that is alone dispatch what takes seconds: another stream that comes
// after it waits for a part.
func TestLongDispatchOfAProcessor(t *testing.T) {
	d := openTest(t, Options{Queues: 1, Fault: Fault{Shared: func() bool { return false }}})
	if d.Info().Kind != adapter.CPU {
		t.Skip("dispatches of a GPU that is alone are whole")
	}
	p := must(d.Pipeline("grid", readWords(t, "grid_bind.spv"), Layout{Buffers: 1}))(t)
	b := must(d.Alloc(1 << 16))(t)
	s := d.Stream()
	for _, seconds := range []float64{0.025, 1, 60} {
		before := d.Stats().Submits
		if err := s.Dispatch(p, []Arg{ReadWrite(b)}, nil, 64, 1, 1); err != nil {
			t.Fatal(err)
		}
		s.Expect(seconds / p.Rate.Value())
		wait(t, d, must(s.Submit())(t))
		// A part takes 30 ms, if there are workgroups for as many.
		n, want := d.Stats().Submits-before, uint64(min(max(1, seconds/0.033), 64))
		if n < want || n > want+2 {
			t.Errorf("%d submissions of a dispatch of %v s, want %d", n, seconds, want)
		}
	}
}

// TestStreamsInTurnAreAlone has streams work one after the other: a stream whose work has ended does
// not count as at work, even where nothing has polled the device since.
func TestStreamsInTurnAreAlone(t *testing.T) {
	d := openTest(t, Options{})
	p := affine(t, d, true)
	b := must(d.Alloc(4096))(t)
	for range 5 {
		s := d.Stream()
		for range 2 * smallBatch {
			if err := s.Dispatch(p, []Arg{ReadWrite(b), ReadWrite(b)}, affinePush(1, 1, 1), 1, 1, 1); err != nil {
				t.Fatal(err)
			}
		}
		wait(t, d, must(s.Submit())(t))
		s.Close()
	}
	if !d.queue.Alone() {
		t.Error("streams that worked one after the other count as several at once")
	}
}
