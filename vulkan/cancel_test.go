package vulkan

import (
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"
)

// gate keeps batches from a device that was opened with it.
type gate struct{ closed atomic.Bool }

// openGate opens a device with a gate.
func openGate(t *testing.T) (*Device, *gate) {
	g := &gate{}
	return openTest(t, Options{Fault: Fault{Hold: g.closed.Load}}), g
}

// hold closes the gate until the function that it returns is called.
func (g *gate) hold(d *Device) (release func()) {
	g.closed.Store(true)
	return func() {
		g.closed.Store(false)
		d.queue.Resume()
	}
}

// filled submits a fill of a buffer.
func filled(t *testing.T, s *Stream, b *Buffer, word uint32) Ticket {
	t.Helper()
	if err := s.Fill(WriteOnly(b), word, b.Len()); err != nil {
		t.Fatal(err)
	}
	return must(s.Submit())(t)
}

// copied submits a copy of a buffer.
func copied(t *testing.T, s *Stream, to, from *Buffer) Ticket {
	t.Helper()
	if err := s.Copy(WriteOnly(to), ReadOnly(from), from.Len()); err != nil {
		t.Fatal(err)
	}
	return must(s.Submit())(t)
}

// TestCloseDropsWork closes a stream whose work has not reached the device: the work is discarded,
// and its notice and Wait return the error.
func TestCloseDropsWork(t *testing.T) {
	d, g := openGate(t)
	s := d.Stream()
	b := must(s.Alloc(64))(t)
	before := d.Stats()
	release := g.hold(d)
	heard := make(chan error, 1)
	ticket := filled(t, s, b, 1)
	d.Notify(ticket, func(err error) { heard <- err })
	if d.Done(ticket) {
		t.Fatal("done before the device has it")
	}
	b.Free()
	s.Close()
	if err := <-heard; !errors.Is(err, ErrDiscarded) {
		t.Errorf("notice: got %v, want ErrDiscarded", err)
	}
	if err := d.Wait(t.Context(), ticket); !errors.Is(err, ErrDiscarded) {
		t.Errorf("wait: got %v, want ErrDiscarded", err)
	}
	release()
	if st := d.Stats(); st.Submits != before.Submits || st.InUse != 0 || st.InFlight != 0 {
		t.Errorf("before %+v, after %+v", before, st)
	}
}

// TestCloseKeepsWhatOthersNeed closes a stream whose results another stream has yet to read.
func TestCloseKeepsWhatOthersNeed(t *testing.T) {
	d, g := openGate(t)
	s, other := d.Stream(), d.Stream()
	b, temp, out := must(s.Alloc(64))(t), must(s.Alloc(64))(t), must(other.Alloc(64))(t)
	release := g.hold(d)
	filled(t, s, temp, 7)
	copied(t, s, b, temp)
	last := filled(t, s, temp, 8) // nobody needs that
	temp.Free()
	s.Close()
	ticket := copied(t, other, out, b)
	if d.Done(ticket) {
		t.Error("done before the device has it")
	}
	release()
	wait(t, d, ticket)
	if err := d.Wait(t.Context(), last); !errors.Is(err, ErrDiscarded) {
		t.Errorf("the last batch: got %v, want ErrDiscarded", err)
	}
	if got := binary.LittleEndian.Uint32(read(t, d, other, out)); got != 7 {
		t.Errorf("got %d, want 7", got)
	}
}

// TestCloseKeepsWhatOthersHaveRead closes a stream whose results another stream reads in work that waits, too, after which nobody holds
// them.
func TestCloseKeepsWhatOthersHaveRead(t *testing.T) {
	d, g := openGate(t)
	s, other := d.Stream(), d.Stream()
	b, out := must(s.Alloc(64))(t), must(other.Alloc(64))(t)
	release := g.hold(d)
	filled(t, s, b, 7)
	ticket := copied(t, other, out, b)
	b.Free()
	s.Close()
	release()
	wait(t, d, ticket)
	if got := binary.LittleEndian.Uint32(read(t, d, other, out)); got != 7 {
		t.Errorf("got %d, want 7", got)
	}
}

// TestDroppedWorkKeepsOrder uses memory after two other streams, and cancels the second one's work:
// the third one still comes after the first.
func TestDroppedWorkKeepsOrder(t *testing.T) {
	d, g := openGate(t)
	a, b, c := d.Stream(), d.Stream(), d.Stream()
	m, out := must(d.Alloc(64))(t), must(d.Alloc(64))(t)
	release := g.hold(d)
	filled(t, a, m, 1)
	filled(t, b, m, 2)
	b.Cancel(ErrDiscarded)
	filled(t, c, m, 3)
	copied(t, c, out, m)
	release()
	if got := binary.LittleEndian.Uint32(read(t, d, c, out)); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
	if got := binary.LittleEndian.Uint32(read(t, d, c, m)); got != 3 {
		t.Errorf("the memory holds %d, want 3", got)
	}
}

