package exec

import (
	"cmp"
	"maps"
	"slices"
)

// Plans, kernels, instruction signatures and programs are kept by what they were
// made from. A client may go on for ever with code that is new each time, so each
// of these caches has a bound, above which what was used least recently goes.
//
// A kernel may go while plans still name it. They are asked to look again before
// they are carried out (refresh), and then have it made anew.

// The bounds of what an Executor keeps.
const (
	maxPlans   = 1 << 14
	maxForms   = 1 << 14
	maxKernels = 1 << 12 // pipelines, for which a driver of a processor keeps machine code
	maxTiers   = 16      // specialisations of a program, by which parameters are literals
)

// room bounds caches. Tests make it small.
type room struct{ plans, forms, kernels, programs, steps int }

// used is the age of what is kept in a cache: the reading of Executor.clock at its
// latest use.
type used struct{ at uint64 }

func (u *used) stamp() *used { return u }

type stamped interface{ stamp() *used }

// evict makes room in a cache that has reached its bound: a quarter of its entries
// go, those used least recently. Entries that may not go, or have been used since
// the clock ticked last, stay. gone is told of each one that goes.
func evict[V stamped](m map[string]V, most int, clock uint64, free func(V) bool, gone func(V)) {
	if len(m) < most {
		return
	}
	keys := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Compare(m[a].stamp().at, m[b].stamp().at)
	})
	left := max(1, len(keys)/4)
	for _, key := range keys {
		v := m[key]
		if left == 0 || v.stamp().at >= clock {
			return
		}
		if free != nil && !free(v) {
			continue
		}
		left--
		delete(m, key)
		if gone != nil {
			gone(v)
		}
	}
}

// tick ends the protection of what has been used so far.
func (e *Executor) tick() { e.clock++ }

// roomForKernel makes room for one more kernel.
func (e *Executor) roomForKernel() {
	evict(e.kernels, e.room.kernels, e.clock, e.idle, func(c *Kernel) {
		c.gone = true
		if c.pipe != nil {
			e.retired = append(e.retired, c.pipe)
			c.pipe = nil
		}
	})
	if len(e.retired) >= retireAtOnce {
		e.freeRetired()
	}
}

// idle reports whether nothing waits for a kernel, and no client has brought it.
func (e *Executor) idle(c *Kernel) bool {
	return c.holders == 0 && c.asked == c.done && len(c.waiting) == 0 && len(c.then) == 0 && !slices.Contains(e.warming, c)
}

// retireAtOnce is how many pipelines are destroyed together: what has been recorded
// is submitted before.
const retireAtOnce = 32

// freeRetired destroys pipelines that no plan will use again, once the device has
// done what was recorded with them.
func (e *Executor) freeRetired() {
	e.Flush() // what fails here has lost the device
	ticket := e.dev.Submitted()
	list := e.retired
	e.retired = nil
	e.building++
	e.dev.Notify(ticket, func(error) {
		for _, p := range list {
			p.Free()
		}
		e.cfg.Post(func() { e.building-- })
	})
}

// refresh replaces the kernels of a plan that have gone since, and counts the plan
// as used. It reports whether there were any.
func (e *Executor) refresh(p *planned) (changed bool) {
	e.tick()
	for _, c := range p.pipes {
		c.at = e.clock
	}
	for i, c := range p.pipes {
		if c.gone {
			p.pipes[i] = e.wanted(c.kernel)
			changed = true
		}
	}
	return changed
}
