package windowing

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
)

// A reduction of windows is separable: windows are reduced along the last dimension,
// then the results along the one before, and so on. A window of a·b elements along one
// dimension is a window of b elements, a apart, of results of windows of a elements. So
// the cost of an output is the sum of the lengths, not their product.
//
// The order of the elements does not change, only their grouping. Extremes therefore
// keep their bits, those of zeros and NaNs among them, and so do results of integers,
// which wrap. A sum of n floating-point numbers in groups has at most the error of one
// from left to right, (n-1)·u·Σ|x| to first order (Higham, Accuracy and Stability of
// Numerical Algorithms, 2002, section 4.2); the sums of groups have the precision of
// computation. A product of floating-point numbers is not separated, since one of a
// group can overflow where that of the window does not. Windows that are whole axes have
// the order of a reduction.

// leastSeparated is the number of elements of a window below which one pass costs less
// than the memory traffic and the dispatch of another one.
const leastSeparated = 50

// leastReduction is the number of elements of a window from which on it is reduced as axes
// are, where it is all of them.
const leastReduction = 16

// leastGrouped is the length of a window along one axis from which on it is one of groups.
const leastGrouped = 64

// passOverhead is how many elements of a window cost as much as a result that is stored
// and loaded again.
const passOverhead = 6

// An element of a window that is no constant of its kernel costs as much as loopedCost others, since the loop over the
// window waits for its loads. Where there are so few windows that nothing else fills the time, it is fewCost.
const (
	loopedCost = 2
	fewCost    = 8
	fewWindows = leastTiles
)

// axisWindow is what a pass does along one axis.
type axisWindow struct {
	axis                     int
	window, dilation, stride int
	before, after            int // padding
	out                      int // windows
}

// plain reports whether a window is the element at its place.
func (a *axisWindow) plain(n int) bool {
	return a.window == 1 && a.before == 0 && a.stride == 1 && a.out == n
}

// separable reports whether the elements of a window can be reduced in groups.
func separable(op ops.Op, d ops.DType) bool {
	return op == ops.WindowSum && !d.IsComplex() || op == ops.WindowMax || op == ops.WindowMin || op == ops.WindowProduct && d.IsInteger()
}

// wholeAxes returns the axes with one window that is the whole axis, if all other axes
// have no windows and the windows have so many elements that a reduction is faster: its
// neighbouring invocations load neighbouring elements.
func wholeAxes(s ops.Shape, as []axisWindow) (axes []int, ok bool) {
	each := 1
	for _, a := range as {
		n := s[a.axis]
		switch {
		case a.plain(n):
		case a.window == n && a.out == 1 && a.before == 0 && a.dilation == 1:
			axes = append(axes, a.axis)
			each *= n
		default:
			return nil, false
		}
	}
	return axes, each >= leastReduction
}

// windowsOf are the windows of an instruction along each axis.
func windowsOf(in *ops.Instr) []axisWindow {
	as := make([]axisWindow, len(in.Attrs[0]))
	for i := range as {
		as[i] = axisWindow{axis: i, window: in.Attrs[0][i], before: in.Attrs[1][2*i], after: in.Attrs[1][2*i+1],
			stride: in.Attrs[2][i], dilation: in.Attrs[3][i], out: in.Outs[0].Type.Shape[i]}
	}
	return as
}

// separate gives the passes of windows on a shape, each along some of the axes, or one
// pass along all of them where that costs no more. It depends on the shapes alone.
func separate(s ops.Shape, as []axisWindow) [][]axisWindow {
	each, outs := 1, 1
	for _, a := range as {
		each *= a.window
		outs *= a.out
	}
	together := [][]axisWindow{as}
	if each < leastSeparated {
		return together
	}
	var passes [][]axisWindow
	var rest []axisWindow // along which nothing is reduced: a part of the first pass
	for _, a := range slices.Backward(as) {
		switch {
		case a.plain(s[a.axis]):
		case a.window == 1:
			rest = append(rest, a)
		default:
			for _, part := range a.split() {
				passes = append(passes, []axisWindow{part})
			}
		}
	}
	passes[0] = append(passes[0], rest...)
	cost, n := 0, slices.Clone(s)
	for i, pass := range passes {
		window := 1
		for _, a := range pass {
			n[a.axis] = a.out
			window *= a.window
		}
		cost += n.Size() * window
		if i < len(passes)-1 {
			cost += n.Size() * passOverhead
		}
	}
	if len(passes) == 1 || cost >= outs*each*costInWindow(outs, each) {
		return together
	}
	return passes
}

// costInWindow is what an element costs in one pass over so many windows of as many elements.
func costInWindow(windows, each int) int {
	switch {
	case each <= unrolledLoads:
		return 1
	case windows < fewWindows:
		return fewCost
	}
	return loopedCost
}

// split gives a long window as one of groups of elements and one of those groups, where
// its length is a product.
func (a axisWindow) split() []axisWindow {
	if a.window < leastGrouped {
		return []axisWindow{a}
	}
	group := 1
	for d := 2; d*d <= a.window; d++ {
		if a.window%d == 0 {
			group = d
		}
	}
	groups := a.window / group
	if group+groups > a.window/2 {
		return []axisWindow{a}
	}
	// The groups begin apart·i after a window. Where all windows begin at a multiple
	// of that, only those are needed.
	apart := group * a.dilation
	every := 1
	if a.out == 1 || a.stride%apart == 0 {
		every = apart
	}
	first, last := a, a
	first.window, first.stride = group, every
	first.out = ((a.out-1)*a.stride+(groups-1)*apart)/every + 1
	last.window, last.dilation, last.stride = groups, apart/every, max(1, a.stride/every)
	last.before, last.after = 0, 0
	return []axisWindow{first, last}
}

// separated are the jobs of passes, the results of all but the last one being
// temporaries of the type that computes.
func separated(in *ops.Instr, from ops.Type, passes [][]axisWindow) (jobs []*Job, temps []int64) {
	ones, none := slices.Repeat([]int{1}, len(from.Shape)), make([]int, 2*len(from.Shape))
	at := lowering.Ref{Kind: lowering.Operand, Index: 0}
	for i, pass := range passes {
		window, padding, strides, dilations := slices.Clone(ones), slices.Clone(none), slices.Clone(ones), slices.Clone(ones)
		to := ops.Type{DType: from.DType.Wide(), Shape: slices.Clone(from.Shape)}
		for _, a := range pass {
			window[a.axis], strides[a.axis], dilations[a.axis] = a.window, a.stride, a.dilation
			padding[2*a.axis], padding[2*a.axis+1] = a.before, a.after
			to.Shape[a.axis] = a.out
		}
		j := &Job{Op: in.Op, Elem: in.Outs[0].Type.DType, Stored: from.DType, From: codegen.BufferOf(at, from.DType)}
		at = lowering.Ref{Kind: lowering.Temp, Index: i}
		if i == len(passes)-1 {
			to.DType, at = in.Outs[0].Type.DType, lowering.Ref{Kind: lowering.Result, Index: 0}
		} else {
			temps = append(temps, int64(to.Bytes()))
		}
		j.Result, j.To = to.DType, codegen.BufferOf(at, to.DType)
		j.From.Access, j.From.Bytes = lowering.Read, int64(from.Bytes())
		j.To.Access, j.To.Bytes = lowering.Write, int64(to.Bytes())
		j.Split(from.Shape, to.Shape, window, padding, strides, dilations)
		jobs, from = append(jobs, j), to
	}
	return jobs, temps
}
