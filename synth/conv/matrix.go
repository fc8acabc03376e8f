package conv

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/dot"
	"nxvk/synth/elementwise"
	"nxvk/synth/gemm"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// A convolution of a narrow type on matrix hardware. The input is laid out again with channels
// innermost, in whole vectors, and with its padding; so are the filters. Then the patch of a place
// is rows of contiguous channels, which kernels read as they read a matrix, whatever strides,
// dilations and padding are. The copies move what the input and the filters have once, where the
// product reads it for each tap.

// operands returns the type that matrix hardware multiplies, Invalid where it does not carry the
// convolution out.
func (c *Convolution) operands() ops.DType {
	d := c.types[0].DType
	if c.types[1].DType != d || d.Wide() != c.wide {
		return ops.Invalid
	}
	if _, ok := dot.GEMMTarget(c.t).Matrix(d, c.filters, strided.Product(c.places())); !ok {
		return ops.Invalid
	}
	return d
}

// hardware is how matrix hardware carries the convolution out.
type hardware struct {
	*Convolution
	typ     ops.DType
	vectors int // elements in channels of a tap, as they are laid out
	problem gemm.Problem
	places  gemm.Places
	order   []int // of the dimensions of the results, as they are computed
	inPlace bool  // the result lies so
}

// onHardware describes the convolution for matrix hardware; nil where that does not take it.
func (c *Convolution) onHardware() *hardware {
	typ := c.operands()
	if typ == ops.Invalid || len(c.axes) < 1 || len(c.axes) > 2 {
		return nil
	}
	vector := 16 / typ.Size()
	h := &hardware{Convolution: c, typ: typ, vectors: (c.channels + vector - 1) / vector * vector}
	h.arrangePlaces()
	places, depth := strided.Product(c.places()), c.taps()*h.vectors
	filters := gemm.Strides{Row: depth, Col: 1, Batch: c.filters * depth, Whole: true}
	h.problem = gemm.Problem{Type: c.wide, Operands: typ, M: c.filters, N: places, K: depth, Batch: c.groups, A: filters}
	h.places.Of = gemm.B
	switch {
	case c.groups == 1 && c.dense(ofBatch, ofSpace, ofFilters):
		h.places.Of, h.order, h.inPlace = gemm.A, []int{ofBatch, ofSpace, ofFilters}, true
		h.problem = h.problem.Transposed()
		h.problem.B.Whole = true
	case c.dense(ofBatch, ofFilters, ofSpace):
		h.places.First, h.order, h.inPlace = true, []int{ofBatch, ofFilters, ofSpace}, true
	default:
		h.order = []int{ofFilters, ofBatch, ofSpace}
		h.inPlace = c.dense(h.order...)
	}
	if !h.places.Gathers(&h.problem, dot.GEMMTarget(c.t)) {
		return nil
	}
	return h
}

// arrangePlaces sets where taps and places are in the input as it is laid out.
func (h *hardware) arrangePlaces() {
	s := h.spread()
	y, x := convAxis{out: 1, taps: 1, stride: 1, step: 1}, h.axes[len(h.axes)-1]
	rows, cols := 1, s.axes[len(s.axes)-1].out
	if len(h.axes) == 2 {
		y, rows = h.axes[0], s.axes[0].out
	}
	pixel := h.groups * h.vectors
	h.places = gemm.Places{Channels: h.vectors, TapsX: x.taps, TapX: x.step * pixel, TapY: y.step * cols * pixel,
		OutX: x.out, OutY: y.out, PlaceX: x.stride * pixel, PlaceY: y.stride * cols * pixel,
		Image: rows * cols * pixel, Group: h.vectors, Size: h.batch * rows * cols * pixel}
}

// spread is a convolution of one tap whose places are the elements of the input with its padding,
// as far as filters see them.
func (h *hardware) spread() *Convolution {
	s := *h.Convolution
	s.axes = append([]convAxis(nil), h.axes...)
	for i := range s.axes {
		a := &s.axes[i]
		a.out = (a.out-1)*a.stride + (a.taps-1)*a.step + 1
		a.taps, a.stride, a.step = 1, 1, 1
	}
	return &s
}

// filterView is a convolution whose places are the taps of the filters.
func (h *hardware) filterView() *Convolution {
	s := *h.Convolution
	s.batch, s.batchAt, s.channelAt, s.groups, s.groupAt = h.groups*h.filters, h.filterAt, h.tapAt, 1, 0
	s.axes = append([]convAxis(nil), h.axes...)
	for i := range s.axes {
		a := &s.axes[i]
		*a = convAxis{out: a.taps, taps: 1, stride: 1, step: 1, gap: 1, extent: a.taps, at: a.tapAt}
	}
	return &s
}

