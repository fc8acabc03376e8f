package vulkan

import (
	"nxvk/vulkan/hazard"
	"nxvk/vulkan/memory"
	"nxvk/vulkan/submit"
	"nxvk/vulkan/vk"
)

// Stream records commands, which a device executes as if one after another in the order of
// recording. Streams take turns on the device. Where two streams use the same memory and one of
// them writes it, the commands recorded first come first. A Stream is for one goroutine, and
// streams that use the same memory share one goroutine.
type Stream struct {
	d       *Device
	flow    *submit.Flow
	regions *memory.Recording
	failed  error // of a Submit that another stream made
	apart   bool  // it only copies, on a queue for that
	staging staging

	// Of the batch that is being recorded.
	list       *submit.Lists   // nil before the first command
	hazards    *hazard.Tracker // likewise
	dispatches int
	barriers   int
	copies     int
	timestamps []Arg
	idle       bool      // the next command begins when those before are complete
	kernel     *Pipeline // of the command recorded last, nil where that is no dispatch
	hostReads  bool      // the host reads what commands wrote
}

// Stream returns an empty stream.
func (d *Device) Stream() *Stream { return d.stream(submit.NewFlow()) }

// CopyStream returns an empty stream for copies, on one of the queues that do nothing else: they run beside kernels,
// at the speed of the bus. Streams with numbers that differ use different queues, as far as the device has them
// (Info.CopyQueues). On a device without any, it is a stream like any other.
func (d *Device) CopyStream(queue int) *Stream {
	s := d.stream(d.queue.NewCopyFlow(queue))
	s.apart = d.dev.Info.CopyQueues > 0
	return s
}

// Siblings returns three streams, two of CopyStream for either direction of the bus and one of little work for kernels
// that takes no turns with other streams. What they do with the same memory the caller orders: batches of one of them
// do not come after those of the others. The caller submits what they have recorded before another stream uses that memory.
func (d *Device) Siblings() (down, up, compute *Stream) {
	family := new(submit.Family)
	down, up, compute = d.CopyStream(0), d.CopyStream(1), d.stream(d.queue.NewAsideFlow())
	for _, s := range []*Stream{down, up, compute} {
		s.flow.Join(family)
	}
	return down, up, compute
}

func (d *Device) stream(f *submit.Flow) *Stream {
	s := &Stream{d: d, flow: f}
	s.regions = d.mem.Record(s.flow, func() {
		if _, err := s.Submit(); err != nil {
			s.failed = err // which the next Submit returns
		}
	})
	s.staging.s = s
	return s
}

// SetWeight sets the share of the device that the stream has beside other streams: one of weight 2 gets
// twice the time of one of weight 1, which all have at first. The weight is above 0.
func (s *Stream) SetWeight(weight float64) { s.d.queue.SetWeight(s.flow, weight) }

// reset makes the batch empty. The first command of the next one has a barrier behind all that
// was submitted before, so that hazards are a matter of one batch.
func (s *Stream) reset() {
	if s.list != nil {
		s.d.queue.Return(s.list)
		s.list = nil
	}
	if s.hazards != nil {
		s.d.trackers.Give(s.hazards)
		s.hazards = nil
	}
	s.dispatches, s.barriers, s.copies = 0, 0, 0
	clear(s.timestamps)
	s.timestamps = s.timestamps[:0]
	s.hostReads, s.idle, s.kernel = false, false, nil
}

// Pending returns the number of commands recorded and not submitted.
func (s *Stream) Pending() int {
	if s.list == nil {
		return 0
	}
	return len(s.list.Cmds)
}

// Alloc is [Device.Alloc] for memory that only this stream uses until it next submits. It can
// return memory freed since the last Submit, so that a long batch needs no more memory than its
// values that are live at once. It does not wait: where waiting would help, the error is
// [ErrBusy] as well.
func (s *Stream) Alloc(n int) (*Buffer, error) {
	if err := s.d.dev.Gone(); err != nil {
		return nil, err
	}
	if n >= 0 {
		if r := s.regions.Reuse(uint64(n), s.hazards); r != nil {
			return &Buffer{d: s.d, r: r, n: n}, nil
		}
	}
	return s.d.alloc(s.d.mem.Device, n, false, s.flow)
}

