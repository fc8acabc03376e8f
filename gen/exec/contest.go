package exec

import (
	"time"

	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/placement"
)

// Where the device is a processor, the host and the device measure who is sooner done with a plan
// (kernels.Contest). Their results have the same bits.

// Trials is how many runs of the same work it takes until the host and a processor are both measured.
func (e *Executor) Trials() int {
	if !e.dispatcher.stead {
		return 0
	}
	return kernels.Trials
}

// contested returns what the host does for a plan in the device's stead, in elementary operations. It is not
// ok where the host cannot, or is not to.
func (dp *dispatcher) contested(w *placement.Work, p *kernels.Plan) (cost float64, ok bool) {
	switch {
	case !dp.stead:
		return 0, false
	case dp.rule(w) != placement.Never:
		return float64(placement.HostCost(w.In, w.Types)), true
	}
	return dp.exec.kernels.Contestable(p)
}

// next returns who carries out a plan that the device is ready to carry out.
func (dp *dispatcher) next(w *placement.Work, p *kernels.Plan) kernels.Way {
	cost, ok := dp.contested(w, p)
	if !ok {
		return kernels.ByDevice
	}
	return p.Contest.Next(cost)
}

// measures reports whether what the device takes for a plan is to be measured.
func (dp *dispatcher) measures(w *placement.Work, p *kernels.Plan) bool {
	if !p.Contest.Wants(kernels.ByDevice) {
		return false
	}
	_, ok := dp.contested(w, p)
	return ok
}

// noteDevice notes what the device has taken for a plan, unless that was discarded.
func noteDevice(p *kernels.Plan) func([]feed.Interval) {
	return func(list []feed.Interval) {
		if n := len(list); n > 0 {
			if took := list[n-1].End.Sub(list[0].Start); took > 0 {
				p.Contest.Note(kernels.ByDevice, took)
			}
		}
	}
}

// timed calls f and notes what it takes.
func timed(took *time.Duration, f func() error) error {
	start := time.Now()
	err := f()
	*took = time.Since(start)
	return err
}
