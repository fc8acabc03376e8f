package sample

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"nxvk/gen/exec"
	"nxvk/gen/nuts"
)

// Progress is how far a chain is.
type Progress struct {
	Warmup, Draws Count
	Steps         int // leapfrog steps of trajectories
	Step          float64
}

// Count is of iterations.
type Count struct {
	Done, Divergent int
}

// gauge is how far a chain is. The chain writes it, and reports read it.
type gauge struct {
	mu sync.Mutex
	p  Progress // guarded by mu
}

// note counts an iteration.
func (g *gauge) note(warmup bool, d *nuts.Draw) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := &g.p
	p.Step, p.Steps = d.Step, p.Steps+d.Steps
	n := &p.Draws
	if warmup {
		n = &p.Warmup
	}
	if n.Done++; d.Divergent {
		n.Divergent++
	}
}

// read is how far chains are.
func read(gauges []gauge) []Progress {
	all := make([]Progress, len(gauges))
	for i := range gauges {
		g := &gauges[i]
		g.mu.Lock()
		all[i] = g.p
		g.mu.Unlock()
	}
	return all
}

// Status is a run of chains under way.
type Status struct {
	Run     int
	Planned Progress   // of a chain that is done: the counts of its iterations
	Chains  []Progress // of each chain
}

// Status returns the runs of the session of a queue that are under way, in their order.
func (s *Sampler) Status(q *exec.Queue) (list []Status) {
	all, ok := q.Peek(runsKey{}).(*runs)
	if !ok {
		return nil
	}
	for _, n := range slices.Sorted(maps.Keys(all.active)) {
		if r := all.active[n]; len(r.progress) > 0 {
			list = append(list, Status{Run: n, Planned: r.planned, Chains: read(r.progress)})
		}
	}
	return list
}

// report tells how far chains are, every so often until the run is over. A report that
// the connection does not take is dropped: the next one says more.
func (s *Sampler) report(ctx context.Context, run *run, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		told := make(chan struct{})
		select {
		case <-ticker.C:
			s.e.Post(func() {
				if ctx.Err() == nil {
					run.reader.emit(Chunk{Report: read(run.progress)})
				}
				close(told)
			})
		case <-ctx.Done():
			return
		}
		select {
		case <-told: // no more than one waits, however long that takes
		case <-ctx.Done():
			return
		}
	}
}
