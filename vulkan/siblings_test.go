package vulkan

import (
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"testing"
)

// copiedInParts has streams copy six parts of a buffer, in any order and submissions.
func copiedInParts(t *testing.T, rng *rand.Rand, streams []*Stream, to, from *Buffer) (tickets []Ticket) {
	t.Helper()
	const parts = 6
	n := to.Len() / parts
	for _, part := range rng.Perm(parts) {
		s := streams[rng.IntN(len(streams))]
		if err := s.Copy(Arg{Buffer: to, Offset: part * n}, Arg{Buffer: from, Offset: part * n}, n); err != nil {
			t.Fatal(err)
		}
		if rng.IntN(2) == 0 {
			tickets = append(tickets, must(s.Submit())(t))
		}
	}
	for _, s := range streams {
		tickets = append(tickets, must(s.Submit())(t))
	}
	return tickets
}

// TestSiblings: siblings come after the work of others on the same memory, and that after them, also where memory is
// freed and handed out again while work runs. They copy to and from disjoint parts of the same buffers in any order.
func TestSiblings(t *testing.T) {
	for _, copies := range []int{-1, 2} {
		const words = 3 << 12
		var held atomic.Bool // what is submitted waits for the siblings, who go first where they may
		d := openTest(t, Options{BlockSize: 4 << 20, Fault: Fault{CopyQueues: copies, Unmapped: true, Hold: held.Load}})
		kernel := affine(t, d, false)
		rng := rand.New(rand.NewPCG(17, 40))
		others, third := []*Stream{d.Stream(), d.Stream()}, d.Stream()
		ready := must(d.Alloc(4 * words))(t) // which nobody has to make any more
		if err := others[0].Fill(WriteOnly(ready), 7, 4*words); err != nil {
			t.Fatal(err)
		}
		wait(t, d, must(others[0].Submit())(t))
		for round := range 60 {
			down, up, compute := d.Siblings()
			all := []*Stream{down, up, compute}
			out, in, scratch := must(d.Alloc(4*words))(t), must(d.Alloc(4*words))(t), must(d.Alloc(4*words))(t)
			first := others[rng.IntN(2)]
			if err := first.Fill(WriteOnly(in), uint32(round), 4*words); err != nil {
				t.Fatal(err)
			}
			if err := first.Dispatch(kernel, []Arg{WriteOnly(scratch), ReadOnly(in)}, affinePush(words, 3, 1), words/64, 1, 1); err != nil {
				t.Fatal(err)
			}
			from, want := scratch, uint32(3*round+1)
			if round%2 == 0 {
				from, want = ready, 7
			}
			tickets := copiedInParts(t, rng, all, out, from)
			held.Store(false)
			d.queue.Resume()
			for _, x := range tickets {
				wait(t, d, x)
			}
			last := others[rng.IntN(2)]
			read := must(last.Download(out, 0, 4*words))(t)
			wait(t, d, must(last.Submit())(t))
			for i := range words {
				if got := binary.LittleEndian.Uint32(read.Bytes()[4*i:]); got != want {
					t.Fatalf("%d copy queues, round %d: word %d is %d, want %d", copies, round, i, got, want)
				}
			}
			read.Release()
			held.Store(true)
			// Work of another on the memory may still run when the next round has it.
			if err := third.Fill(WriteOnly(out), 0xdead, 4*words); err != nil {
				t.Fatal(err)
			}
			must(third.Submit())(t)
			for _, b := range []*Buffer{in, scratch, out} {
				b.Free()
			}
			for _, s := range all {
				s.Close()
			}
		}
		held.Store(false)
		d.queue.Resume()
	}
}
