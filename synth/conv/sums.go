package conv

import (
	"fmt"
	"slices"

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
	first := len(d.Plan.Steps)
	if err := d.AddPrograms(j.Programs(c.t)...); err != nil {
		return err
	}
	if routine := c.moveOnHost(j); routine != nil {
		d.Plan.Steps[first].Routine = routine
		for i := range d.Plan.Steps[first+1:] {
			d.Plan.Steps[first+1+i].Covered = true
		}
	}
	return nil
}

// runLength is how many results an invocation of a GPU sums at a time where there are many: they
// lie side by side along one axis, share the taps of their filter and what decides about the
// other axes.
const (
	runLength = 4
	manySums  = 1 << 17
)

// run returns along which axis an invocation takes results, and how many of them: along rows,
// so that neighbours in a subgroup stay neighbours in memory, or where these are channels along
// the last axis.
func (c *Convolution) run() (axis, length int) {
	last := len(c.axes) - 1
	if c.t.CPU || last < 0 || c.In.Outs[0].Type.Size() < manySums {
		return 0, 1
	}
	for _, axis := range []int{last - 1, last} {
		if axis >= 0 && c.axes[axis].out >= runLength && (axis == last || !c.neighbourChannels()) {
			return axis, runLength
		}
	}
	return 0, 1
}

// neighbourChannels reports whether channels of the result are neighbours in memory, so that
// neighbours in a subgroup are channels.
func (c *Convolution) neighbourChannels() bool {
	return !c.t.CPU && c.resultAt[1] == 1 && c.groups*c.filters > 1
}

// sumJob sums each result by itself, channel by channel and tap by tap.
type sumJob struct {
	*Convolution
	axis, length int  // of a run
	unrolled     bool // the taps of a filter are constants of the kernel
}

// order names what distinguishes kernels by runs and by the order of results.
func (j *sumJob) order() string {
	s := ""
	if j.length > 1 {
		s = fmt.Sprintf(" %d along axis %d", j.length, j.axis)
	}
	if j.neighbourChannels() {
		s += " channels last"
	}
	return s + j.describeTaps()
}

// sums plans a convolution as one kernel.
func (c *Convolution) sums() *codegen.Program {
	j := &sumJob{Convolution: c}
	j.axis, j.length = c.run()
	j.unrolled = j.unrolls()
	in, k, out := c.types[0], c.types[1], c.In.Outs[0].Type
	units := out.Size()
	if j.length > 1 {
		n := c.axes[j.axis].out
		units = units / n * ((n + j.length - 1) / j.length)
	}
	local, steps := j.deal()
	p := &codegen.Program{Local: uint32(local), Body: j.write, Groups: (units + local*steps - 1) / (local * steps),
		Key:   fmt.Sprintf("convolution of %v and %v to %v gaps=%v steps=%d%s", in.DType, k.DType, out.DType, c.gaps(), steps, j.order()),
		Index: codegen.IndexType(max(units, in.Size(), k.Size(), out.Size())),
		Flops: 2 * int64(out.Size()) * int64(c.Depth()), Bytes: int64(in.Bytes() + k.Bytes() + out.Bytes())}
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
	*sumJob
	batchAt, groupAt, channelAt     kernel.Value
	filterAt, tapAt                 kernel.Value
	filters, channels               kernel.Value
	sizes, taps, tapStrides, result []kernel.Value
	windows                         []window
}

func (j *sumJob) write(e *codegen.Emitter) error {
	w := &sumWriter{Emitter: e, sumJob: j}
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
	_, steps := j.deal()
	unit := w.unit
	if j.unrolled {
		unit = w.unitOfTaps
	}
	e.ForUnits(units, steps, unit)
	return nil
}

// place is a result: its coordinate along the axis of the run, whether its tap sees an element,
// and which.
type place struct{ at, valid, offset kernel.Value }

// unit sums and stores the results of run u of {batch, filters, space...}.
func (w *sumWriter) unit(u kernel.Value) {
	at := w.coordinates(u)
	from := w.Add(w.Mul(at[0], w.batchAt), w.Mul(w.Div(at[1], w.filters), w.groupAt))
	filter := w.Mul(at[1], w.filterAt)
	run := make([]place, w.length)
	for i := range run {
		if w.length > 1 {
			n := w.sizes[w.axis+1]
			run[i].at = w.Min(w.Add(w.Mul(at[w.axis+2], w.Index(w.length)), w.Index(i)), w.Sub(n, w.Index(1)))
		}
	}
	zeros := make([]kernel.Value, w.length)
	for i := range zeros {
		zeros[i] = w.Const(codegen.WideType(w.wide), 0)
	}
	sums := w.Loop(w.Index(0), w.channels, w.Index(1), zeros,
		func(c kernel.Value, acc []kernel.Value) []kernel.Value {
			tap := w.Add(filter, w.Mul(c, w.tapAt))
			valid, offset := w.IsTrue(w.Index(1)), w.Add(from, w.Mul(c, w.channelAt))
			first := slices.Clone(run)
			for i := range first {
				first[i].valid, first[i].offset = valid, offset
			}
			return w.sumAxis(0, at[2:], first, tap, acc)
		})
	d := w.In.Outs[0].Type.DType
	for result, sum := range sums {
		if w.Target.CPU {
			sum = w.PositiveZero(sum)
		}
		to := w.Index(0)
		for i, a := range at {
			if w.length > 1 && i == w.axis+2 {
				a = run[result].at
			}
			to = w.Add(to, w.Mul(a, w.result[i]))
		}
		w.Store(2, to, w.Encode(d, w.Cast(sum, w.wide, d)))
	}
}

// coordinates are those of a run, {batch, filters, space...}. Along the axis of runs they count
// these.
func (w *sumWriter) coordinates(u kernel.Value) []kernel.Value {
	sizes := slices.Clone(w.sizes)
	if w.length > 1 {
		sizes[w.axis+1] = w.Div(w.Add(sizes[w.axis+1], w.Index(w.length-1)), w.Index(w.length))
	}
	if !w.neighbourChannels() {
		return w.Coordinates(u, sizes)
	}
	at := w.Coordinates(u, append(sizes[1:], sizes[0])) // filters innermost
	n := len(at) - 1
	return append([]kernel.Value{at[0], at[n]}, at[1:n]...)
}

// sumAxis sums over the taps of axis i and of those after it. The offset of a place is where the
// input is read and tap where the kernel is.
func (w *sumWriter) sumAxis(i int, at []kernel.Value, run []place, tap kernel.Value, acc []kernel.Value) []kernel.Value {
	if i == len(at) {
		d := w.types[1].DType
		k := w.Emitter.Cast(w.Decode(d, w.Fetch(1, tap, 1)[0]), d, w.wide)
		sums := make([]kernel.Value, len(acc))
		for result, p := range run {
			sums[result] = w.Add(acc[result], w.Mul(w.seen(w.Emitter, p.valid, p.offset), k))
		}
		return sums
	}
	return w.Loop(w.Index(0), w.taps[i], w.Index(1), acc, func(t kernel.Value, acc []kernel.Value) []kernel.Value {
		next := slices.Clone(run)
		for result := range next {
			p := &next[result]
			if w.length > 1 && i == w.axis {
				p.valid, p.offset = w.windows[i].look(w.Emitter, p.at, t, p.valid, p.offset)
			} else {
				p.valid, p.offset = w.windows[i].look(w.Emitter, at[i], t, p.valid, p.offset)
			}
		}
		return w.sumAxis(i+1, at, next, w.Add(tap, w.Mul(t, w.tapStrides[i])), acc)
	})
}
