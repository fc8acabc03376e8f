package conv

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/dot"
	"nxvk/synth/elementwise"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// sumsView is where the sums of a box lie in a temporary: strides between
// groups, filters of a group, batches and places.
type sumsView struct {
	ref                         lowering.Ref
	group, filter, batch, place int
}

// place appends a copy of the sums of a box to where they belong in the result.
func (c *Convolution) place(d *dot.Builder, b box, s sumsView) error {
	to := c.In.Outs[0].Type.DType
	in := strided.View{Strides: []int{s.group, s.filter, s.batch}}
	out := strided.View{Offset: b.at[0] * c.resultAt[0],
		Strides: []int{c.filters * c.resultAt[1], c.resultAt[1], c.resultAt[0]}}
	dims := append([]int{c.groups, c.filters}, b.n...)
	for i, at := range ops.Shape(b.n[1:]).Strides() {
		in.Strides = append(in.Strides, at*s.place)
		out.Strides = append(out.Strides, c.resultAt[i+2])
		out.Offset += b.at[i+1] * c.resultAt[i+2]
	}
	if c.channelsLast() { // filters are walked innermost
		for _, l := range []*[]int{&dims, &in.Strides, &out.Strides} {
			filter := (*l)[1]
			*l = append(append((*l)[:1:1], (*l)[2:]...), filter)
		}
	}
	j := &elementwise.Job{Key: fmt.Sprintf("move %v to %v", c.wide, to), Dims: dims, Out: out, Result: codegen.ResultBuffer(to),
		Sources: []codegen.Source{{View: in, Buffer: codegen.Buffer{Ref: s.ref, Elem: lowering.ElemOf[c.wide]}}}}
	j.Body = func(e *codegen.Emitter, xs []kernel.Value) (kernel.Value, error) {
		return e.Encode(to, e.Cast(xs[0], c.wide, to)), nil
	}
	return d.AddPrograms(j.Programs(c.t)...)
}

// sumJob sums each result by itself, channel by channel and tap by tap.
type sumJob struct{ *Convolution }

// sums plans a convolution as one kernel.
func (c *Convolution) sums() *codegen.Program {
	j := &sumJob{c}
	in, k, out := c.types[0], c.types[1], c.In.Outs[0].Type
	units := out.Size()
	local, steps := elementwise.Workgroup(c.t, 1)
	p := &codegen.Program{Local: uint32(local), Body: j.write, Groups: (units + local*steps - 1) / (local * steps),
		Key:   fmt.Sprintf("convolution of %v and %v to %v gaps=%v steps=%d", in.DType, k.DType, out.DType, c.gaps(), steps),
		Index: codegen.IndexType(max(units, in.Size(), k.Size())),
		Flops: 2 * int64(units) * int64(c.Depth()), Bytes: int64(in.Bytes() + k.Bytes() + out.Bytes())}
	p.Buffers = []codegen.Buffer{
		{Ref: lowering.Ref{Kind: lowering.Operand, Index: 0}, Elem: lowering.ElemOf[in.DType], Access: lowering.Read, Bytes: int64(in.Bytes())},
		{Ref: lowering.Ref{Kind: lowering.Operand, Index: 1}, Elem: lowering.ElemOf[k.DType], Access: lowering.Read, Bytes: int64(k.Bytes())},
		{Ref: lowering.Ref{Kind: lowering.Result, Index: 0}, Elem: lowering.ElemOf[out.DType], Access: lowering.Write, Bytes: int64(out.Bytes())}}
	p.Numbers = []int{units, c.groups * c.filters, c.filters, c.channels, c.batchAt, c.groupAt, c.channelAt,
		c.filterAt, c.tapAt, c.resultAt[0], c.resultAt[1]}
	for i := range c.axes {
		x := &c.axes[i]
		p.Numbers = append(p.Numbers, x.out, x.taps, x.tapAt, c.resultAt[i+2])
		p.Numbers = append(p.Numbers, c.window(i, 0)...)
	}
	return p
}

// sumWriter writes the kernel of a sumJob.
type sumWriter struct {
	*codegen.Emitter
	*Convolution
	batchAt, groupAt, channelAt     kernel.Value
	filterAt, tapAt                 kernel.Value
	filters, channels               kernel.Value
	sizes, taps, tapStrides, result []kernel.Value
	windows                         []window
}

func (j *sumJob) write(e *codegen.Emitter) error {
	w := &sumWriter{Emitter: e, Convolution: j.Convolution}
	units, all := e.NextNumber(), e.NextNumber()
	w.filters, w.channels, w.batchAt, w.groupAt, w.channelAt = e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	w.filterAt, w.tapAt = e.NextNumber(), e.NextNumber()
	w.result = []kernel.Value{e.NextNumber(), e.NextNumber()}
	w.sizes = []kernel.Value{all}
	for i := range j.axes {
		w.sizes, w.taps = append(w.sizes, e.NextNumber()), append(w.taps, e.NextNumber())
		w.tapStrides, w.result = append(w.tapStrides, e.NextNumber()), append(w.result, e.NextNumber())
		w.windows = append(w.windows, windowOf(e, j.axes[i].gap > 1))
	}
	_, steps := elementwise.Workgroup(e.Target, 1)
	e.ForUnits(units, steps, w.unit)
	return nil
}

// unit sums and stores result u of {batch, filters, space...}.
func (w *sumWriter) unit(u kernel.Value) {
	at := w.Coordinates(u, w.sizes)
	from := w.Add(w.Mul(at[0], w.batchAt), w.Mul(w.Div(at[1], w.filters), w.groupAt))
	filter := w.Mul(at[1], w.filterAt)
	zero := w.Const(codegen.WideType(w.wide), 0)
	sum := w.Loop(w.Index(0), w.channels, w.Index(1), []kernel.Value{zero},
		func(c kernel.Value, acc []kernel.Value) []kernel.Value {
			tap := w.Add(filter, w.Mul(c, w.tapAt))
			return w.axis(0, at[2:], w.IsTrue(w.Index(1)), w.Add(from, w.Mul(c, w.channelAt)), tap, acc)
		})[0]
	to := w.Index(0)
	for i, a := range at {
		to = w.Add(to, w.Mul(a, w.result[i]))
	}
	d := w.In.Outs[0].Type.DType
	w.Store(2, to, w.Encode(d, w.Cast(sum, w.wide, d)))
}

// axis sums over the taps of axis i and of those after it. spot is where the
// input is read and tap where the kernel is.
func (w *sumWriter) axis(i int, at []kernel.Value, valid, spot, tap kernel.Value, acc []kernel.Value) []kernel.Value {
	if i == len(at) {
		d := w.types[1].DType
		k := w.Emitter.Cast(w.Decode(d, w.Fetch(1, tap, 1)[0]), d, w.wide)
		return []kernel.Value{w.Add(acc[0], w.Mul(w.seen(w.Emitter, valid, spot), k))}
	}
	return w.Loop(w.Index(0), w.taps[i], w.Index(1), acc, func(t kernel.Value, acc []kernel.Value) []kernel.Value {
		valid, spot := w.windows[i].look(w.Emitter, at[i], t, valid, spot)
		return w.axis(i+1, at, valid, spot, w.Add(tap, w.Mul(t, w.tapStrides[i])), acc)
	})
}