// Expect says how many seconds the dispatch recorded last is expected to take. While other
// streams have work, their batches run between long dispatches, and long dispatches are cut
// into parts. The measured times of a kernel correct what is expected of it.
func (s *Stream) Expect(seconds float64) {
	if seconds <= 0 || s.list == nil || len(s.list.Cmds) == 0 || s.kernel == nil {
		return
	}
	s.list.Costs = append(s.list.Costs, submit.Cost{Cmd: len(s.list.Cmds) - 1, Pipeline: s.kernel, Seconds: seconds})
}

// Submit hands the recorded commands to the device and begins a new batch. It waits neither
// for these nor for the turn of the stream. With nothing recorded it returns the ticket of the
// stream's latest submission. After an error the recorded commands are gone, and the device is
// lost.
func (s *Stream) Submit() (Ticket, error) {
	if err := s.failed; err != nil {
		s.failed = nil
		s.settle()
		return Ticket{}, err
	}
	if s.Pending() == 0 {
		return Ticket{s.latest()}, s.d.dev.Gone()
	}
	t := submit.New(s.flow)
	err := s.submit(t)
	c := &s.d.dev.Counts
	if err == nil {
		c.Dispatches.Add(uint64(s.dispatches))
		c.Barriers.Add(uint64(s.barriers))
		c.Copies.Add(uint64(s.copies))
	}
	s.settle()
	if err != nil {
		return Ticket{}, err
	}
	return Ticket{t}, nil
}

// latest returns the submission after which everything that the stream has submitted is complete,
// and everything of other streams that it reads.
func (s *Stream) latest() *submit.Submission {
	last, reads := s.d.queue.Last(s.flow), s.regions.Reads()
	if len(reads) == 0 {
		return last
	}
	if last != nil {
		reads = append(reads, last)
	}
	return submit.Join(reads)
}

// submit hands over the batch, as the submission t.
func (s *Stream) submit(t *submit.Submission) error {
	if err := s.d.dev.Gone(); err != nil {
		return err
	}
	s.copyTimestamps()
	if s.hostReads {
		s.list.Cmds = append(s.list.Cmds, vk.Cmd{Op: vk.OpHostBarrier})
	}
	l := s.list
	s.list = nil
	t.After(s.regions.Follow(t))
	return s.d.queue.Submit(submit.Batch{Submission: t, Lists: l, Timestamps: len(s.timestamps), Writes: s.regions.Writes()})
}

// settle ends a batch.
func (s *Stream) settle() {
	s.regions.Settle()
	s.staging.release()
	s.reset()
}

// Discard forgets the commands that are recorded and not submitted.
func (s *Stream) Discard() { s.settle() }

// Cancel discards the commands that are recorded, and those that have been submitted and have not
// reached the device, unless another stream has submitted work behind them that uses the same
// memory. Their tickets end with err, and [Buffer.Err] returns it for the buffers that they would
// have written.
func (s *Stream) Cancel(err error) {
	s.d.queue.Cancel(s.flow, err)
	if s.Pending() > 0 {
		t := submit.NewCancelled(s.flow, err, nil)
		t.After(append(s.regions.Follow(t), s.latest()))
	}
	s.Discard()
}

// Computes reports whether the device has yet to complete a submission of this stream that writes the
// buffer.
func (s *Stream) Computes(b *Buffer) bool { return s.regions.Computes(b.r) }

// Close discards the commands that are recorded, and those that have not reached the device,
// unless somebody still holds memory that they write, or another stream has submitted work behind them that uses
// the same memory: results that others have yet to read are computed.
func (s *Stream) Close() {
	if s.regions.Live() {
		if _, err := s.Submit(); err != nil {
			s.Cancel(err)
		}
	}
	s.Discard()
	s.d.queue.CancelUnwanted(s.flow, ErrDiscarded)
}
