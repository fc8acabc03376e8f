package hazard

import (
	"math/rand/v2"
	"testing"
)

// TestTracker compares the tracker with a list of all accesses since the last barrier: it asks
// for every barrier that is needed, and where a region has few ranges for no other.
func TestTracker(t *testing.T) {
	type access struct {
		region, lo, hi uint64
		a              Access
	}
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		var p Pool
		tr := p.Take()
		var since []access
		used, written := make(map[uint64]bool), make(map[uint64]bool)
		regions := uint64(3 + rnd.IntN(900))
		for step := range 3000 {
			if rnd.IntN(500) == 0 {
				p.Give(tr)
				tr, since = p.Take(), nil
				clear(used)
				clear(written)
			}
			lo := uint64(rnd.IntN(4)) * 16
			x := access{rnd.Uint64N(regions), lo, lo + 16*uint64(1+rnd.IntN(2)), Access(1 + rnd.IntN(3))}
			needed := false
			ranges := make(map[[2]uint64]bool)
			for _, y := range since {
				if y.region == x.region {
					needed = needed || y.lo < x.hi && x.lo < y.hi && (x.a|y.a)&Write != 0
					ranges[[2]uint64{y.lo, y.hi}] = true
				}
			}
			got := tr.Conflicts(x.region, x.lo, x.hi, x.a)
			if got != needed && (needed || len(ranges) < spanCount) {
				t.Fatalf("seed %d, step %d: got %v, want %v", seed, step, got, needed)
			}
			if got || tr.Full() {
				tr.Barrier()
				since = nil
			}
			first, writes := tr.Add(x.region, x.lo, x.hi, x.a)
			if !first && !used[x.region] || !writes && x.a&Write != 0 && !written[x.region] {
				t.Fatalf("seed %d, step %d: a first use or write is not reported", seed, step)
			}
			used[x.region] = true
			written[x.region] = written[x.region] || x.a&Write != 0
			since = append(since, x)
		}
	}
}
