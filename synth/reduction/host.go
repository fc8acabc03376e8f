package reduction

import (
	"encoding/binary"
	"unsafe"

	"nxvk/fallback/sched"
	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// The kernel of a processor that sums rows loads fours that lie a round apart, one for each lane
// of a vector, which a driver turns into single loads. The host sums the same rows in the same
// order (see Job) as they lie in memory.

// hostSum is what carries out kernels of a sum on the host, nil where there is nothing for it.
func hostSum(in *ops.Instr, from, compute, to ops.DType) lowering.Host {
	switch {
	case in.Op != ops.Sum || from != compute || to != compute:
		return nil
	case compute == ops.F32:
		return sumRows[float32]
	case compute == ops.F64:
		return sumRows[float64]
	}
	return nil
}

// sumsRows reports whether the job adds up rows as they lie in memory, and does nothing else.
func (j *Job) sumsRows(p *codegen.Program) bool {
	return j.onHost != nil && p.Index == scalar.U32 && !j.Order.Tree && j.Group == 1 && len(j.Kept) == 1 && len(j.Reduced) == 1 &&
		j.Ins[0].Offset == 0 && j.Ins[0].ReducedAt.Strides[0] == 1
}

// sumRange is how many elements a worker sums at least, and between two looks at whether others
// wait.
const (
	sumRange = 1 << 15
	sumTurn  = 1 << 19
)

// rows are those of a dispatch on the host.
type rows[T float32 | float64] struct {
	from, to     []T
	parts, fours int
	count        int // elements of a row
	stride       int // between rows
}

// sumRows is the kernel of parts for sums. Its numbers are those of Job.numbers.
func sumRows[T float32 | float64](w *sched.Worker, buffers [][]byte, push []byte, _ [3]uint32) int {
	number := func(i int) int { return int(binary.LittleEndian.Uint32(push[4*i:])) }
	units := number(0)
	r := rows[T]{from: elementsOf[T](buffers[0]), to: elementsOf[T](buffers[1]), parts: number(1), fours: number(3), count: number(4), stride: number(7)}
	each := max(1, r.count/r.parts)
	grain := max((units+sched.Processors()-1)/sched.Processors(), (sumRange+each-1)/each)
	w.For(units, grain, func(w *sched.Worker, lo, hi int) {
		if r.parts == 1 {
			r.sumWhole(w, lo, hi)
			return
		}
		var lanes [partsAtOnce * strided.Lanes]T
		for lo < hi {
			row, first := lo/r.parts, lo%r.parts
			end := min(r.parts, first+hi-lo, first+partsAtOnce)
			r.sumParts(w, lanes[:(end-first)*strided.Lanes], row, first)
			lo += end - first
		}
	})
	return units / r.parts * r.count
}

func elementsOf[T float32 | float64](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

// partsAtOnce is how many parts are summed side by side, whose lanes have a place each.
const partsAtOnce = 128

// sumWhole sums rows lo to hi, which have one part each.
func (r *rows[T]) sumWhole(w *sched.Worker, lo, hi int) {
	left := sumTurn
	for row := lo; row < hi; row++ {
		from := r.from[row*r.stride:]
		from = from[:r.count]
		var l [strided.Lanes]T
		for ; len(from) >= strided.Lanes; from = from[strided.Lanes:] {
			l[0] += from[0]
			l[1] += from[1]
			l[2] += from[2]
			l[3] += from[3]
		}
		for lane, x := range from {
			l[lane] += x
		}
		r.to[row] = (l[0] + l[1]) + (l[2] + l[3])
		if left -= r.count; left <= 0 {
			w.Check()
			left = sumTurn
		}
	}
}

// sumParts sums parts of a row from first on, as many as acc has lanes for.
func (r *rows[T]) sumParts(w *sched.Worker, acc []T, row, first int) {
	clear(acc)
	end := first + len(acc)/strided.Lanes
	from := r.from[row*r.stride:]
	from = from[:r.count]
	step, at, left := r.parts*strided.Lanes, first*strided.Lanes, sumTurn
	for range r.fours / r.parts {
		addTo(acc, from[at:at+len(acc)])
		if at, left = at+step, left-len(acc); left <= 0 {
			w.Check()
			left = sumTurn
		}
	}
	last := r.fours % r.parts // has the elements after the last whole four
	if more := min(end, last); more > first {
		addTo(acc, from[at:at+(more-first)*strided.Lanes])
	}
	if first <= last && last < end {
		addTo(acc[(last-first)*strided.Lanes:], from[r.fours*strided.Lanes:])
	}
	for i := range end - first {
		l := acc[i*strided.Lanes:][:strided.Lanes]
		r.to[row*r.parts+first+i] = (l[0] + l[1]) + (l[2] + l[3])
	}
}

// addTo adds elements to as many sums.
func addTo[T float32 | float64](acc, xs []T) {
	acc = acc[:len(xs)]
	for len(xs) >= 4 {
		acc[0] += xs[0]
		acc[1] += xs[1]
		acc[2] += xs[2]
		acc[3] += xs[3]
		acc, xs = acc[4:], xs[4:]
	}
	for i, x := range xs {
		acc[i] += x
	}
}
