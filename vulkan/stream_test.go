package vulkan

import (
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"testing"
)

func word(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }

// TestDependentChain runs a chain of kernels, each of which needs the result of the one before.
func TestDependentChain(t *testing.T) {
	modes(t, func(t *testing.T, addresses bool) {
		d := openTest(t, Options{})
		p := affine(t, d, addresses)
		s := d.Stream()
		bufs := [2]*Buffer{must(d.Alloc(4))(t), must(d.Alloc(4))(t)}
		if err := s.Upload(bufs[0], 0, word(1)); err != nil {
			t.Fatal(err)
		}
		const n = 10_000
		want := uint32(1)
		push := affinePush(1, 1664525, 1013904223)
		for i := range n {
			if err := s.Dispatch(p, []Arg{WriteOnly(bufs[(i+1)%2]), ReadOnly(bufs[i%2])}, push, 1, 1, 1); err != nil {
				t.Fatal(err)
			}
			want = want*1664525 + 1013904223
			if i%997 == 0 {
				must(s.Submit())(t)
			}
		}
		if got := binary.LittleEndian.Uint32(read(t, d, s, bufs[0])); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
		if b := d.Stats().Barriers; b < n {
			t.Errorf("%d barriers for %d dependent kernels", b, n)
		}
	})
}

