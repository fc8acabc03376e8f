package fallback

import "nxvk/fallback/sched"

const (
	// parallelMin is how much work, in elements, is worth another goroutine.
	parallelMin = 32 << 10
	// turn is how much work is done between two looks at whether others wait, or
	// the computation is to stop: well under a millisecond of most work.
	turn = 128 << 10
)

// parallel calls f for ranges that cover [0, n), on all cores that w has. cost is the
// work of one index. Ranges are independent: where they end never shows in a result.
func parallel(w *sched.Worker, n, cost int, f func(lo, hi int)) {
	parallelOn(w, n, cost, func(_ *sched.Worker, lo, hi int) { f(lo, hi) })
}

// parallelOn is parallel for ranges that are themselves sliced: f gets the worker that
// runs it.
func parallelOn(w *sched.Worker, n, cost int, f func(w *sched.Worker, lo, hi int)) {
	cost = max(cost, 1)
	least, most := (parallelMin+cost-1)/cost, max(turn/cost, 1)
	if n < least {
		f(w, 0, n)
		return
	}
	each := (n + sched.Processors() - 1) / sched.Processors()
	w.For(n, min(max(each, least), most), f)
}

// pace counts the work of a loop that is not sliced by parallel, and lets others have
// their turn now and then.
type pace struct {
	w    *sched.Worker
	done int
}

// step notes work of a cost.
func (p *pace) step(cost int) {
	if p.done += cost; p.done >= turn {
		p.done = 0
		p.w.Check()
	}
}
