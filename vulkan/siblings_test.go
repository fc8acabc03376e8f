package vulkan

import (
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"testing"
)

// TestSiblings: siblings come after the work of others on the same memory, and that after them, also where memory is
// freed and handed out again while work runs. They copy to and from disjoint parts of the same buffers in any order.
func TestSiblings(t *testing.T) {
	for _, copies := range []int{-1, 2} {
		const words, parts = 3 << 12, 6
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
			var tickets []Ticket
			for _, part := range rng.Perm(parts) {
				s, at, n := all[rng.IntN(3)], part*4*words/parts, 4*words/parts
				if err := s.Copy(Arg{Buffer: out, Offset: at}, Arg{Buffer: from, Offset: at}, n); err != nil {
					t.Fatal(err)
				}
				if rng.IntN(2) == 0 {
					tickets = append(tickets, must(s.Submit())(t))
				}
			}
			for _, s := range all {
				tickets = append(tickets, must(s.Submit())(t))
			}
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
