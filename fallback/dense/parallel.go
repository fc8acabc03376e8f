package dense

import (
	"nxvk/fallback/sched"
)

const (
	// ParallelMin is the least work, in elements, that is worth another goroutine.
	ParallelMin = 32 << 10
	// SliceWork is the most work, in elements, between two looks of a worker at whether
	// others wait or its computation is cancelled: less than a millisecond, as a rule.
	SliceWork = 128 << 10
)

// Parallel calls f for ranges that cover [0, n), on all processors that w has. cost is the
// work of one index, in elements. Ranges are independent: results do not depend on where
// they end.
func Parallel(w *sched.Worker, n, cost int, f func(lo, hi int)) {
	ParallelOn(w, n, cost, func(_ *sched.Worker, lo, hi int) { f(lo, hi) })
}

// ParallelOn is Parallel for an f that slices its own work: f gets the worker that runs it.
func ParallelOn(w *sched.Worker, n, cost int, f func(w *sched.Worker, lo, hi int)) {
	cost = max(cost, 1)
	least, most := (ParallelMin+cost-1)/cost, max(SliceWork/cost, 1)
	if n < least {
		f(w, 0, n)
		return
	}
	each := (n + sched.Processors() - 1) / sched.Processors()
	w.For(n, min(max(each, least), most), f)
}

// Pacer counts the work of a sequential loop. The worker yields to others after each
// SliceWork of it.
type Pacer struct {
	Worker *sched.Worker
	done   int
}

// Step counts work, in elements.
func (p *Pacer) Step(cost int) {
	if p.done += cost; p.done >= SliceWork {
		p.done = 0
		p.Worker.Check()
	}
}
