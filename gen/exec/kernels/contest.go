package kernels

import "time"

// Where the device is a processor, its driver's code is not always the quickest way to the bits of a
// kernel: llvmpipe computes f64 and narrow types slowly, and a kernel of few invocations on one core. A fusion saves
// passes over memory, but its instructions alone may have routines of the host. So each way carries out a plan a few
// times, and the least time decides who does it from then on. All give the same bits, so nothing else depends on it.
//
// Times are taken on a machine that does other things, too. So a way that has lost is tried again, ever more rarely: what
// that costs stays below a small part of all runs, and no choice is wrong for ever.

// Way is one of the ways to carry out a plan.
type Way uint8

// The ways.
const (
	ByHost   Way = iota // the host executes the kernels, or the routine of the instruction
	ByDevice            // the device executes the kernels
	Apart               // the instructions of a fusion one by one, each by its own quickest way
	ways
)

// needed is how often each way is measured at first. The instructions of a fusion have contests of their own, which end
// meanwhile.
var needed = [ways]int{ByHost: few, ByDevice: few, Apart: 8}

// Trials is how often a plan is carried out until all ways are measured.
const Trials = 14

// hostRate is at least how long the host takes for an elementary operation of an estimate, in ns. Where the
// device takes less for all of a plan, another way has no chance and is not tried.
const hostRate = 0.05

// A way whose first few times are all more than hopeless times the least time is not measured further at first. A way
// that has lost is tried again after so many runs that it costs about a retryShare-th of their time, and after twice as
// many each time.
const (
	few        = 3
	hopeless   = 4
	retryShare = 64
	mostWait   = 1 << 20
)

// Chances has for each way what it does, in elementary operations; 0 for a way that there is not. That of the device is not
// looked at, but for NoDevice.
type Chances [ways]float64

// NoDevice is the chance of a device that is not ready.
const NoDevice = -1

// Contest has the least times that the ways have taken for one plan.
type Contest struct {
	least  [ways]time.Duration
	alone  time.Duration // the least time of the host without handing the work over; 0 where it is not known
	lone   time.Duration // the least time until it is known that the device, which had nothing else to do, is done
	waits  float64       // that part of it which is waited for, when Next was asked last
	runs   [ways]int
	wait   [ways]int // runs until a way that has lost is tried again
	waited [ways]int // how long that was last
	trying bool      // try is measured again
	try    Way
}

// Next returns the way to go. The ways take turns until all are measured. waits is the part of what the device carries out that
// it begins with nothing else to do and that somebody waits for, between 0 and 1: a kernel by itself takes a multiple of what it
// takes among others.
func (c *Contest) Next(chances Chances, waits float64) Way {
	if c.waits = waits; chances[ByDevice] != NoDevice {
		chances[ByDevice] = 1
	}
	if c.trying && chances[c.try] > 0 {
		return c.try
	}
	next, open := ByDevice, false
	for _, by := range []Way{ByDevice, ByHost, Apart} {
		if c.open(by, &chances) && (!open || c.runs[by] < c.runs[next]) {
			next, open = by, true
		}
	}
	if open {
		return next
	}
	best := c.best(&chances)
	for by := range ways {
		if by == best || chances[by] <= 0 || c.runs[by] == 0 {
			continue
		}
		if c.wait[by]--; c.wait[by] < 0 && !c.trying {
			first := 1 + int(min(mostWait, retryShare*float64(c.time(by))/float64(max(1, c.time(best)))))
			if c.wait[by] = min(mostWait, max(first, 2*c.waited[by])); c.waited[by] > 0 {
				c.trying, c.try = true, by
			}
			c.waited[by] = c.wait[by]
		}
	}
	if c.trying && chances[c.try] > 0 {
		return c.try
	}
	return best
}

// open reports whether a way is to be measured further.
func (c *Contest) open(by Way, chances *Chances) bool {
	cost, best := chances[by], c.time(c.best(chances))
	switch {
	case cost <= 0, c.runs[by] >= needed[by]:
		return false
	case by != ByDevice && c.runs[by] == 0:
		return c.runs[ByDevice] == 0 || hostRate*cost <= float64(c.time(ByDevice))
	}
	return c.runs[by] < few || c.time(by) < hopeless*best
}

// best is the way with the least time, the device where nothing is measured, if it is ready.
func (c *Contest) best(chances *Chances) Way {
	best := ByDevice
	if chances[ByDevice] == NoDevice {
		best = ByHost
	}
	for by := range ways {
		if chances[by] > 0 && c.runs[by] > 0 && (c.runs[best] == 0 || c.time(by) < c.time(best)) {
			best = by
		}
	}
	return best
}

// Wants reports whether a way is to be measured.
func (c *Contest) Wants(by Way) bool {
	return c.runs[by] < needed[by] || c.trying && c.try == by
}

// quickly is about how long it takes to hand work over to another goroutine and back, where both have a thread to themselves.
const quickly = 200 * time.Microsecond

// Quick returns how long the host takes, if it has taken less than handing the work over would.
func (c *Contest) Quick() (least time.Duration, ok bool) {
	least = c.time(ByHost)
	return least, c.runs[ByHost] > 0 && least <= quickly
}

// short is how long other sessions may wait for the work of one that is not handed over.
const short = 500 * time.Microsecond

// Short reports whether the host is known to take so little that the work is not worth handing over.
func (c *Contest) Short() bool {
	return c.runs[ByHost] > 0 && c.least[ByHost] <= short && c.least[ByHost] > 0
}

// time is how long a way takes: the host without handing over, where that is known, since there it has one goroutine alone; the
// device with its part of the waiting.
func (c *Contest) time(by Way) time.Duration {
	switch {
	case by == ByHost && c.alone > 0:
		return c.alone
	case by == ByDevice && c.lone > c.least[by]:
		return c.least[by] + time.Duration(c.waits*float64(c.lone-c.least[by]))
	}
	return c.least[by]
}

// Least is the least time that a way has taken, 0 where it has not been measured.
func (c *Contest) Least(by Way) time.Duration { return c.least[by] }

// Note notes how long a way has taken.
func (c *Contest) Note(by Way, took time.Duration) { c.note(by, &c.least[by], took) }

// NoteDevice notes how long the device has taken, and how long it was until that was known.
func (c *Contest) NoteDevice(took, lone time.Duration) {
	if c.lone == 0 || lone < c.lone {
		c.lone = lone
	}
	c.note(ByDevice, &c.least[ByDevice], took)
}

// NoteHost notes how long the host has taken, alone without handing the work over.
func (c *Contest) NoteHost(took time.Duration, alone bool) {
	if alone {
		c.note(ByHost, &c.alone, took)
	} else {
		c.note(ByHost, &c.least[ByHost], took)
	}
}

func (c *Contest) note(by Way, least *time.Duration, took time.Duration) {
	if took = max(took, 1); *least == 0 || took < *least {
		*least = took
	}
	c.runs[by]++
	if c.try == by {
		c.trying = false
	}
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
