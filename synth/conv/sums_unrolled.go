package conv

import (
	"fmt"
	"slices"

	"nxvk/synth/codegen"
	"nxvk/synth/elementwise"
	"nxvk/synth/kernel"
)

// Small filters are constants of their kernel: without loops, loads do not wait for one another, and the results of a
// run share the elements that several of them see. A run of four results of a 3×3 filter loads 18 elements and not 36.

// unrolledTaps is how many taps such a filter has at most, those of 7×7; unrolledLoads bounds the elements that a run
// sees.
const (
	unrolledTaps  = 49
	unrolledLoads = 100
)

// unrolls reports whether the taps of the filter are constants of the kernel.
func (j *sumJob) unrolls() bool {
	if j.t.CPU || len(j.axes) == 0 || slices.Contains(j.gaps(), true) || j.taps() > unrolledTaps {
		return false
	}
	loads := 1
	for i := range j.axes {
		seen := map[int]bool{}
		for t := range j.axes[i].taps {
			for result := range j.length {
				seen[j.position(i, result, t)] = true
			}
		}
		loads *= len(seen)
	}
	return loads <= unrolledLoads
}

// position is where a tap of a result of a run looks along an axis, from where the first one of the first result does.
func (j *sumJob) position(axis, result, tap int) int {
	x := &j.axes[axis]
	if axis != j.axis {
		result = 0
	}
	return result*x.stride + tap*x.step
}

// describeTaps names what the code of unrolled taps depends on.
func (j *sumJob) describeTaps() string {
	if !j.unrolled {
		return ""
	}
	s := " taps"
	for i := range j.axes {
		x := &j.axes[i]
		s += fmt.Sprintf(" %d", x.taps)
		if x.step != 1 {
			s += fmt.Sprintf(" apart=%d", x.step)
		}
		if i == j.axis {
			s += fmt.Sprintf(" every=%d", x.stride)
		}
	}
	return s
}

// deal is the size of a workgroup and the steps of an invocation. Without loops, a single result is a step, too.
func (j *sumJob) deal() (local, steps int) {
	if j.unrolled {
		return codegen.GPULocal, 1
	}
	return elementwise.Workgroup(j.t, j.length)
}

// element says where an element of the input is, and whether it is there.
type element struct{ valid, offset kernel.Value }

// sumTaps adds a channel to the sums of a run, whose first result is at a place: tap by tap, as loops do.
func (w *sumWriter) sumTaps(at []kernel.Value, from, filter kernel.Value, acc []kernel.Value) []kernel.Value {
	taps := make([]int, len(w.axes))
	loaded := map[element]kernel.Value{}
	for n := range w.Convolution.taps() {
		tap := filter
		for i := len(taps) - 1; i >= 0; i-- {
			taps[i], n = n%w.axes[i].taps, n/w.axes[i].taps
			tap = w.Add(tap, w.Mul(w.Index(taps[i]), w.tapStrides[i]))
		}
		d := w.types[1].DType
		k := w.Emitter.Cast(w.Decode(d, w.Fetch(1, tap, 1)[0]), d, w.wide)
		sums := make([]kernel.Value, len(acc))
		for result := range acc {
			e := w.look(at, from, result, taps)
			x, ok := loaded[e]
			if !ok {
				x = w.seen(w.Emitter, e.valid, e.offset)
				loaded[e] = x
			}
			sums[result] = w.Add(acc[result], w.Mul(x, k))
		}
		acc = sums
	}
	return acc
}

// look is what a tap of a result of the run sees. The builder gives the same values for the same element.
func (w *sumWriter) look(at []kernel.Value, from kernel.Value, result int, taps []int) element {
	e := element{offset: from}
	for i := range w.windows {
		x, a := &w.windows[i], at[i]
		if i == w.axis {
			a = w.Mul(a, w.Index(w.length))
		}
		p := w.Add(w.Add(x.first, w.Mul(a, x.stride)), w.Index(w.position(i, result, taps[i])))
		inside := w.IsLess(p, x.extent)
		if i > 0 {
			inside = w.And2(e.valid, inside)
		}
		e.valid = inside
		e.offset = w.Add(e.offset, w.Mul(p, x.at))
	}
	return e
}

// storeRun stores the results of a run, those that there are.
func (w *sumWriter) storeRun(at, sums []kernel.Value) {
	d := w.In.Outs[0].Type.DType
	for result, sum := range sums {
		to, there := w.Index(0), kernel.Value(-1)
		for i, a := range at {
			if i == w.axis+2 {
				a = w.Add(w.Mul(a, w.Index(w.length)), w.Index(result))
				there = w.IsLess(a, w.sizes[w.axis+1])
			}
			to = w.Add(to, w.Mul(a, w.result[i]))
		}
		v := w.Encode(d, w.Cast(sum, w.wide, d))
		w.IfThen(there, func() { w.Store(2, to, v) })
	}
}

// unitOfTaps sums and stores the results of run u with unrolled taps.
func (w *sumWriter) unitOfTaps(u kernel.Value) {
	at := w.coordinates(u)
	from := w.Add(w.Mul(at[0], w.batchAt), w.Mul(w.Div(at[1], w.filters), w.groupAt))
	filter := w.Mul(at[1], w.filterAt)
	zeros := make([]kernel.Value, w.length)
	for i := range zeros {
		zeros[i] = w.Const(codegen.WideType(w.wide), 0)
	}
	w.storeRun(at, w.Loop(w.Index(0), w.channels, w.Index(1), zeros, func(c kernel.Value, acc []kernel.Value) []kernel.Value {
		return w.sumTaps(at[2:], w.Add(from, w.Mul(c, w.channelAt)), w.Add(filter, w.Mul(c, w.tapAt)), acc)
	}))
}
