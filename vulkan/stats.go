package vulkan

import (
	"sync/atomic"
	"time"

	"nxvk/vulkan/vk"
)

// Stats counts what a device holds and has done.
type Stats struct {
	InUse       uint64 // bytes of live buffers, rounded up to what they occupy
	Reserved    uint64 // bytes taken from the device
	Pooled      uint64 // Reserved less InUse
	Peak        uint64 // highest InUse
	Buffers     int64  // live buffers
	Budget      uint64 // bytes the system grants this process, 0 when it does not say
	Allocations uint64 // buffers ever allocated
	Blocks      uint64 // blocks ever taken from the device
	Dispatches  uint64
	Barriers    uint64
	Copies      uint64
	Submits     uint64
	Recordings  uint64 // command buffers recorded; the other submissions repeat one
	Pipelines   uint64 // ever compiled
	Kernels     int    // pipelines that exist
	InFlight    int    // submissions not completed
	// SubmitTime is the time spent in recording and submitting.
	SubmitTime time.Duration
	// Latency is a moving average from submission to the notice of completion.
	Latency time.Duration
	// Waited sums what submissions have waited for their turn, and Ran what passed from
	// then on until they were seen complete, of the Ended ones.
	Waited, Ran time.Duration
	Ended       uint64
}

// counters are the parts of Stats that many goroutines add to.
type counters struct {
	allocations, blocks, dispatches, barriers atomic.Uint64
	copies, submits, recordings, pipelines    atomic.Uint64
	submitNanos, latencyNanos                 atomic.Int64
	waitedNanos, ranNanos                     atomic.Int64
	ended                                     atomic.Uint64
}

// observe folds a submit-to-notice time into the moving average.
func (c *counters) observe(d time.Duration) {
	old := c.latencyNanos.Load()
	if old == 0 {
		c.latencyNanos.Store(int64(d))
		return
	}
	c.latencyNanos.Store(old + (int64(d)-old)/8)
}

// OnEnd has f called for each submission that ends from now on: with the time it waited
// for its turn, and the time from then until its end was seen. f must not block or call the
// device.
func (d *Device) OnEnd(f func(waited, ran time.Duration)) { d.onEnd.Store(&f) }

// completed notes submissions that were seen to end.
func (d *Device) completed(now time.Time, list []busyRecorder) {
	for i := range list {
		waited, ran := list[i].waited, now.Sub(list[i].at)
		d.counts.waitedNanos.Add(int64(waited))
		d.counts.ranNanos.Add(int64(ran))
		if f := d.onEnd.Load(); f != nil {
			(*f)(waited, ran)
		}
	}
	d.counts.ended.Add(uint64(len(list)))
}

// Stats returns the counts of now.
func (d *Device) Stats() Stats {
	c := &d.counts
	s := Stats{
		Allocations: c.allocations.Load(), Blocks: c.blocks.Load(), Dispatches: c.dispatches.Load(),
		Barriers: c.barriers.Load(), Copies: c.copies.Load(), Submits: c.submits.Load(),
		Recordings: c.recordings.Load(), Pipelines: c.pipelines.Load(),
		SubmitTime: time.Duration(c.submitNanos.Load()), Latency: time.Duration(c.latencyNanos.Load()),
		Waited: time.Duration(c.waitedNanos.Load()), Ran: time.Duration(c.ranNanos.Load()),
		Ended: c.ended.Load(),
	}
	d.mem.stats(&s)
	if d.closed.Load() {
		return s
	}
	s.InFlight = d.queue.inFlight()
	s.Kernels = d.kernels.count()
	if d.info.Features.MemoryBudget {
		budget, _ := vk.GetMemoryBudget(d.in, d.gpu)
		s.Budget = budget[d.raw.Types[d.mem.device.kind].Heap]
	}
	return s
}
