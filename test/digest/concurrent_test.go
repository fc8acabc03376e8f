package main

import (
	"sync"
	"testing"

	"nxvk/ops"
)

// covering are those of some random programs that have an operation which none before has, and
// the first of the others, so many.
func covering(list []*program, others int) (few []*program) {
	have := make(map[ops.Op]bool)
	var news func(r *ops.Region) bool
	news = func(r *ops.Region) (found bool) {
		for i := range r.Body {
			op := r.Body[i].Op
			found = found || !have[op]
			have[op] = true
			for _, inner := range r.Body[i].Regions {
				found = news(inner) || found
			}
		}
		return found
	}
	for _, p := range list {
		switch {
		case news(p.region):
			few = append(few, p)
		case others > 0:
			others--
			few = append(few, p)
		}
	}
	return few
}

// TestConcurrent compiles programs that have every operation on three goroutines at once, which begin at
// different programs: the compiler's caches and pools are theirs in common. Each gets the plans that
// one goroutine gets alone. The race detector looks on (test/all.sh).
func TestConcurrent(t *testing.T) {
	const compilers = 3
	others := 200
	if testing.Short() {
		others = 10
	}
	list := covering(programs(1, 1000), others)
	got := make([][]string, compilers)
	var all sync.WaitGroup
	for c := range compilers {
		got[c] = make([]string, len(list))
		all.Go(func() {
			for k := range list {
				i := (k + c*len(list)/compilers) % len(list)
				for _, target := range targets {
					got[c][i] += " " + planned(list[i], &target.target)
				}
			}
		})
	}
	all.Wait()
	for i, p := range list {
		alone := ""
		for _, target := range targets {
			alone += " " + planned(p, &target.target)
		}
		for c := range compilers {
			if got[c][i] != alone {
				t.Errorf("program %d, %s: compiler %d makes%s, one alone%s", i, p.name, c, got[c][i], alone)
			}
		}
	}
	t.Logf("%d programs", len(list))
}