// TestBarriersOnlyForHazards counts the barriers of small patterns. A and B
// are halves of one buffer, c and e other buffers.
func TestBarriersOnlyForHazards(t *testing.T) {
	d := openTest(t, Options{})
	p := affine(t, d, true)
	a, c, e := must(d.Alloc(4096))(t), must(d.Alloc(4096))(t), must(d.Alloc(4096))(t)
	lo := func(acc Access) Arg { return Arg{Buffer: a, Size: 2048, Access: acc} }
	hi := func(acc Access) Arg { return Arg{Buffer: a, Offset: 2048, Size: 2048, Access: acc} }
	for _, test := range []struct {
		name string
		args [][]Arg
		want int // beyond the one that begins the batch
	}{
		{"independent", [][]Arg{{WriteOnly(c), ReadOnly(a)}, {WriteOnly(e), ReadOnly(a)}}, 0},
		{"read after write", [][]Arg{{WriteOnly(c), ReadOnly(a)}, {WriteOnly(e), ReadOnly(c)}}, 1},
		{"write after read", [][]Arg{{WriteOnly(c), ReadOnly(a)}, {WriteOnly(a), ReadOnly(e)}}, 1},
		{"write after write", [][]Arg{{WriteOnly(c), ReadOnly(a)}, {WriteOnly(c), ReadOnly(a)}}, 1},
		{"disjoint halves", [][]Arg{{lo(Write), ReadOnly(c)}, {hi(Write), ReadOnly(c)}}, 0},
		{"halves, then whole", [][]Arg{{lo(Write), ReadOnly(c)}, {hi(Write), ReadOnly(c)}, {WriteOnly(e), ReadOnly(a)}}, 1},
		{"in place", [][]Arg{{ReadWrite(c), ReadWrite(c)}}, 0},
		{"in place twice", [][]Arg{{ReadWrite(c), ReadWrite(c)}, {ReadWrite(c), ReadWrite(c)}}, 1},
	} {
		s := d.Stream()
		for _, args := range test.args {
			if err := s.Dispatch(p, args, affinePush(16, 1, 0), 1, 1, 1); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.barriers - 1; got != test.want {
			t.Errorf("%s: got %d barriers, want %d", test.name, got, test.want)
		}
		wait(t, d, must(s.Submit())(t))
	}
}

// TestSerial: each command of a serial device waits for those before.
func TestSerial(t *testing.T) {
	d := openTest(t, Options{Serial: true})
	p := affine(t, d, true)
	a, c, e := must(d.Alloc(64))(t), must(d.Alloc(64))(t), must(d.Alloc(64))(t)
	s := d.Stream()
	for _, out := range []*Buffer{c, e, c} {
		if err := s.Dispatch(p, []Arg{WriteOnly(out), ReadOnly(a)}, affinePush(16, 1, 0), 1, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	if s.barriers != 3 {
		t.Errorf("got %d barriers for 3 commands", s.barriers)
	}
	wait(t, d, must(s.Submit())(t))
}

// TestBarrier asks for a barrier that no access needs: the next command has it, the one after has not, and it
// does not outlive the batch.
func TestBarrier(t *testing.T) {
	d := openTest(t, Options{})
	p := affine(t, d, true)
	a, c, e := must(d.Alloc(64))(t), must(d.Alloc(64))(t), must(d.Alloc(64))(t)
	s := d.Stream()
	dispatch := func(out *Buffer) {
		t.Helper()
		if err := s.Dispatch(p, []Arg{WriteOnly(out), ReadOnly(a)}, affinePush(16, 1, 0), 1, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	dispatch(c)
	s.Barrier()
	dispatch(e)
	if s.barriers != 2 {
		t.Errorf("got %d barriers, want one at the beginning and one that was asked for", s.barriers)
	}
	dispatch(must(d.Alloc(64))(t))
	if s.barriers != 2 {
		t.Errorf("got %d barriers, want none for the command after", s.barriers)
	}
	s.Barrier()
	wait(t, d, must(s.Submit())(t))
	dispatch(c)
	dispatch(e)
	if s.barriers != 1 {
		t.Errorf("got %d barriers in the next batch, want the one at its beginning", s.barriers)
	}
	wait(t, d, must(s.Submit())(t))
}

func TestDispatchIsChecked(t *testing.T) {
	d := openTest(t, Options{})
	p := affine(t, d, false)
	b := must(d.Alloc(4096))(t)
	s := d.Stream()
	args := []Arg{WriteOnly(b), ReadOnly(b)}
	push := affinePush(1, 1, 1)
	over := d.Info().Limits.MaxWorkgroupCount
	for name, err := range map[string]error{
		"one buffer":     s.Dispatch(p, args[:1], push, 1, 1, 1),
		"short push":     s.Dispatch(p, args, push[:8], 1, 1, 1),
		"offset odd":     s.Dispatch(p, []Arg{{Buffer: b, Offset: 1, Access: Write}, args[1]}, push, 1, 1, 1),
		"offset outside": s.Dispatch(p, []Arg{{Buffer: b, Offset: 8192, Access: Write}, args[1]}, push, 1, 1, 1),
		"grid y":         s.Dispatch(p, args, push, 1, over[1]+1, 1),
		"not SPIR-V":     second(d.Pipeline("x", []uint32{1, 2, 3, 4, 5}, Layout{})),
		"too much push":  second(d.Pipeline("x", readWords(t, "affine_addr.spv"), Layout{Buffers: 200, Addresses: true})),
	} {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
	if err := s.Dispatch(p, args, push, 0, 1, 1); err != nil || s.Pending() != 0 {
		t.Errorf("empty grid: %v, %d commands", err, s.Pending())
	}
}

// TestSpec sets a specialisation constant.
func TestSpec(t *testing.T) {
	d := openTest(t, Options{})
	p := must(d.Pipeline("spec", readWords(t, "affine_bind.spv"), Layout{Buffers: 2, PushBytes: 12, Spec: []uint32{1000}}))(t)
	s := d.Stream()
	a, b := must(d.Alloc(4))(t), must(d.Alloc(4))(t)
	if err := s.Upload(a, 0, word(5)); err != nil {
		t.Fatal(err)
	}
	if err := s.Dispatch(p, []Arg{WriteOnly(b), ReadOnly(a)}, affinePush(1, 2, 3), 1, 1, 1); err != nil {
		t.Fatal(err)
	}
	if got := binary.LittleEndian.Uint32(read(t, d, s, b)); got != 1013 {
		t.Errorf("got %d, want 1013", got)
	}
}

// TestDescriptorSets works without push descriptors, over several pools.
func TestDescriptorSets(t *testing.T) {
	d := openTest(t, Options{Fault: Fault{NoPushDescriptors: true}})
	p := affine(t, d, false)
	s := d.Stream()
	b := must(d.Alloc(4))(t)
	if err := s.Upload(b, 0, word(0)); err != nil {
		t.Fatal(err)
	}
	const rounds, n = 4, 1500
	for range rounds {
		for range n {
			if err := s.Dispatch(p, []Arg{ReadWrite(b), ReadWrite(b)}, affinePush(1, 1, 1), 1, 1, 1); err != nil {
				t.Fatal(err)
			}
		}
		wait(t, d, must(s.Submit())(t))
	}
	if got := binary.LittleEndian.Uint32(read(t, d, s, b)); got != rounds*n {
		t.Errorf("got %d, want %d", got, rounds*n)
	}
}

// TestFreeInFlight frees each buffer right after recording its last use, while
// other buffers take its memory.
func TestFreeInFlight(t *testing.T) {
	d := openTest(t, Options{BlockSize: 8 << 20})
	p := affine(t, d, true)
	s := d.Stream()
	const n = 2000
	now := must(d.Alloc(4096))(t)
	if err := s.Upload(now, 0, word(1)); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		next := must(d.Alloc(4096))(t)
		if err := s.Dispatch(p, []Arg{WriteOnly(next), ReadOnly(now)}, affinePush(1, 1, 1), 1, 1, 1); err != nil {
			t.Fatal(err)
		}
		now.Free()
		now = next
		if i%37 == 0 {
			must(s.Submit())(t)
		}
	}
	if got := binary.LittleEndian.Uint32(read(t, d, s, now)); got != n+1 {
		t.Errorf("got %d, want %d", got, n+1)
	}
	now.Free()
	if st := d.Stats(); st.InUse != 0 || st.Buffers != 0 || st.Reserved > 16<<20 {
		t.Errorf("after freeing all: %+v", st)
	}
}

// TestBatchReusesMemory records a long batch of short-lived buffers, small and large: it needs little
// memory.
func TestBatchReusesMemory(t *testing.T) {
	for _, size := range []int{4096, 3 << 20} {
		d := openTest(t, Options{BlockSize: 4 << 20})
		p := affine(t, d, true)
		s := d.Stream()
		now := must(s.Alloc(size))(t)
		if err := s.Upload(now, 0, word(1)); err != nil {
			t.Fatal(err)
		}
		const n = 300
		for range n {
			next := must(s.Alloc(size))(t)
			if err := s.Dispatch(p, []Arg{WriteOnly(next), ReadOnly(now)}, affinePush(1, 1, 1), 1, 1, 1); err != nil {
				t.Fatal(err)
			}
			now.Free()
			now = next
		}
		if st := d.Stats(); st.Submits != 0 || st.Reserved > 16<<20 {
			t.Errorf("%d submits, %d bytes reserved", st.Submits, st.Reserved)
		}
		if got := binary.LittleEndian.Uint32(read(t, d, s, now)); got != n+1 {
			t.Errorf("got %d, want %d", got, n+1)
		}
		now.Free()
		if st := d.Stats(); st.InUse != 0 {
			t.Errorf("%d bytes in use", st.InUse)
		}
	}
}

// collect runs the garbage collector repeatedly, until stop is called.
func collect() (stop func()) {
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			default:
				runtime.GC()
			}
		}
	}()
	return func() { close(done) }
}

// TestGarbageCollection runs the garbage collector while streams of several goroutines record and run.
func TestGarbageCollection(t *testing.T) {
	d := openTest(t, Options{})
	defer collect()()
	p, q := affine(t, d, true), affine(t, d, false)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			s := d.Stream()
			b := must(d.Alloc(4))(t)
			defer b.Free()
			if err := s.Upload(b, 0, word(0)); err != nil {
				t.Error(err)
			}
			const n = 400
			for i := range n {
				k := p
				if i%2 == 0 {
					k = q
				}
				if err := s.Dispatch(k, []Arg{ReadWrite(b), ReadWrite(b)}, affinePush(1, 1, uint32(g)), 1, 1, 1); err != nil {
					t.Error(err)
				}
				if i%50 == 0 {
					must(s.Submit())(t)
				}
			}
			if got, want := binary.LittleEndian.Uint32(read(t, d, s, b)), uint32(n*g); got != want {
				t.Errorf("stream %d: got %d, want %d", g, got, want)
			}
		})
	}
	wg.Wait()
}

