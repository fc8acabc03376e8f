package windowing

import (
	"slices"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// Small windows are constants of their kernel: without loops, loads do not wait for one
// another. An invocation has the windows of a few outputs side by side along an axis that
// is not the last one, so that neighbouring invocations load neighbouring elements, and
// each element once for all those windows. Reduction in groups reduces the other axes
// first, too, once for all windows over them.

// The limits of unrolling: loads and outputs of an invocation, and the number of
// invocations below which a device is not busy.
const (
	unrolledLoads = 64
	largestTile   = 4
	leastTiles    = 1 << 14
)

// unroll chooses whether windows are constants, and how many outputs an invocation has.
func (j *Job) unroll() {
	j.unrolled, j.tile, j.axis = false, 1, -1
	if n, err := j.each(); err != nil || j.fun != nil || n*codegen.PartsOf(j.Elem) > unrolledLoads {
		return
	}
	j.unrolled = true
	if j.initial != nil {
		return
	}
	for i, d := range j.dims[:len(j.dims)-1] {
		if d.window > 1 {
			j.axis = i
			break
		}
	}
	for j.axis >= 0 && j.tile < largestTile {
		j.tile *= 2
		if j.dims[j.axis].out < j.tile || j.Units() < leastTiles || j.loads() > unrolledLoads {
			j.tile /= 2
			return
		}
	}
}

// tiles is how many invocations there are along the axis of tiles.
func (j *Job) tiles() int { return (j.dims[j.axis].out + j.tile - 1) / j.tile }

// Units is how many invocations have work.
func (j *Job) Units() int {
	n := 1
	for i, d := range j.dims {
		if j.tile > 1 && i == j.axis {
			n *= j.tiles()
		} else {
			n *= d.out
		}
	}
	return n
}

// loads is how many words an invocation loads, at least.
func (j *Job) loads() int {
	n := codegen.PartsOf(j.Elem)
	for i, d := range j.dims {
		if i == j.axis {
			n *= len(j.along())
		} else {
			n *= d.window
		}
	}
	return n
}

// along are the places along the axis of tiles that the windows of an invocation have.
func (j *Job) along() []int {
	d := j.dims[j.axis]
	var list []int
	for r := range j.tile {
		for i := range d.window {
			list = append(list, r*d.every+i*d.dilation)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// foldTile folds the windows of unit u. It gives what writes their results.
func (w *writer) foldTile(u kernel.Value) (store func()) {
	j := w.job
	at, result, own := w.tilePlace(u)
	at, inside := w.ahead(at)
	w.padding = w.Complete(w.InlineAll(w.identity, nil), j.Elem)
	n, d := &w.dims[j.axis], j.dims[j.axis]
	grouped := separable(j.Op, j.Elem)
	lists := map[int][][]kernel.Value{}
	for _, p := range j.along() {
		place, within := w.Add(n.begin, w.Index(p)), inside
		if !d.inside {
			within = w.And2(inside, w.Compare(scalar.Lt, place, n.in))
		}
		var list [][]kernel.Value
		w.along(j.axis+1, w.Add(at, w.Mul(place, n.stride)), within, nil, func(at, inside kernel.Value, _ []kernel.Value) []kernel.Value {
			x := w.element(at, inside)
			if grouped && len(list) > 0 {
				x = w.InlineAll(w.operator, slices.Concat(x, list[0]))
				list = nil
			}
			list = append(list, x)
			return nil
		})
		lists[p] = list
	}
	stride := n.outStride
	results := make([][]kernel.Value, j.tile)
	for r := range results {
		acc := w.padding
		for i := range d.window {
			for _, x := range lists[r*d.every+i*d.dilation] {
				acc = w.InlineAll(w.operator, slices.Concat(x, acc))
			}
		}
		results[r] = acc
	}
	return func() {
		for r, acc := range results {
			put := func() { w.put(w.Add(result, w.Mul(w.Index(r), stride)), acc) }
			if j.tile == 1 {
				put()
				continue
			}
			w.IfThen(w.Compare(scalar.Le, own, w.Index(r)), put)
		}
	}
}

// ahead goes to the place of the windows along the dimensions before the axis of tiles, where they have
// one each, and tells whether it is one of the tensor.
func (w *writer) ahead(at kernel.Value) (to, inside kernel.Value) {
	to, inside = at, w.Const(scalar.Bool, 1)
	for i := range w.job.axis {
		n, d := &w.dims[i], &w.job.dims[i]
		if d.plain {
			continue
		}
		to = w.Add(to, w.Mul(n.begin, n.stride))
		if !d.inside {
			inside = w.And2(inside, w.Compare(scalar.Lt, n.begin, n.in))
		}
	}
	return to, inside
}

// tilePlace is place for a unit of several outputs. The last tile of an axis ends with
// it; results before own are those of the tile before.
func (w *writer) tilePlace(u kernel.Value) (at, result, own kernel.Value) {
	at, result, own = w.Index(0), w.Index(0), w.Index(0)
	stride := w.Index(1)
	for i := len(w.dims) - 1; i >= 0; i-- {
		n, c := &w.dims[i], u
		size := n.out
		tiled := w.job.tile > 1 && i == w.job.axis
		if tiled {
			size = n.tiles
		}
		if i > 0 {
			u, c = w.DivMod(u, size)
		}
		if tiled {
			first := w.Mul(c, w.Index(w.job.tile))
			c = w.Min(first, w.Sub(n.out, w.Index(w.job.tile)))
			own = w.Sub(first, c)
		}
		result = w.Add(result, w.Mul(c, stride))
		n.outStride, stride = stride, w.Mul(stride, n.out)
		if w.job.dims[i].plain {
			at = w.Add(at, w.Mul(c, n.stride))
		} else {
			n.begin = w.Add(w.Mul(c, n.every), n.first)
		}
	}
	return at, result, own
}
