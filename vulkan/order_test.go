package vulkan

import (
	"encoding/binary"
	"errors"
	"sync"
	"testing"
)

// smallBatch is how many commands the caller of Submit submits itself.
const smallBatch = 16

// TestBatchesInOrder submits long batches, which a goroutine submits to the device, and short ones,
// which their caller submits: they run in the order of their tickets.
func TestBatchesInOrder(t *testing.T) {
	d := openTest(t, Options{})
	p := affine(t, d, true)
	s := d.Stream()
	b := must(d.Alloc(4))(t)
	if err := s.Upload(b, 0, word(1)); err != nil {
		t.Fatal(err)
	}
	want, last := uint32(1), Ticket{}
	for round := range 30 {
		n := 1
		if round%3 == 0 {
			n = 3*smallBatch + round*20
		}
		for range n {
			if err := s.Dispatch(p, []Arg{ReadWrite(b), ReadWrite(b)}, affinePush(1, 3, 1), 1, 1, 1); err != nil {
				t.Fatal(err)
			}
			want = want*3 + 1
		}
		ticket := must(s.Submit())(t)
		if d.Done(ticket) && !d.Done(last) {
			t.Fatal("a submission is complete before one of its stream before it")
		}
		last = ticket
	}
	if got := binary.LittleEndian.Uint32(read(t, d, s, b)); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}

// TestBatchesOfManyStreams submits from several goroutines at once.
func TestBatchesOfManyStreams(t *testing.T) {
	d := openTest(t, Options{})
	p := affine(t, d, true)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s := d.Stream()
			defer s.Close()
			b, err := d.Alloc(4)
			if err == nil {
				err = s.Fill(WriteOnly(b), 0, 4)
			}
			count := 0
			for n := 1; n < 200 && err == nil; n += 13 {
				for i := 0; i < n && err == nil; i++ {
					err = s.Dispatch(p, []Arg{ReadWrite(b), ReadWrite(b)}, affinePush(1, 1, 1), 1, 1, 1)
					count++
				}
				if err == nil {
					_, err = s.Submit()
				}
			}
			if err != nil {
				t.Error(err)
				return
			}
			r, err := s.Download(b, 0, 4)
			if err != nil {
				t.Error(err)
				return
			}
			ticket, err := s.Submit()
			if err == nil {
				err = d.Wait(t.Context(), ticket)
			}
			if got := binary.LittleEndian.Uint32(r.Bytes()); err != nil || got != uint32(count) {
				t.Errorf("got %d, %v, want %d", got, err, count)
			}
			r.Release()
		})
	}
	wg.Wait()
}

// TestLostWithBatchesWaiting loses the device behind long batches: Submit returns the loss, and Drain
// does not wait for them.
func TestLostWithBatchesWaiting(t *testing.T) {
	submits := 0
	d := openTest(t, Options{Fault: Fault{Lost: func() bool { submits++; return submits > 20 }}})
	p := affine(t, d, true)
	s := d.Stream()
	b := must(d.Alloc(4))(t)
	var err error
	for round := 0; err == nil; round++ {
		if round > 20 {
			t.Fatal("the device was not lost")
		}
		for range 2 * smallBatch {
			if err := s.Dispatch(p, []Arg{ReadWrite(b), ReadWrite(b)}, affinePush(1, 1, 1), 1, 1, 1); err != nil {
				t.Fatal(err)
			}
		}
		_, err = s.Submit()
	}
	if !errors.Is(err, ErrDeviceLost) {
		t.Errorf("got %v, want ErrDeviceLost", err)
	}
	d.queue.Drain()
}

// TestFreshMemorySparesBarriers frees each result at once: the next one takes other memory, so that no
// kernel needs a barrier.
func TestFreshMemorySparesBarriers(t *testing.T) {
	d := openTest(t, Options{})
	p := affine(t, d, true)
	s := d.Stream()
	src := must(d.Alloc(4096))(t)
	for range 20 {
		b := must(s.Alloc(4096))(t)
		if err := s.Dispatch(p, []Arg{WriteOnly(b), ReadOnly(src)}, affinePush(1, 1, 1), 1, 1, 1); err != nil {
			t.Fatal(err)
		}
		b.Free()
	}
	if s.barriers != 1 {
		t.Errorf("%d barriers, want that of the batch", s.barriers)
	}
	wait(t, d, must(s.Submit())(t))
}
