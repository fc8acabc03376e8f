package submit

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"nxvk/vulkan/logical"
	"nxvk/vulkan/logical/logicaltest"
	"nxvk/vulkan/pipeline"
	"nxvk/vulkan/vk"
)

// openTest returns the scheduler of a device. end is Device.Close of package vulkan, as far as
// that concerns submissions, and is called at the end of the test if not before.
func openTest(t *testing.T, o logical.Options) (q *Scheduler, end func()) {
	t.Helper()
	d := logicaltest.Open(t, o)
	q, err := NewScheduler(d)
	if err != nil {
		t.Fatal(err)
	}
	end = func() {
		if !d.Close() {
			return
		}
		q.Drain()
		q.StopNotices()
		vk.DeviceWaitIdle(d.VK)
		q.Close()
	}
	t.Cleanup(end)
	return q, end
}

// barrier submits a batch that does nothing.
func barrier(t *testing.T, q *Scheduler, f *Flow) *Submission {
	t.Helper()
	l := q.Lists()
	l.Cmds = append(l.Cmds, vk.Cmd{Op: vk.OpHostBarrier})
	s := New(f)
	if err := q.Submit(Batch{Submission: s, Lists: l}); err != nil {
		t.Fatal(err)
	}
	return s
}

// never returns a submission that the device does not complete.
func never(q *Scheduler) *Submission {
	s := &Submission{timeline: q.timelines[0]}
	s.value.Store(1 << 60)
	return s
}

// TestImpossibleValue has a timeline at a value that no submission signals, as that of a lost device may be:
// nothing counts as complete.
func TestImpossibleValue(t *testing.T) {
	q, _ := openTest(t, logical.Options{})
	f := NewFlow()
	if err := q.Wait(t.Context(), barrier(t, q, f)); err != nil {
		t.Fatal(err)
	}
	for _, line := range q.timelines {
		line.sent.Store(0)
	}
	if err := q.Wait(t.Context(), never(q)); !errors.Is(err, logical.ErrDeviceLost) {
		t.Errorf("got %v, want ErrDeviceLost", err)
	}
	if !errors.Is(q.d.Lost(), logical.ErrDeviceLost) {
		t.Error("the device does not count as lost")
	}
}

