package dense

import (
	"nxvk/fallback/sched"
)

const (
	// ParallelMin is how much work, in elements, is worth another goroutine.
	ParallelMin = 32 << 10
	// SliceWork is how much work is done between two looks at whether others wait, or
	// the computation is to stop: well under a millisecond of most work.
	SliceWork = 128 << 10
)

// Parallel calls f for ranges that cover [0, n), on all cores that w has. cost is the
// work of one index. Ranges are independent: where they end never shows in a result.
func Parallel(w *sched.Worker, n, cost int, f func(lo, hi int)) {
	ParallelOn(w, n, cost, func(_ *sched.Worker, lo, hi int) { f(lo, hi) })
}

// ParallelOn is parallel for ranges that are themselves sliced: f gets the worker that
// runs it.
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

// Pacer counts the work of a loop that is not sliced by parallel, and lets others have
// their turn now and then.
type Pacer struct {
	Worker *sched.Worker
	done   int
}

// Step notes work of a cost.
func (p *Pacer) Step(cost int) {
	if p.done += cost; p.done >= SliceWork {
		p.done = 0
		p.Worker.Check()
	}
}
