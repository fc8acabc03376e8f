package kernels

import "time"

// Where the device is a processor, its driver's code is not always the quickest way to the bits of a
// kernel: llvmpipe computes f64 and narrow types slowly, and a kernel of few invocations on one core. So
// the host and the device both carry out a plan a few times, and the least time decides who does it from
// then on. Both give the same bits, so nothing else depends on it.

// Way is one of two ways to carry out a plan.
type Way uint8

// The ways.
const (
	ByHost Way = iota
	ByDevice
)

// contestRuns is how often each way is measured, and Trials how often a plan is carried out meanwhile.
const (
	contestRuns = 3
	Trials      = 2 * contestRuns
)

// hostRate is at least how long the host takes for an elementary operation of an estimate, in ns. Where the
// device takes less for all of a plan, the host has no chance and is not tried.
const hostRate = 0.05

// Contest has the least times that two ways have taken for one plan.
type Contest struct {
	least [2]time.Duration
	runs  [2]int
}

// Next returns the way to go. The ways take turns until both are measured. cost is what the host does, in
// elementary operations.
func (c *Contest) Next(cost float64) Way {
	host, device := c.runs[ByHost], c.runs[ByDevice]
	switch {
	case device > 0 && host == 0 && hostRate*cost > float64(c.least[ByDevice]):
		return ByDevice
	case c.Decided():
		if c.least[ByHost] < c.least[ByDevice] {
			return ByHost
		}
		return ByDevice
	case host < contestRuns && 0 < device && host <= device || device == contestRuns:
		return ByHost
	}
	return ByDevice
}

// Decided reports whether both ways are measured.
func (c *Contest) Decided() bool { return min(c.runs[ByHost], c.runs[ByDevice]) >= contestRuns }

// Wants reports whether a way has not been measured often enough.
func (c *Contest) Wants(by Way) bool { return c.runs[by] < contestRuns }

// Note notes how long a way has taken.
func (c *Contest) Note(by Way, took time.Duration) {
	if took = max(took, 1); c.runs[by] == 0 || took < c.least[by] {
		c.least[by] = took
	}
	c.runs[by]++
}

// Contestable reports whether the host can execute all kernels of a plan, at a cost that it may try.
func (c *Cache) Contestable(p *Plan) (cost float64, ok bool) {
	if !c.Stead || len(p.Kernels) == 0 {
		return 0, false
	}
	for i := range p.Steps {
		if !c.interprets(p, i) {
			return 0, false
		}
		cost += c.StepCost(&p.Steps[i])
	}
	return cost, cost <= longestStep
}
