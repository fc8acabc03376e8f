package vulkan

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"
)

// TestSlices cuts dispatches of random grids, among others that depend on them: each
// workgroup runs once, knows its place in the whole grid, and comes before what follows.
func TestSlices(t *testing.T) {
	d := openTest(t, Options{Queues: 1, Piece: time.Millisecond})
	d.queue.crowded.Store(time.Now().Add(time.Hour).UnixNano()) // dispatches are cut beside others
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
			s.Expect((0.5 + 40*rnd.Float64()) * 1e-3 / p.learnt.value())
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

// TestPiecesCoverBatches cuts batches of random commands: pieces follow each other, none is
// longer than it should be unless it is one command, and slices add up.
func TestPiecesCoverBatches(t *testing.T) {
	d := openTest(t, Options{Queues: 1, Piece: time.Millisecond})
	d.queue.crowded.Store(time.Now().Add(time.Hour).UnixNano()) // dispatches are cut beside others
	p := must(d.Pipeline("grid", readWords(t, "grid_bind.spv"), Layout{Buffers: 1}))(t)
	rnd := rand.New(rand.NewPCG(8, 1))
	b := must(d.Alloc(1 << 20))(t)
	s := d.Stream()
	for range 100 {
		groups, seconds := uint64(0), 0.0
		for range 1 + rnd.IntN(700) {
			x, y := uint32(1+rnd.IntN(30)), uint32(1+rnd.IntN(3))
			if err := s.Dispatch(p, []Arg{ReadWrite(b)}, nil, x, y, 1); err != nil {
				t.Fatal(err)
			}
			groups += uint64(x * y)
			if rnd.IntN(3) == 0 {
				e := rnd.ExpFloat64() * 1e-3
				seconds += e
				s.Expect(e)
			}
		}
		list := d.queue.pieces(s.lists, false)
		at, sum, all := 0, 0.0, uint64(0)
		for _, x := range list {
			if x.from != at || x.to <= x.from || x.to-x.from > 2*pieceSize {
				t.Fatalf("a piece from %d to %d after %d", x.from, x.to, at)
			}
			if x.seconds > 2e-3 && x.to-x.from > 1 {
				t.Errorf("%d commands of %v seconds are one piece", x.to-x.from, x.seconds)
			}
			at, sum = x.to, sum+x.seconds
		}
		for _, c := range s.cmds {
			all += uint64(c.X) * uint64(c.Y) * uint64(c.Z)
		}
		if at != len(s.cmds) || all != groups || sum < seconds*0.999 || sum > seconds*1.001 {
			t.Errorf("pieces end at %d of %d, have %d groups of %d, %v seconds of %v", at, len(s.cmds), all, groups, sum, seconds)
		}
		s.Discard()
	}
}

// TestAloneIsNotCut submits the same long batches with and without other streams at work:
// a stream that is alone makes one submission of each, as it would on a device of its own.
func TestAloneIsNotCut(t *testing.T) {
	for _, alone := range []bool{true, false} {
		d := openTest(t, Options{Queues: 1, Piece: time.Millisecond})
		d.queue.crowded.Store(0)
		if !alone {
			d.queue.crowded.Store(time.Now().Add(time.Hour).UnixNano())
		}
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
				s.Expect((1 + 5*rnd.Float64()) * 1e-3 / p.learnt.value())
			}
			wait(t, d, must(s.Submit())(t))
		}
		if n := d.Stats().Submits; (n == rounds) != alone {
			t.Errorf("alone %v: %d submissions of %d batches", alone, n, rounds)
		}
	}
}

// TestBatchesThatWaitAreCut has a stream submit batches while it is alone: those that are
// not next yet are cut when another stream has work.
func TestBatchesThatWaitAreCut(t *testing.T) {
	d := openTest(t, Options{Queues: 1, Piece: time.Millisecond})
	p := must(d.Pipeline("grid", readWords(t, "grid_bind.spv"), Layout{Buffers: 1}))(t)
	b := must(d.Alloc(1 << 16))(t)
	s := d.Stream()
	q := &d.queue
	q.mu.Lock()
	q.crowded.Store(0)
	q.handing = true // nothing is handed over meanwhile
	q.mu.Unlock()
	for range 2 {
		for range 8 {
			if err := s.Dispatch(p, []Arg{ReadWrite(b)}, nil, 64, 1, 1); err != nil {
				t.Fatal(err)
			}
			s.Expect(4e-3)
		}
		must(s.Submit())(t)
	}
	q.mu.Lock()
	f := s.flow
	q.divide(f)
	if n := len(f.pending); n != 2 {
		t.Errorf("alone, the first batch is %d pieces", n-1)
	}
	first := f.pending[0]
	f.pending = f.pending[1:]
	q.crowded.Store(time.Now().Add(time.Hour).UnixNano())
	last := f.pending[0].sub
	q.divide(f)
	if n := len(f.pending); n < 8 || f.pending[n-1].sub != last || !f.pending[n-1].last {
		t.Errorf("beside others, the second batch is %d pieces", n)
	}
	f.pending = append([]batch{first}, f.pending...)
	q.handing = false
	q.proceed()
	q.mu.Unlock()
	wait(t, d, must(s.Submit())(t))
}

// TestStreamsInTurnAreAlone has streams work one after the other: a stream whose work has
// ended is no company for the next, even where nobody has looked since.
func TestStreamsInTurnAreAlone(t *testing.T) {
	d := openTest(t, Options{})
	p := affine(t, d, true)
	b := must(d.Alloc(4096))(t)
	for range 5 {
		s := d.Stream()
		for range 2 * promptSize {
			if err := s.Dispatch(p, []Arg{ReadWrite(b), ReadWrite(b)}, affinePush(1, 1, 1), 1, 1, 1); err != nil {
				t.Fatal(err)
			}
		}
		wait(t, d, must(s.Submit())(t))
		s.Close()
	}
	if !d.queue.alone() {
		t.Error("streams that worked one after the other count as several at once")
	}
}
