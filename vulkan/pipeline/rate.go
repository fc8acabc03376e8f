package pipeline

import (
	"math"
	"sync/atomic"

	"nxvk/vulkan/adapter"
)

// Rate is the ratio of measured to expected time: an exponential moving average of its
// logarithm, so that twice and half as long weigh the same. It is safe for several goroutines.
type Rate struct{ bits atomic.Uint64 }

// gain is the weight of the latest measurement.
const gain = 0.25

// Value returns the ratio, 1 before the first measurement.
func (r *Rate) Value() float64 {
	if b := r.bits.Load(); b != 0 {
		return math.Float64frombits(b)
	}
	return 1
}

// Known reports whether there was a measurement.
func (r *Rate) Known() bool { return r.bits.Load() != 0 }

// Learn takes the ratio of a measurement to the current expectation.
func (r *Rate) Learn(ratio float64) {
	ratio = min(max(ratio, 1./64), 64)
	next := r.Value() * math.Exp(gain*math.Log(ratio))
	if !r.Known() {
		next = ratio
	}
	r.bits.Store(math.Float64bits(min(max(next, 1e-4), 1e4)))
}

// Telling is the shortest time, in seconds, that can raise an expectation: the time of a
// shorter submission is mostly that of submitting. Any time can lower an expectation.
const Telling = 300e-6

// Learn corrects the expectation of a kernel by a submission of its dispatches. cut means
// that it ran a part of a dispatch: that does not fill a GPU until its end, so it never raises
// the expectation.
func (p *Pipeline) Learn(took, expected float64, cut bool) {
	if took > expected && (took < Telling || cut && p.c.d.Info.Kind != adapter.CPU) {
		return
	}
	p.Rate.Learn(took / expected)
}