// TestCancelSaysWhy cancels a stream: the buffers that it would have written have the error, earlier
// results stay, and the stream can be used again.
func TestCancelSaysWhy(t *testing.T) {
	d, g := openGate(t)
	s := d.Stream()
	before, was, gone := must(d.Alloc(64))(t), must(d.Alloc(64))(t), must(d.Alloc(64))(t)
	wait(t, d, filled(t, s, before, 5))
	why := errors.New("the deadline is over")
	release := g.hold(d)
	ticket := filled(t, s, gone, 6)
	if err := s.Fill(WriteOnly(was), 9, 64); err != nil { // recorded only
		t.Fatal(err)
	}
	s.Cancel(why)
	if err := d.Wait(t.Context(), ticket); !errors.Is(err, why) {
		t.Errorf("wait: got %v, want %v", err, why)
	}
	if err := gone.Err(); !errors.Is(err, why) {
		t.Errorf("the buffer: got %v, want %v", err, why)
	}
	if err := was.Err(); !errors.Is(err, why) {
		t.Errorf("the buffer that was recorded to be written: got %v, want %v", err, why)
	}
	release()
	if got := binary.LittleEndian.Uint32(read(t, d, s, before)); got != 5 {
		t.Errorf("got %d, want 5", got)
	}
	if _, err := s.Download(was, 0, 4); !errors.Is(err, why) {
		t.Errorf("read: got %v, want %v", err, why)
	}
	if err := s.Fill(WriteOnly(was), 4, 64); err != nil {
		t.Fatal(err)
	}
	if err := was.Err(); err != nil {
		t.Errorf("recorded again: %v", err)
	}
	if got := binary.LittleEndian.Uint32(read(t, d, s, was)); got != 4 {
		t.Errorf("got %d, want 4", got)
	}
	wait(t, d, filled(t, s, gone, 3))
	if err := gone.Err(); err != nil {
		t.Errorf("after it was written again: %v", err)
	}
}

// TestCancelKeepsWhatOthersCountOn cancels a stream whose results other streams have submitted work
// on: they get these results.
func TestCancelKeepsWhatOthersCountOn(t *testing.T) {
	d, g := openGate(t)
	s, other, reader := d.Stream(), d.Stream(), d.Stream()
	first, second, third, out := must(s.Alloc(64))(t), must(s.Alloc(64))(t), must(s.Alloc(64))(t), must(other.Alloc(64))(t)
	why := errors.New("the deadline is over")
	release := g.hold(d)
	filled(t, s, first, 7)
	filled(t, s, second, 8)
	last := filled(t, s, third, 9)
	copied(t, other, out, first)
	back := must(reader.Download(second, 0, 64))(t)
	read8 := must(reader.Submit())(t)
	if !s.Computes(first) || s.Computes(out) {
		t.Error("who computes what is not known")
	}
	s.Cancel(why)
	release()
	if err := d.Wait(t.Context(), last); !errors.Is(err, why) || !errors.Is(third.Err(), why) {
		t.Errorf("what nobody counts on: got %v and %v, want %v", err, third.Err(), why)
	}
	wait(t, d, read8)
	if got := binary.LittleEndian.Uint32(back.Bytes()); got != 8 || second.Err() != nil {
		t.Errorf("read %d, %v; want 8", got, second.Err())
	}
	back.Release()
	if got := binary.LittleEndian.Uint32(read(t, d, other, out)); got != 7 || first.Err() != nil {
		t.Errorf("copied %d, %v; want 7", got, first.Err())
	}
	if s.Computes(first) || s.Computes(third) {
		t.Error("the stream computes still")
	}
}

// TestMemoryAfterCancel reuses memory whose last writer was cancelled for data that the host writes.
func TestMemoryAfterCancel(t *testing.T) {
	d, g := openGate(t)
	s := d.Stream()
	b := must(d.AllocHost(64))(t)
	release := g.hold(d)
	filled(t, s, b, 7)
	s.Cancel(errors.New("the deadline is over"))
	release()
	was := b.r
	b.Free()
	again := must(d.AllocHost(64))(t)
	if again.r != was {
		t.Skip("the allocator gave other memory, which says nothing about the cancelled write")
	}
	if err := again.Err(); err != nil {
		t.Errorf("memory of somebody else: %v", err)
	}
	to := again.Writable()
	if to == nil {
		t.Fatal("the host may not write it")
	}
	copy(to, word(5))
	if got := binary.LittleEndian.Uint32(read(t, d, s, again)); got != 5 {
		t.Errorf("got %d, want 5", got)
	}
}

// TestReadOfAnotherStream downloads a result of another stream that the device does not have yet,
// recorded or submitted.
func TestReadOfAnotherStream(t *testing.T) {
	for _, submitted := range []bool{false, true} {
		d, g := openGate(t)
		a, b := d.Stream(), d.Stream()
		m := must(a.Alloc(64))(t)
		release := g.hold(d)
		if err := a.Fill(WriteOnly(m), 11, 64); err != nil {
			t.Fatal(err)
		}
		if submitted {
			must(a.Submit())(t)
		}
		r := must(b.Download(m, 0, 64))(t)
		ticket := must(b.Submit())(t)
		if d.Done(ticket) {
			t.Error("done before the device has it")
		}
		heard := make(chan error, 1)
		d.Notify(ticket, func(err error) { heard <- err })
		release()
		if err := <-heard; err != nil {
			t.Error(err)
		}
		if got := binary.LittleEndian.Uint32(r.Bytes()); got != 11 {
			t.Errorf("got %d, want 11", got)
		}
		r.Release()
	}
}