// TestNotifyOutOfOrder asks for the notice of a later submission before those of earlier ones.
func TestNotifyOutOfOrder(t *testing.T) {
	q, end := openTest(t, logical.Options{})
	late := make(chan error, 1)
	q.Notify(never(q), func(err error) { late <- err })
	f := NewFlow()
	for range 50 {
		if err := q.Wait(t.Context(), barrier(t, q, f)); err != nil {
			t.Fatal(err)
		}
	}
	end()
	if err := <-late; !errors.Is(err, logical.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	q, end := openTest(t, logical.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := q.Wait(ctx, never(q)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want DeadlineExceeded", err)
	}
	heard := make(chan error, 1)
	q.Notify(never(q), func(err error) { heard <- err })
	end()
	if err := <-heard; !errors.Is(err, logical.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

// TestCancelledWorkKeepsOrder has three flows use the same memory, and cancels the second one's
// work: the third one comes after the first.
func TestCancelledWorkKeepsOrder(t *testing.T) {
	q, _ := openTest(t, logical.Options{Fault: logical.Fault{Hold: func() bool { return true }}})
	a, b, c := NewFlow(), NewFlow(), NewFlow()
	first := barrier(t, q, a)
	second := New(b)
	second.After([]*Submission{first})
	l := q.Lists()
	l.Cmds = append(l.Cmds, vk.Cmd{Op: vk.OpHostBarrier})
	if err := q.Submit(Batch{Submission: second, Lists: l}); err != nil {
		t.Fatal(err)
	}
	q.Cancel(b, logical.ErrDiscarded)
	third := New(c)
	third.After([]*Submission{second})
	last := &Batch{Submission: third}
	if last.ready() {
		t.Error("the third batch does not wait for the first")
	}
	q.Cancel(a, logical.ErrDiscarded)
	if !last.ready() {
		t.Error("the third batch waits although the others are cancelled")
	}
}

// TestCancelWhileRecording cancels the pieces of a batch while the first of them is recorded, and has
// another flow record in the meantime: the first piece has its own commands and data.
func TestCancelWhileRecording(t *testing.T) {
	var q *Scheduler
	f := NewFlow()
	var during func()
	q, _ = openTest(t, logical.Options{Fault: logical.Fault{Record: func() bool {
		if g := during; g != nil {
			during = nil
			g()
		}
		return false
	}}})
	l := q.Lists()
	for range 3 * pieceSize {
		l.Cmds = append(l.Cmds, vk.Cmd{Op: vk.OpHostBarrier})
	}
	l.Push = append(l.Push, 1, 2, 3, 4)
	during = func() {
		q.CancelUnwanted(f, logical.ErrDiscarded)
		if other := q.Lists(); other == l {
			t.Error("the lists of a batch that is being recorded are lent to another")
		}
		if len(l.Push) != 4 {
			t.Error("the data of a batch that is being recorded is gone")
		}
	}
	s := New(f)
	if err := q.Submit(Batch{Submission: s, Lists: l}); err != nil {
		t.Fatal(err)
	}
	if err := q.Wait(t.Context(), s); !errors.Is(err, logical.ErrDiscarded) {
		t.Errorf("got %v, want ErrDiscarded", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for !slices.Contains(q.lists, l) { // they are used again when the first piece has been submitted
		q.changed.Wait()
	}
}

// grid compiles the kernel of the tests of cuts.
func grid(t *testing.T, q *Scheduler) *pipeline.Pipeline {
	t.Helper()
	c, err := pipeline.New(q.d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	bytes, err := os.ReadFile("../testdata/grid_bind.spv")
	if err != nil {
		t.Fatal(err)
	}
	code := make([]uint32, len(bytes)/4)
	for i := range code {
		code[i] = binary.LittleEndian.Uint32(bytes[4*i:])
	}
	p, err := c.Compile("grid", code, pipeline.Layout{Buffers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPiecesCoverBatches cuts batches of random commands: pieces follow each other, a piece is too
// long only where it is one command, and the parts of a dispatch add up.
func TestPiecesCoverBatches(t *testing.T) {
	q, _ := openTest(t, logical.Options{Queues: 1, Piece: time.Millisecond, Fault: logical.Fault{Shared: func() bool { return true }}})
	p := grid(t, q)
	rnd := rand.New(rand.NewPCG(8, 1))
	for range 100 {
		groups, seconds := uint64(0), 0.0
		l := &Lists{}
		for i := range 1 + rnd.IntN(700) {
			x, y := uint32(1+rnd.IntN(30)), uint32(1+rnd.IntN(3))
			l.Cmds = append(l.Cmds, vk.Cmd{Op: vk.OpDispatch, X: x, Y: y, Z: 1})
			groups += uint64(x * y)
			if rnd.IntN(3) == 0 {
				e := rnd.ExpFloat64() * 1e-3
				seconds += e
				l.Costs = append(l.Costs, Cost{Cmd: i, Pipeline: p, Seconds: e})
			}
		}
		list := q.pieces(l, false)
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
		for _, c := range l.Cmds {
			all += uint64(c.X) * uint64(c.Y) * uint64(c.Z)
		}
		if at != len(l.Cmds) || all != groups || sum < seconds*0.999 || sum > seconds*1.001 {
			t.Errorf("pieces end at %d of %d, have %d groups of %d, %v seconds of %v", at, len(l.Cmds), all, groups, sum, seconds)
		}
	}
}

// TestWaitingBatchesAreCut has a flow submit batches while it is alone: the batches that are not next
// are cut when another flow has work.
func TestWaitingBatchesAreCut(t *testing.T) {
	shared := false
	fault := logical.Fault{Shared: func() bool { return shared }, Hold: func() bool { return true }}
	q, _ := openTest(t, logical.Options{Queues: 1, Piece: time.Millisecond, Fault: fault})
	p, f := grid(t, q), NewFlow()
	for range 2 {
		l := q.Lists()
		for i := range 8 {
			l.Cmds = append(l.Cmds, vk.Cmd{Op: vk.OpDispatch, X: 64, Y: 1, Z: 1})
			l.Costs = append(l.Costs, Cost{Cmd: i, Pipeline: p, Seconds: 4e-3})
		}
		if err := q.Submit(Batch{Submission: New(f), Lists: l}); err != nil {
			t.Fatal(err)
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.divide(f)
	if n := len(f.pending); n != 2 {
		t.Errorf("alone, the first batch is %d pieces", n-1)
	}
	f.pending = f.pending[1:]
	shared = true
	last := f.pending[0].Submission
	q.divide(f)
	if n := len(f.pending); n < 8 || f.pending[n-1].Submission != last || f.pending[n-1].Lists.users != n {
		t.Errorf("beside others, the second batch is %d pieces", n)
	}
	f.pending, q.backlog = nil, nil
}

// TestTurnsEnd has flows submit while others, and they themselves, are being submitted to the device: when all is complete, none of
// them takes part in the turns, so a flow that comes is alone.
func TestTurnsEnd(t *testing.T) {
	q, _ := openTest(t, logical.Options{})
	for round := range 20 {
		var wait sync.WaitGroup
		for range 3 {
			f := NewFlow()
			wait.Go(func() {
				var last *Submission
				for i := range 40 {
					l := q.Lists()
					for range 1 + i%3*smallBatch { // some are submitted by a goroutine of their own
						l.Cmds = append(l.Cmds, vk.Cmd{Op: vk.OpHostBarrier})
					}
					last = New(f)
					if err := q.Submit(Batch{Submission: last, Lists: l}); err != nil {
						t.Error(err)
						return
					}
				}
				if err := q.Wait(t.Context(), last); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		q.mu.Lock()
		q.reap()
		n := len(q.clock.active)
		q.mu.Unlock()
		if n != 0 {
			t.Fatalf("round %d: %d flows take part in the turns, and none has work", round, n)
		}
	}
}
