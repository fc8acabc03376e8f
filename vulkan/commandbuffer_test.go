package vulkan

import (
	"encoding/binary"
	"testing"
)

// TestRepeatedBatches submits batches identical to an earlier one, and batches that differ from it in
// one property each.
func TestRepeatedBatches(t *testing.T) {
	modes(t, func(t *testing.T, addresses bool) {
		d := openTest(t, Options{})
		p := affine(t, d, addresses)
		s := d.Stream()
		a, b := must(d.Alloc(4))(t), must(d.Alloc(4))(t)
		// add adds n to a buffer, and reports whether that was recorded anew.
		add := func(p *Pipeline, to *Buffer, n uint32) bool {
			t.Helper()
			before := d.Stats().Recordings
			if err := s.Dispatch(p, []Arg{ReadWrite(to), ReadWrite(to)}, affinePush(1, 1, n), 1, 1, 1); err != nil {
				t.Fatal(err)
			}
			wait(t, d, must(s.Submit())(t))
			return d.Stats().Recordings > before
		}
		for _, to := range []*Buffer{a, b} {
			if err := s.Fill(Arg{Buffer: to, Access: Write}, 0, 4); err != nil {
				t.Fatal(err)
			}
		}
		wait(t, d, must(s.Submit())(t))
		other := affine(t, d, addresses)
		for i, step := range []struct {
			p    *Pipeline
			to   *Buffer
			n    uint32
			anew bool
		}{
			{p, a, 1, true}, {p, a, 1, false}, {p, b, 1, true}, {p, a, 2, true}, {other, a, 1, true},
			{p, a, 1, false}, {p, b, 1, false}, {p, a, 2, false}, {other, a, 1, false},
		} {
			if anew := add(step.p, step.to, step.n); anew != step.anew {
				t.Errorf("batch %d: recorded anew: %v, want %v", i, anew, step.anew)
			}
		}
		for i, want := range []uint32{9, 2} {
			if got := binary.LittleEndian.Uint32(read(t, d, s, []*Buffer{a, b}[i])); got != want {
				t.Errorf("buffer %d is %d, want %d", i, got, want)
			}
		}
		// A destroyed object may come back under the same handle.
		other.Free()
		if !add(p, a, 1) {
			t.Error("a command buffer is repeated after a pipeline was destroyed")
		}
		if add(p, a, 1) {
			t.Error("it is not repeated later")
		}
	})
}

// TestDifferentBatches submits more kinds of batches in turn than command buffers are kept, and many
// before the first is complete.
func TestDifferentBatches(t *testing.T) {
	d := openTest(t, Options{})
	p := affine(t, d, false)
	s := d.Stream()
	a := must(d.Alloc(4))(t)
	if err := s.Fill(Arg{Buffer: a, Access: Write}, 0, 4); err != nil {
		t.Fatal(err)
	}
	want := uint32(0)
	const kept = 8 // command buffers
	for i := range 50 * kept {
		n := uint32(i % (2*kept + 1))
		want += n
		if err := s.Dispatch(p, []Arg{ReadWrite(a), ReadWrite(a)}, affinePush(1, 1, n), 1, 1, 1); err != nil {
			t.Fatal(err)
		}
		must(s.Submit())(t)
	}
	if got := binary.LittleEndian.Uint32(read(t, d, s, a)); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
	if n := d.queue.CommandBuffers(); n > 17 {
		t.Errorf("%d command buffers", n)
	}
}