func TestTimestamps(t *testing.T) {
	d := openTest(t, Options{})
	if !d.Info().Features.Timestamps {
		t.Skip("no timestamps")
	}
	b, x := must(d.Alloc(16))(t), must(d.Alloc(1<<20))(t)
	s := d.Stream()
	for range 2 {
		for i := range 2 {
			if err := s.Timestamp(Arg{Buffer: b, Offset: 8 * i}); err != nil {
				t.Fatal(err)
			}
			if err := s.Fill(WriteOnly(x), 1, x.Len()); err != nil {
				t.Fatal(err)
			}
		}
		must(s.Submit())(t) // timestamps are written last
		out := read(t, d, s, b)
		from, to := binary.LittleEndian.Uint64(out), binary.LittleEndian.Uint64(out[8:])
		if to <= from {
			t.Errorf("clock goes from %d to %d", from, to)
		}
	}
}

// TestWarm warms a kernel: its buffer does not change.
func TestWarm(t *testing.T) {
	modes(t, func(t *testing.T, addresses bool) {
		d := openTest(t, Options{})
		p, s, b := affine(t, d, addresses), d.Stream(), must(d.Alloc(16))(t)
		if err := s.Upload(b, 0, word(41)); err != nil {
			t.Fatal(err)
		}
		before := s.Pending()
		if err := s.Warm(p, b); err != nil {
			t.Fatal(err)
		}
		if s.Pending() == before {
			t.Error("nothing was recorded")
		}
		if got := binary.LittleEndian.Uint32(read(t, d, s, b)); got != 41 {
			t.Errorf("the buffer has %d, want 41", got)
		}
	})
}
