package conv

import (
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// window is how filters see one axis, in a kernel. Places before the input are
// negative, which as unsigned numbers are beyond its end.
type window struct {
	stride, step kernel.Value
	first        kernel.Value // where the first tap of place 0 looks
	extent, at   kernel.Value
	gap          kernel.Value
	gaps         bool
}

// window lists the numbers of an axis, for places counted from one on, in the
// order in which the emitter's window takes them.
func (c *Convolution) window(i, from int) []int {
	x := &c.axes[i]
	nums := []int{x.stride, x.step, from*x.stride - x.low, x.extent, x.at}
	if x.gap > 1 {
		nums = append(nums, x.gap)
	}
	return nums
}

func windowOf(e *codegen.Emitter, gaps bool) window {
	w := window{stride: e.NextNumber(), step: e.NextNumber(), first: e.NextNumber(), extent: e.NextNumber(), at: e.NextNumber(), gaps: gaps}
	if gaps {
		w.gap = e.NextNumber()
	}
	return w
}

// look adds what a tap sees from a place to an index of the input, and to valid
// whether there is an element.
func (w *window) look(e *codegen.Emitter, place, tap, valid, offset kernel.Value) (kernel.Value, kernel.Value) {
	p := e.Add(e.Add(w.first, e.Mul(tap, w.step)), e.Mul(place, w.stride))
	valid = e.Prim(scalar.AndB, scalar.Bool, valid, e.Compare(scalar.Lt, p, w.extent))
	if w.gaps {
		q, rest := e.DivMod(p, w.gap)
		valid = e.Prim(scalar.AndB, scalar.Bool, valid, e.Compare(scalar.Eq, rest, e.Index(0)))
		p = q
	}
	return valid, e.Add(offset, e.Mul(p, w.at))
}

// next gives the coordinates that follow.
func next(e *codegen.Emitter, at, sizes []kernel.Value) []kernel.Value {
	out := make([]kernel.Value, len(at))
	carry := e.Index(1)
	for d := len(sizes); d > 0; d-- {
		up := e.Add(at[d], carry)
		wraps := e.Compare(scalar.Eq, up, sizes[d-1])
		out[d] = e.Select(wraps, e.Index(0), up)
		carry = e.Convert(wraps, e.IndexType)
	}
	out[0] = e.Add(at[0], carry)
	return out
}

// box is a part of the places of filters, {batch, space...}.
type box struct {
	at, n []int
}

func whole(dims []int) box { return box{make([]int, len(dims)), dims} }

func (b box) size() int { return strided.Product(b.n) }

// pitch is the size, rounded up to whole fours.
func (b box) pitch() int { return (b.size() + 3) / 4 * 4 }

// cut cuts places into boxes of about equal size, of no more than most places:
// runs along one dimension, with all of those inside it.
func cut(dims []int, most int) []box {
	axis, inner := 0, strided.Product(dims[1:])
	for inner > most {
		axis++
		inner /= dims[axis]
	}
	pieces := (dims[axis] + most/inner - 1) / (most / inner)
	run := (dims[axis] + pieces - 1) / pieces
	var boxes []box
	for outer := range strided.Product(dims[:axis]) {
		for first := 0; first < dims[axis]; first += run {
			b := box{make([]int, len(dims)), make([]int, len(dims))}
			copy(b.n, dims)
			b.at[axis], b.n[axis] = first, min(run, dims[axis]-first)
			for rest, i := outer, axis-1; i >= 0; i-- {
				b.at[i], b.n[i] = rest%dims[i], 1
				rest /= dims[i]
			}
			boxes = append(boxes, b)
		}
	}
	return boxes
}
