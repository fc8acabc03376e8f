package fallback

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"nxvk/fallback/sched"
)

// ranked is an element to be sorted: a number that orders as it does, and its
// place in the line.
type ranked struct {
	key uint64
	at  int
}

// ranking sorts lines. Its memory is pooled: there is one for each goroutine
// that sorts.
type ranking struct{ items, spare []ranked }

var rankings = sync.Pool{New: func() any { return new(ranking) }}

// ranks calls f with the elements of a line in order: -Inf first and NaN last, or
// the other way round. Equal elements, which all NaNs are, and the two zeros, stay
// in theirs.
func ranks[C realClass](w *sched.Worker, xs []C, descending bool, f func(items []ranked)) {
	r := rankings.Get().(*ranking)
	defer rankings.Put(r)
	r.items, r.spare = sized(w, r.items, len(xs)), sized(w, r.spare, len(xs))
	parallel(w, len(xs), 4, func(lo, hi int) {
		items := r.items[lo:hi]
		setKeys(items, xs[lo:hi], lo)
		if descending {
			for i := range items {
				items[i].key = ^items[i].key
			}
		}
	})
	r.sort(&pace{w: w})
	f(r.items)
}

// sized returns items of a length, whatever they hold. To make many takes long.
func sized(w *sched.Worker, items []ranked, n int) []ranked {
	if cap(items) >= n {
		return items[:n]
	}
	if n >= parallelMin {
		w.Check()
	}
	return make([]ranked, n)
}

// setKeys gives elements their keys and places, the first of which is at.
func setKeys[C realClass](items []ranked, xs []C, at int) {
	switch xs := any(xs).(type) {
	case []float64:
		for i, x := range xs {
			items[i] = ranked{floatKey(x), at + i}
		}
	case []int64:
		for i, x := range xs {
			items[i] = ranked{uint64(x) ^ 1<<63, at + i}
		}
	case []uint64:
		for i, x := range xs {
			items[i] = ranked{x, at + i}
		}
	}
}

// floatKey orders as floats do.
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

// fewRanked is how many elements are not worth the counts of a digit.
const fewRanked = 96

// sort orders the items, least significant byte first; bytes that all keys share
// are passed over, so that narrow types take few passes.
func (r *ranking) sort(p *pace) {
	if len(r.items) < fewRanked {
		slices.SortStableFunc(r.items, func(a, b ranked) int { return cmp.Compare(a.key, b.key) })
		return
	}
	differ := uint64(0)
	for part := range slices.Chunk(r.items, turn/2) {
		for _, x := range part {
			differ |= x.key ^ r.items[0].key
		}
		p.step(len(part))
	}
	for shift := 0; shift < 64; shift += 8 {
		if differ>>shift&0xFF != 0 {
			r.pass(shift, p)
		}
	}
}

// pass orders the items by a byte of their keys.
func (r *ranking) pass(shift int, p *pace) {
	var next [256]int
	for part := range slices.Chunk(r.items, turn/8) {
		for i := range part {
			next[part[i].key>>shift&0xFF]++
		}
		p.step(len(part))
	}
	sum := 0
	for b, n := range next {
		next[b], sum = sum, sum+n
	}
	for part := range slices.Chunk(r.items, turn/8) {
		for _, x := range part {
			b := x.key >> shift & 0xFF
			r.spare[next[b]] = x
			next[b]++
		}
		p.step(4 * len(part))
	}
	r.items, r.spare = r.spare, r.items
}
