package fallback

import (
	"runtime"
	"sync"
)

// parallelMin is how much work, in elements, is worth another goroutine.
const parallelMin = 32 << 10

// parallel calls f for ranges that cover [0, n), on all cores. cost is the
// work of one index. Ranges are independent: where they end never shows in a
// result.
func parallel(n, cost int, f func(lo, hi int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if cost = max(cost, 1); n < (parallelMin+cost-1)/cost || workers < 2 {
		f(0, n)
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { f(n*w/workers, n*(w+1)/workers) })
	}
	wg.Wait()
}
