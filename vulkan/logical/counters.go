package logical

import (
	"sync/atomic"
	"time"
)

// Counters are the counts of a device that many goroutines add to.
type Counters struct {
	Allocations, Blocks, Dispatches, Barriers atomic.Uint64
	Copies, Submits, Recordings, Pipelines    atomic.Uint64
	SubmitNanos, LatencyNanos                 atomic.Int64
	WaitedNanos, RanNanos                     atomic.Int64
	Ended                                     atomic.Uint64
}

// ObserveLatency adds a time from submission to notice to the moving average.
func (c *Counters) ObserveLatency(d time.Duration) {
	old := c.LatencyNanos.Load()
	if old == 0 {
		c.LatencyNanos.Store(int64(d))
		return
	}
	c.LatencyNanos.Store(old + (int64(d)-old)/8)
}

// OnEnd has f called for each submission that ends from now on, with the time it waited
// for its turn and the time from then until its end was seen.
func (d *Device) OnEnd(f func(waited, ran time.Duration)) { d.onEnd.Store(&f) }

// Ended counts a submission that has ended.
func (d *Device) Ended(waited, ran time.Duration) {
	d.Counts.Ended.Add(1)
	d.Counts.WaitedNanos.Add(int64(waited))
	d.Counts.RanNanos.Add(int64(ran))
	if f := d.onEnd.Load(); f != nil {
		(*f)(waited, ran)
	}
}