// plan lays the operands out and multiplies them.
func (h *hardware) plan() (*lowering.Plan, error) {
	d := h.product()
	filters := d.NewTemp(h.groups * h.filters * h.taps() * h.vectors * h.typ.Size())
	input := d.NewTemp(h.places.Size * h.typ.Size())
	if err := d.AddPrograms(h.channelsLastProgram(h.filterView(), 1, filters), h.channelsLastProgram(h.spread(), 0, input)); err != nil {
		return nil, err
	}
	a, b := filters, input
	if h.places.Of == gemm.A {
		a, b = input, filters
	}
	plan, err := gemm.NewPlaces(h.problem, &h.places, dot.GEMMTarget(h.t))
	if h.inPlace {
		return d.Plan, d.AddResult(plan, err, a, b)
	}
	p := &h.problem
	sums := d.NewTemp(p.Batch * p.M * p.N * h.wide.Size())
	if err := d.AddSteps(plan, err, a, b, sums); err != nil {
		return nil, err
	}
	return d.Plan, h.arrange(d, sums, h.order)
}

// channelsJob lays an operand out: {batch, space…, groups, channels}, with zeros where there is no
// element.
type channelsJob struct {
	*Convolution
	vectors int
	inner   bool // neighbours of the operand are channels
}

// storedAtOnce is how many elements an invocation stores with one instruction.
const storedAtOnce = 4

func (h *hardware) channelsLastProgram(c *Convolution, operand int, to lowering.Ref) *codegen.Program {
	vector := 16 / h.typ.Size()
	j := &channelsJob{c, vector, c.channelAt == 1}
	from := h.types[operand]
	units := strided.Product(c.places()) * c.groups * h.vectors / vector
	local, steps := elementwise.Workgroup(h.t, storedAtOnce)
	elem := lowering.ElemOf[h.typ]
	p := &codegen.Program{Local: uint32(local), Groups: (units + local*steps - 1) / (local * steps), Body: j.write,
		Key:   fmt.Sprintf("channels of %v in vectors gaps=%v inner=%v steps=%d", h.typ, c.gaps(), j.inner, steps),
		Index: codegen.IndexType(max(units*vector, from.Size())),
		Bytes: int64(from.Bytes() + units*16)}
	p.Buffers = []codegen.Buffer{
		{Ref: lowering.Ref{Kind: lowering.Operand, Index: operand}, Elem: elem, Access: lowering.Read, Bytes: int64(from.Bytes())},
		{Ref: to, Elem: elem, Access: lowering.Write, Bytes: int64(units * 16)}}
	p.Numbers = []int{units, c.batchAt, c.groupAt, c.channelAt, c.channels, c.groups, h.vectors / vector}
	for i := range c.axes {
		p.Numbers = append(p.Numbers, c.axes[i].out)
		p.Numbers = append(p.Numbers, c.window(i, 0)...)
	}
	return p
}

// write is the body of the kernel: a unit is a vector of channels. Neighbours among invocations
// are what are neighbours in the operand: channels, or elements of a row.
func (j *channelsJob) write(e *codegen.Emitter) error {
	units, batchAt, groupAt, channelAt, channels := e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	groups, runs := e.NextNumber(), e.NextNumber()
	sizes, windows := make([]kernel.Value, len(j.axes)), make([]window, len(j.axes))
	for i := range j.axes {
		sizes[i], windows[i] = e.NextNumber(), windowOf(e, j.axes[i].gap > 1)
	}
	_, steps := elementwise.Workgroup(e.Target, storedAtOnce)
	last := len(j.axes) - 1
	e.ForUnits(units, steps, func(u kernel.Value) {
		at := make([]kernel.Value, len(j.axes))
		var run, group kernel.Value
		rest := u
		if j.inner {
			rest, run = e.DivMod(rest, runs)
			rest, group = e.DivMod(rest, groups)
			rest, at[last] = e.DivMod(rest, sizes[last])
		} else {
			rest, at[last] = e.DivMod(rest, sizes[last])
			rest, run = e.DivMod(rest, runs)
			rest, group = e.DivMod(rest, groups)
		}
		for i := last - 1; i >= 0; i-- {
			rest, at[i] = e.DivMod(rest, sizes[i])
		}
		to := rest // the batch
		valid := e.IsTrue(e.Index(1))
		spot := e.Add(e.Mul(rest, batchAt), e.Mul(group, groupAt))
		for i := range windows {
			to = e.Add(e.Mul(to, sizes[i]), at[i])
			valid, spot = windows[i].look(e, at[i], e.Index(0), valid, spot)
		}
		to = e.Add(e.Mul(e.Add(e.Mul(to, groups), group), runs), run)
		j.vector(e, run, channels, channelAt, valid, spot, to)
	})
	return nil
}

// vector stores the channels of a run.
func (j *channelsJob) vector(e *codegen.Emitter, run, channels, channelAt, valid, spot, to kernel.Value) {
	first := e.Mul(run, e.Index(j.vectors))
	parts := j.vectors / storedAtOnce
	for part := range parts {
		xs := make([]kernel.Value, storedAtOnce)
		for i := range xs {
			channel := e.Add(first, e.Index(part*storedAtOnce+i))
			here := e.Prim(scalar.AndB, scalar.Bool, valid, e.Compare(scalar.Lt, channel, channels))
			x := e.Fetch(0, e.Select(here, e.Add(spot, e.Mul(channel, channelAt)), e.Index(0)), 1)[0]
			xs[i] = e.Select(here, x, e.Const(e.Buffers[0].Elem.Type(), 0))
		}
		e.Store(1, e.Add(e.Mul(to, e.Index(parts)), e.Index(part)), xs...)
	}
}
