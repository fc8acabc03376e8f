package reduction

import (
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

// sortLine has the elements of a line in order, at least so many of the first: -Inf first and NaN last, or the
// other way round. The sort is stable; all NaNs are equal, and so are the two zeros. The caller ends the sorter.
func sortLine[C dense.RealClass](w *sched.Worker, xs []C, descending bool, first int) *sorter {
	r := sorters.Get().(*sorter)
	r.items, r.spare = resize(w, r.items, len(xs)), resize(w, r.spare, len(xs))
	if len(xs) < radixMin {
		setKeys(r.items, xs, 0, descending)
	} else {
		dense.Parallel(w, len(xs), 4, func(lo, hi int) { setKeys(r.items[lo:hi], xs[lo:hi], lo, descending) })
	}
	p := &dense.Pacer{Worker: w}
	if first <= mostFirst && first <= len(xs)/fewOf {
		r.first(first, p)
	} else {
		r.sort(p)
	}
	return r
}

// end gives the memory back.
func (r *sorter) end() { sorters.Put(r) }

// eachItem calls f for all items with their number and their place in the line.
func eachItem(w *sched.Worker, items []keyed, f func(i, at int)) {
	if len(items) < dense.ParallelMin {
		for i, x := range items {
			f(i, x.at)
		}
		return
	}
	dense.Parallel(w, len(items), 4, func(lo, hi int) {
		for i, x := range items[lo:hi] {
			f(lo+i, x.at)
		}
	})
}

// The first elements are found without an order of the others where they are so few, and one in so many.
const (
	mostFirst = 64
	fewOf     = 8
)

// first has the first k items in order. Each of the others is compared with the last of these.
func (r *sorter) first(k int, p *dense.Pacer) {
	items := r.items
	insertionSort(items[:k])
	for lo := k; lo < len(items); lo += dense.SliceWork {
		part := items[lo:min(len(items), lo+dense.SliceWork)]
		for _, x := range part {
			if x.key >= items[k-1].key {
				continue
			}
			i := k - 1
			for ; i > 0 && x.key < items[i-1].key; i-- {
				items[i] = items[i-1]
			}
			items[i] = x
		}
		p.Step(len(part))
	}
}

// insertionSort orders few items.
func insertionSort(items []keyed) {
	for i := 1; i < len(items); i++ {
		x, j := items[i], i
		for ; j > 0 && x.key < items[j-1].key; j-- {
			items[j] = items[j-1]
		}
		items[j] = x
	}
}

// resize is dense.Resize, which yields before it makes many.
func resize(w *sched.Worker, items []keyed, n int) []keyed {
	if cap(items) < n && n >= dense.ParallelMin {
		w.Check()
	}
	return dense.Resize(items, n)
}

// setKeys sets the keys and places of elements; the first has place at.
func setKeys[C dense.RealClass](items []keyed, xs []C, at int, descending bool) {
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
	if descending {
		for i := range items {
			items[i].key = ^items[i].key
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
const radixMin = 65

// sort orders the items, least significant byte first; bytes that all keys share
// are passed over, so that narrow types take few passes.
func (r *sorter) sort(p *dense.Pacer) {
	if len(r.items) < radixMin {
		insertionSort(r.items)
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
