package vulkan

import "time"

// Stats counts what a device holds and has done.
type Stats struct {
	InUse       uint64 // bytes of live buffers, rounded up to what they occupy
	Reserved    uint64 // bytes taken from the device
	Pooled      uint64 // Reserved less InUse
	Peak        uint64 // highest InUse
	Buffers     int64  // live buffers
	Budget      uint64 // bytes that the system grants this process, 0 where it does not say
	Allocations uint64 // buffers ever allocated
	Blocks      uint64 // blocks ever taken from the device
	Dispatches  uint64
	Barriers    uint64
	Copies      uint64
	Submits     uint64
	Recordings  uint64 // command buffers recorded; the other submissions reuse one
	Pipelines   uint64 // ever compiled
	Kernels     int    // pipelines that exist
	InFlight    int    // submissions not complete
	// SubmitTime is the time spent in recording and submitting.
	SubmitTime time.Duration
	// Latency is a moving average of the time from submission to the notice of completion.
	Latency time.Duration
	// Waited is the sum of the times that submissions waited for their turn, and Ran that of
	// the times from then until they were seen complete, of the Ended ones.
	Waited, Ran time.Duration
	Ended       uint64
}

// Stats returns the current numbers.
func (d *Device) Stats() Stats {
	c := &d.dev.Counts
	s := Stats{
		Allocations: c.Allocations.Load(), Blocks: c.Blocks.Load(), Dispatches: c.Dispatches.Load(),
		Barriers: c.Barriers.Load(), Copies: c.Copies.Load(), Submits: c.Submits.Load(),
		Recordings: c.Recordings.Load(), Pipelines: c.Pipelines.Load(),
		SubmitTime: time.Duration(c.SubmitNanos.Load()), Latency: time.Duration(c.LatencyNanos.Load()),
		Waited: time.Duration(c.WaitedNanos.Load()), Ran: time.Duration(c.RanNanos.Load()),
		Ended: c.Ended.Load(),
	}
	open := !d.dev.Closed()
	m := d.mem.Stats(open)
	s.InUse, s.Reserved, s.Peak, s.Buffers, s.Budget = m.InUse, m.Reserved, m.Peak, m.Buffers, m.Budget
	s.Pooled = m.Reserved - m.InUse
	if open {
		s.InFlight = d.queue.InFlight()
		s.Kernels = d.compiler.Count()
	}
	return s
}
