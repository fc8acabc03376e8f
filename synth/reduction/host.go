package reduction

import (
	"encoding/binary"

	"nxvk/fallback/sched"
	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/stored"
	"nxvk/synth/strided"
)

// The kernel of a processor that sums rows loads fours that lie a round apart, one for each component
// of a vector, which a driver turns into single loads, and it takes narrow elements out of words. The host
// sums the same rows, or columns, in the same order (see Job) as they lie in memory. So it is with products of rows.

// hostSum says of what the host can carry out the kernels of a sum, or with times of a product.
type hostSum struct {
	from, compute, to ops.DType
	times             bool
}

// hostSumOf is nil where there is nothing for the host.
func hostSumOf(in *ops.Instr, from, compute, to ops.DType) *hostSum {
	wide := compute.Wide()
	if in.Op != ops.Sum && in.Op != ops.Product || to != from || !stored.Computes(from, wide) || wide != ops.F32 && wide != ops.F64 {
		return nil
	}
	return &hostSum{from, wide, to, in.Op == ops.Product}
}

// routine carries out the kernel of a pass, nil where the host cannot: it adds up rows, or columns, as they
// lie in memory.
func (j *Job) routine(p *codegen.Program) (of lowering.Host, what string) {
	h := j.onHost
	if h == nil || p.Index != scalar.U32 || j.Order.Tree || len(j.Kept) != 1 || len(j.Reduced) != 1 || j.Ins[0].Offset != 0 {
		return nil, ""
	}
	to := h.to
	if !j.Last {
		to = h.compute
	}
	s := hostPass{from: h.from, to: to, last: j.Last, times: h.times, apart: 1}
	if j.Ins[0].Way == columns {
		s.apart = strided.Components
	}
	switch {
	case j.Group == 1 && j.Ins[0].ReducedAt.Strides[0] == 1:
		what = " of rows"
	case j.Ins[0].KeptAt.Strides[0] == 1:
		what, s.columns = " of columns", true
	default:
		return nil, ""
	}
	if h.compute == ops.F64 {
		return func(w *sched.Worker, buffers [][]byte, push []byte, _ [3]uint32) int {
			return sum[float64](w, &s, buffers, push)
		}, what
	}
	return func(w *sched.Worker, buffers [][]byte, push []byte, _ [3]uint32) int {
		return sum[float32](w, &s, buffers, push)
	}, what
}

// hostPass is what the host must know of a kernel besides its numbers.
type hostPass struct {
	from, to ops.DType
	columns  bool
	last     bool
	times    bool
	apart    int // what the number of elements between rows is divided by
}

// sumRange is how many elements a worker sums at least, and between two looks at whether others
// wait.
const (
	sumRange = 1 << 15
	sumTurn  = 1 << 19
)

// rows are those of a dispatch on the host.
type rows[T float32 | float64] struct {
	operator[T]
	from         stored.Elements[T]
	to           stored.Results[T]
	parts, fours int
	count        int // elements of a row
	stride       int // between rows
}

// sum carries out a kernel of parts. Its numbers are those of Job.numbers.
func sum[T float32 | float64](w *sched.Worker, s *hostPass, buffers [][]byte, push []byte) int {
	number := func(i int) int { return int(binary.LittleEndian.Uint32(push[4*i:])) }
	units := number(0)
	r := rows[T]{operator: operatorOf[T](s.times), from: stored.ElementsOf[T](s.from, buffers[0]), to: stored.ResultsOf[T](s.to, buffers[1]), parts: number(1), fours: number(3), count: number(4), stride: number(7)}
	if s.columns {
		c := &sums[T]{rows: r, kept: number(5)}
		c.stride = number(8) * s.apart
		return c.sum(w)
	}
	each := max(1, r.count/r.parts)
	grain := max((units+sched.Processors()-1)/sched.Processors(), (sumRange+each-1)/each)
	w.For(units, grain, func(w *sched.Worker, lo, hi int) {
		if r.parts == 1 {
			r.sumWhole(w, lo, hi)
			return
		}
		var components [partsAtOnce * strided.Components]T
		for lo < hi {
			row, first := lo/r.parts, lo%r.parts
			end := min(r.parts, first+hi-lo, first+partsAtOnce)
			r.sumParts(w, components[:(end-first)*strided.Components], row, first)
			lo += end - first
		}
	})
	return units / r.parts * r.count
}

// partsAtOnce is how many parts are summed side by side, whose components have a place each.
const partsAtOnce = 128

// sumWhole sums rows lo to hi, which have one part each.
func (r *rows[T]) sumWhole(w *sched.Worker, lo, hi int) {
	left, room := sumTurn, make([]T, r.count)
	for row := lo; row < hi; row++ {
		from := r.from.Get(row*r.stride, room)
		r.to.Put(row, r.whole(from))
		if left -= r.count; left <= 0 {
			w.Check()
			left = sumTurn
		}
	}
}

// sumParts sums parts of a row from first on, as many as acc has components for.
func (r *rows[T]) sumParts(w *sched.Worker, acc []T, row, first int) {
	r.begin(acc)
	var room [partsAtOnce * strided.Components]T
	end := first + len(acc)/strided.Components
	from := func(at, n int) []T { return r.from.Get(row*r.stride+at, room[:n]) }
	step, at, left := r.parts*strided.Components, first*strided.Components, sumTurn
	for range r.fours / r.parts {
		r.fold(acc, from(at, len(acc)))
		if at, left = at+step, left-len(acc); left <= 0 {
			w.Check()
			left = sumTurn
		}
	}
	last := r.fours % r.parts // has the elements after the last whole four
	if more := min(end, last); more > first {
		r.fold(acc, from(at, (more-first)*strided.Components))
	}
	if first <= last && last < end {
		r.fold(acc[(last-first)*strided.Components:], from(r.fours*strided.Components, r.count-r.fours*strided.Components))
	}
	for i := range end - first {
		l := acc[i*strided.Components:][:strided.Components]
		r.to.Put(row*r.parts+first+i, r.join([strided.Components]T(l)))
	}
}
