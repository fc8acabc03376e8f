package reduction

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
)

// keyed is an element to be sorted: a key that orders as the element does, and its place in
// the line.
type keyed struct {
	key uint64
	at  int
}

// sorter has the memory of one sort. Sorters are pooled.
type sorter struct{ items, spare []keyed }

var sorters = sync.Pool{New: func() any { return new(sorter) }}

// sortLine calls f with the elements of a line in order: -Inf first and NaN last, or the
// other way round. The sort is stable; all NaNs are equal, and so are the two zeros.
func sortLine[C dense.RealClass](w *sched.Worker, xs []C, descending bool, f func(items []keyed)) {
	r := sorters.Get().(*sorter)
	defer sorters.Put(r)
	r.items, r.spare = resize(w, r.items, len(xs)), resize(w, r.spare, len(xs))
	dense.Parallel(w, len(xs), 4, func(lo, hi int) {
		items := r.items[lo:hi]
		setKeys(items, xs[lo:hi], lo)
		if descending {
			for i := range items {
				items[i].key = ^items[i].key
			}
		}
	})
	r.sort(&dense.Pacer{Worker: w})
	f(r.items)
}

// resize returns items of a length, whatever they hold. It yields before it makes many.
func resize(w *sched.Worker, items []keyed, n int) []keyed {
	if cap(items) >= n {
		return items[:n]
	}
	if n >= dense.ParallelMin {
		w.Check()
	}
	return make([]keyed, n)
}

// setKeys sets the keys and places of elements; the first has place at.
func setKeys[C dense.RealClass](items []keyed, xs []C, at int) {
	switch xs := any(xs).(type) {
	case []float64:
		for i, x := range xs {
			items[i] = keyed{floatKey(x), at + i}
		}
	case []int64:
		for i, x := range xs {
			items[i] = keyed{uint64(x) ^ 1<<63, at + i}
		}
	case []uint64:
		for i, x := range xs {
			items[i] = keyed{x, at + i}
		}
	}
}

// floatKey returns a key that orders as floats do.
func floatKey(x float64) uint64 {
	b := math.Float64bits(x)
	switch {
	case x == 0:
		return 1 << 63
	case x != x:
		return math.MaxUint64
	case b>>63 != 0:
		return ^b
	}
	return b | 1<<63
}

// radixMin is the least number of elements that are sorted by digits.
const radixMin = 96

// sort orders the items, least significant byte first; bytes that all keys share
// are passed over, so that narrow types take few passes.
func (r *sorter) sort(p *dense.Pacer) {
	if len(r.items) < radixMin {
		slices.SortStableFunc(r.items, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
		return
	}
	differ := uint64(0)
	for part := range slices.Chunk(r.items, dense.SliceWork/2) {
		for _, x := range part {
			differ |= x.key ^ r.items[0].key
		}
		p.Step(len(part))
	}
	for shift := 0; shift < 64; shift += 8 {
		if differ>>shift&0xFF != 0 {
			r.pass(shift, p)
		}
	}
}

// pass orders the items by a byte of their keys.
func (r *sorter) pass(shift int, p *dense.Pacer) {
	var next [256]int
	for part := range slices.Chunk(r.items, dense.SliceWork/8) {
		for i := range part {
			next[part[i].key>>shift&0xFF]++
		}
		p.Step(len(part))
	}
	sum := 0
	for b, n := range next {
		next[b], sum = sum, sum+n
	}
	for part := range slices.Chunk(r.items, dense.SliceWork/8) {
		for _, x := range part {
			b := x.key >> shift & 0xFF
			r.spare[next[b]] = x
			next[b]++
		}
		p.Step(4 * len(part))
	}
	r.items, r.spare = r.spare, r.items
}
