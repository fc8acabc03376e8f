package vulkan

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// TestPromise has streams read a buffer before the copies into it have been submitted, in random orders: they get what these
// copy, and others go on meanwhile.
func TestPromise(t *testing.T) {
	for _, copies := range []int{-1, 2} {
		const words = 3 << 12
		d := openTest(t, Options{BlockSize: 4 << 20, Fault: Fault{CopyQueues: copies, Unmapped: true}})
		kernel := affine(t, d, false)
		rng := rand.New(rand.NewPCG(17, 41))
		readers, other := []*Stream{d.Stream(), d.Stream()}, d.Stream()
		for round := range 60 {
			down, up, compute := d.Siblings()
			writers := []*Stream{down, up, compute}
			from, to, out := must(d.Alloc(4*words))(t), must(d.Alloc(4*words))(t), must(d.Alloc(4*words))(t)
			own := readers[rng.IntN(2)]
			if err := own.Fill(WriteOnly(from), uint32(round), 4*words); err != nil {
				t.Fatal(err)
			}
			// Work of before on the memory comes before the copies.
			if err := own.Fill(WriteOnly(to), 0xdead, 4*words); err != nil {
				t.Fatal(err)
			}
			must(own.Submit())(t)
			promise := to.Promise(writers...)
			if err := own.Dispatch(kernel, []Arg{WriteOnly(out), ReadOnly(to)}, affinePush(words, 3, 1), words/64, 1, 1); err != nil {
				t.Fatal(err)
			}
			last := readers[rng.IntN(2)]
			read := must(last.Download(out, 0, 4*words))(t)
			ticket := must(last.Submit())(t)
			told := make(chan error, 1)
			d.Notify(ticket, func(err error) { told <- err })
			// Others have their turn.
			scratch := must(other.Alloc(4 * words))(t)
			if err := other.Fill(WriteOnly(scratch), 1, 4*words); err != nil {
				t.Fatal(err)
			}
			wait(t, d, must(other.Submit())(t))
			scratch.Free()
			copiedInParts(t, rng, writers, to, from)
			if d.Done(ticket) {
				t.Fatal("complete before the promise is kept")
			}
			promise.Keep()
			if err := <-told; err != nil {
				t.Fatal(err)
			}
			for i := range words {
				if got := binary.LittleEndian.Uint32(read.Bytes()[4*i:]); got != uint32(3*round+1) {
					t.Fatalf("%d copy queues, round %d: word %d is %d, want %d", copies, round, i, got, 3*round+1)
				}
			}
			read.Release()
			for _, b := range []*Buffer{from, to, out} {
				b.Free()
			}
			for _, s := range writers {
				s.Close()
			}
		}
	}
}

// TestBrokenPromise closes a device with a promise that nobody keeps: what waits for it is discarded.
func TestBrokenPromise(t *testing.T) {
	d := openTest(t, Options{})
	s, writer := d.Stream(), d.Stream()
	to, out := must(d.Alloc(256))(t), must(d.Alloc(256))(t)
	to.Promise(writer)
	if err := s.Copy(WriteOnly(out), ReadOnly(to), 256); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	d.Notify(must(s.Submit())(t), func(err error) { told <- err })
	closed := make(chan error, 1)
	go func() { closed <- d.Close() }()
	for _, c := range []chan error{told, closed} {
		select {
		case err := <-c:
			if c == told && !errors.Is(err, ErrClosed) {
				t.Errorf("the batch that waits ends with %v, want ErrClosed", err)
			}
		case <-time.After(time.Minute):
			t.Fatal("the device does not close")
		}
	}
}
