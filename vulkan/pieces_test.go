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
		list := d.queue.pieces(s.lists, s.seconds, false)
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
