package sorting

import (
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// rankWriter writes kernels in which a workgroup works on one tile. Item k of a
// invocation is element (subgroup * items + k) * size + invocation of the tile, so that the
// invocations of a subgroup have neighbours and items are in order.
type rankWriter struct {
	*sortPlaces
	sums  *subgroupSums
	shape tileShape
	words int            // shared: the tile, or counts by subgroup and digit
	bases int            // shared: by digit
	below []kernel.Value // the invocations before this one, as a ballot has them
}

// writer begins a kernel. It has room for the tile where elements change places.
func (s tileShape) writer(j *sortJob, e *codegen.Emitter, exchange bool) *rankWriter {
	w := &rankWriter{sortPlaces: j.places(e), shape: s}
	if !exchange {
		w.words = e.Shared(scalar.U32, 1<<tileDigit)
		return w
	}
	w.sums = newSubgroupSums(e, s.subgroup, s.subgroups)
	w.words = e.Shared(scalar.U32, max(s.size()*j.words(), s.subgroups<<tileDigit))
	w.bases = e.Shared(scalar.U32, 1<<tileDigit)
	one, me := e.Index(1), w.sums.invocation
	for first := 0; first < s.subgroup; first += 32 {
		bit := e.Sub(e.Prim(scalar.Shl, scalar.U32, one, e.And(me, 31)), one)
		if s.subgroup > 32 {
			before := e.Compare(scalar.Lt, me, e.Index(first))
			after := e.Compare(scalar.Le, e.Index(first+32), me)
			bit = e.Select(before, e.Index(0), e.Select(after, e.Index(1<<32-1), bit))
		}
		w.below = append(w.below, bit)
	}
	return w
}

// element is the place in the tile of an item.
func (w *rankWriter) element(k int) kernel.Value {
	first := w.Mul(w.sums.subgroup, w.Index(w.shape.items*w.shape.subgroup))
	return w.Add(w.Add(first, w.Index(k*w.shape.subgroup)), w.sums.invocation)
}

// peers gives the invocations whose digit is the same, as a ballot has them.
func (w *rankWriter) peers(digit kernel.Value) []kernel.Value {
	mask := make([]kernel.Value, len(w.below))
	for i := range mask {
		mask[i] = w.Index(1<<min(w.shape.subgroup, 32) - 1)
	}
	for bit := range tileDigit {
		own := w.Compare(scalar.Ne, w.And(digit, 1<<bit), w.Index(0))
		flip := w.Select(own, w.Index(0), w.Index(1<<32-1))
		for i, votes := range w.Ballot(own) {
			same := w.Prim(scalar.Xor, scalar.U32, votes, flip)
			mask[i] = w.Prim(scalar.And, scalar.U32, mask[i], same)
		}
	}
	return mask
}

func (w *rankWriter) bitCount(words []kernel.Value) kernel.Value {
	n := w.Index(0)
	for _, x := range words {
		n = w.Add(n, w.Prim(scalar.BitCount, scalar.U32, x))
	}
	return n
}

// counter is the place of a digit's counter of a subgroup.
func (w *rankWriter) counter(subgroup, digit kernel.Value) kernel.Value {
	return w.Add(w.Shl(subgroup, tileDigit), digit)
}

// clear makes the counters 0, up to a barrier.
func (w *rankWriter) clear(counters int) {
	for at := 0; at < counters; at += w.shape.local() {
		w.StoreShared(w.words, w.Add(w.Index(at), w.Invocation()), w.Index(0))
	}
	w.Barrier()
}

// ranks gives for each item how many items of the same digit come before it in
// the subgroup, and leaves their numbers in the counters.
func (w *rankWriter) ranks(digits []kernel.Value) []kernel.Value {
	w.clear(w.shape.subgroups << tileDigit)
	ranks := make([]kernel.Value, len(digits))
	for k, digit := range digits {
		peers := w.peers(digit)
		before := make([]kernel.Value, len(peers))
		for i, x := range peers {
			before[i] = w.Prim(scalar.And, scalar.U32, x, w.below[i])
		}
		at, rank := w.counter(w.sums.subgroup, digit), w.bitCount(before)
		count := w.LoadShared(w.words, at)
		ranks[k] = w.Add(count, rank)
		w.SubgroupBarrier()
		w.If(w.Compare(scalar.Eq, rank, w.Index(0)), func() []kernel.Value {
			w.StoreShared(w.words, at, w.Add(count, w.bitCount(peers)))
			return nil
		}, nil)
		w.SubgroupBarrier()
	}
	w.Barrier()
	return ranks
}

// order gives the place in the tile of every item, and where the first item of
// each digit that this invocation looks after is. others are summed over the
// digits as well: those of all digits before come back.
func (w *rankWriter) order(digits []kernel.Value, others []kernel.Value) (places, starts, before []kernel.Value) {
	ranks := w.ranks(digits)
	var ends [][]kernel.Value // by digit and subgroup: items in the subgroups before
	sum, other := w.Index(0), w.Index(0)
	for d := range w.shape.digits() {
		run, until := w.Index(0), []kernel.Value{}
		for s := range w.shape.subgroups {
			until = append(until, run)
			run = w.Add(run, w.LoadShared(w.words, w.counter(w.Index(s), w.own(d))))
		}
		ends = append(ends, until)
		starts, sum = append(starts, sum), w.Add(sum, run)
		if others != nil {
			before, other = append(before, other), w.Add(other, others[d])
		}
	}
	first := w.sums.before(sum, other)
	for d := range starts {
		starts[d] = w.Add(starts[d], first[0])
		if others != nil {
			before[d] = w.Add(before[d], first[1])
		}
		for s, n := range ends[d] {
			w.StoreShared(w.words, w.counter(w.Index(s), w.own(d)), w.Add(starts[d], n))
		}
	}
	w.Barrier()
	for k, digit := range digits {
		places = append(places, w.Add(ranks[k], w.LoadShared(w.words, w.counter(w.sums.subgroup, digit))))
	}
	w.Barrier()
	return places, starts, before
}

// own is a digit that this invocation looks after.
func (w *rankWriter) own(d int) kernel.Value {
	return w.Add(w.Mul(w.Invocation(), w.Index(w.shape.digits())), w.Index(d))
}

// exchange brings elements to their places in the tile, and gives what is then in
// each of the places at.
func (w *rankWriter) exchange(values, places, at []kernel.Value) []kernel.Value {
	size := w.Index(w.shape.size())
	for k, v := range values {
		if w.Type(v) == scalar.U64 {
			w.StoreShared(w.words, w.Add(places[k], size), w.Prim(scalar.Hi, scalar.U32, v))
			v = w.Prim(scalar.Lo, scalar.U32, v)
		}
		w.StoreShared(w.words, places[k], v)
	}
	w.Barrier()
	out := make([]kernel.Value, len(at))
	for k, i := range at {
		out[k] = w.LoadShared(w.words, i)
		if w.Type(values[k]) == scalar.U64 {
			out[k] = w.Prim(scalar.Pack, scalar.U64, out[k], w.LoadShared(w.words, w.Add(i, size)))
		}
	}
	w.Barrier()
	return out
}

// digit is a digit of the key of an element as it is stored.
func (w *rankWriter) digit(value, shift kernel.Value) kernel.Value {
	key := w.job.key(w.Emitter, value)
	d := w.Prim(scalar.Shr, w.Type(key), key, shift)
	return w.And(w.Convert(d, scalar.U32), 1<<tileDigit-1)
}
