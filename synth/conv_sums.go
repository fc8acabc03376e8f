package synth

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/kernel"
)

// sumsView is where the sums of a box lie in a temporary: strides between
// groups, filters of a group, batches and places.
type sumsView struct {
	ref                         Ref
	group, filter, batch, place int
}

// place appends a copy of the sums of a box to where they belong in the result.
func (c *convolution) place(d *dot, b box, s sumsView) error {
	to := c.in.Outs[0].Type.DType
	in := view{strides: []int{s.group, s.filter, s.batch}}
	out := view{offset: b.at[0] * c.resultAt[0],
		strides: []int{c.filters * c.resultAt[1], c.resultAt[1], c.resultAt[0]}}
	dims := append([]int{c.groups, c.filters}, b.n...)
	for i, at := range ops.Shape(b.n[1:]).Strides() {
		in.strides = append(in.strides, at*s.place)
		out.strides = append(out.strides, c.resultAt[i+2])
		out.offset += b.at[i+1] * c.resultAt[i+2]
	}
	if c.channelsLast() { // filters are walked innermost
		for _, l := range []*[]int{&dims, &in.strides, &out.strides} {
			filter := (*l)[1]
			*l = append(append((*l)[:1:1], (*l)[2:]...), filter)
		}
	}
	j := &mapJob{key: fmt.Sprintf("move %v to %v", c.wide, to), dims: dims, out: out, to: result(to),
		ins: []source{{view: in, buffer: buffer{ref: s.ref, elem: storage[c.wide]}}}}
	j.body = func(e *emitter, xs []kernel.Value) (kernel.Value, error) {
		return e.encode(to, e.convert(xs[0], c.wide, to)), nil
	}
	return d.run(j.programs(c.t)...)
}

// sumJob sums each result by itself, channel by channel and tap by tap.
type sumJob struct{ *convolution }

// sums plans a convolution as one kernel.
func (c *convolution) sums() *program {
	j := &sumJob{c}
	in, k, out := c.types[0], c.types[1], c.in.Outs[0].Type
	units := out.Size()
	local, steps := c.t.mapShape(1)
	p := &program{local: uint32(local), body: j.write, groups: (units + local*steps - 1) / (local * steps),
		key:   fmt.Sprintf("convolution of %v and %v to %v gaps=%v steps=%d", in.DType, k.DType, out.DType, c.gaps(), steps),
		index: indexType(max(units, in.Size(), k.Size())),
		flops: 2 * int64(units) * int64(c.depth()), bytes: int64(in.Bytes() + k.Bytes() + out.Bytes())}
	p.bufs = []buffer{
		{ref: Ref{Operand, 0}, elem: storage[in.DType], access: Read, bytes: int64(in.Bytes())},
		{ref: Ref{Operand, 1}, elem: storage[k.DType], access: Read, bytes: int64(k.Bytes())},
		{ref: Ref{Result, 0}, elem: storage[out.DType], access: Write, bytes: int64(out.Bytes())}}
	p.nums = []int{units, c.groups * c.filters, c.filters, c.channels, c.batchAt, c.groupAt, c.channelAt,
		c.filterAt, c.tapAt, c.resultAt[0], c.resultAt[1]}
	for i := range c.axes {
		x := &c.axes[i]
		p.nums = append(p.nums, x.out, x.taps, x.tapAt, c.resultAt[i+2])
		p.nums = append(p.nums, c.window(i, 0)...)
	}
	return p
}

// sumWriter writes the kernel of a sumJob.
type sumWriter struct {
	*emitter
	*convolution
	batchAt, groupAt, channelAt     kernel.Value
	filterAt, tapAt                 kernel.Value
	filters, channels               kernel.Value
	sizes, taps, tapStrides, result []kernel.Value
	windows                         []window
}

func (j *sumJob) write(e *emitter) error {
	w := &sumWriter{emitter: e, convolution: j.convolution}
	units, all := e.num(), e.num()
	w.filters, w.channels, w.batchAt, w.groupAt, w.channelAt = e.num(), e.num(), e.num(), e.num(), e.num()
	w.filterAt, w.tapAt = e.num(), e.num()
	w.result = []kernel.Value{e.num(), e.num()}
	w.sizes = []kernel.Value{all}
	for i := range j.axes {
		w.sizes, w.taps = append(w.sizes, e.num()), append(w.taps, e.num())
		w.tapStrides, w.result = append(w.tapStrides, e.num()), append(w.result, e.num())
		w.windows = append(w.windows, e.window(j.axes[i].gap > 1))
	}
	_, steps := e.t.mapShape(1)
	e.forUnits(units, steps, w.unit)
	return nil
}

// unit sums and stores result u of {batch, filters, space...}.
func (w *sumWriter) unit(u kernel.Value) {
	at := w.coordinates(u, w.sizes)
	from := w.Add(w.Mul(at[0], w.batchAt), w.Mul(w.Div(at[1], w.filters), w.groupAt))
	filter := w.Mul(at[1], w.filterAt)
	zero := w.Const(wide(w.wide), 0)
	sum := w.Loop(w.int(0), w.channels, w.int(1), []kernel.Value{zero},
		func(c kernel.Value, acc []kernel.Value) []kernel.Value {
			tap := w.Add(filter, w.Mul(c, w.tapAt))
			return w.axis(0, at[2:], w.truth(w.int(1)), w.Add(from, w.Mul(c, w.channelAt)), tap, acc)
		})[0]
	to := w.int(0)
	for i, a := range at {
		to = w.Add(to, w.Mul(a, w.result[i]))
	}
	d := w.in.Outs[0].Type.DType
	w.Store(2, to, w.encode(d, w.convert(sum, w.wide, d)))
}

// axis sums over the taps of axis i and of those after it. spot is where the
// input is read and tap where the kernel is.
func (w *sumWriter) axis(i int, at []kernel.Value, valid, spot, tap kernel.Value, acc []kernel.Value) []kernel.Value {
	if i == len(at) {
		d := w.types[1].DType
		k := w.emitter.convert(w.decode(d, w.fetch(1, tap, 1)[0]), d, w.wide)
		return []kernel.Value{w.Add(acc[0], w.Mul(w.seen(w.emitter, valid, spot), k))}
	}
	return w.Loop(w.int(0), w.taps[i], w.int(1), acc, func(t kernel.Value, acc []kernel.Value) []kernel.Value {
		valid, spot := w.windows[i].look(w.emitter, at[i], t, valid, spot)
		return w.axis(i+1, at, valid, spot, w.Add(tap, w.Mul(t, w.tapStrides[i])), acc)
	})
}
