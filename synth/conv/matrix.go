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
	"nxvk/synth/movement"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// A convolution of a narrow type on matrix hardware. The input is laid out again with channels
// innermost, in whole vectors, and with its padding. Then the patch of a place is rows of contiguous
// channels, which kernels read as they read a matrix, whatever strides, dilations and padding are. The
// copy moves what the input has once, where the product reads it for each tap. Filters whose taps
// and channels follow each other are a matrix as they lie: rows of filters, as Axon has them, or
// rows of channels. Others are laid out like the input.

// operands returns the type that matrix hardware multiplies, Invalid where it does not carry
// products of m × n results out.
func (c *Convolution) operands(m, n int) ops.DType {
	d := c.types[0].DType
	if c.types[1].DType != d || d.Wide() != c.wide {
		return ops.Invalid
	}
	if _, ok := dot.GEMMTarget(c.t).Matrix(d, m, n); !ok {
		return ops.Invalid
	}
	return d
}

// hardware is how matrix hardware carries the convolution out.
type hardware struct {
	*Convolution
	typ           ops.DType
	vectors       int // elements in channels of a tap, as they are laid out
	input, kernel operand
	filter        gemm.Strides // of the matrix of filters by taps and channels
	problem       gemm.Problem
	places        gemm.Places
	order         []int // of the dimensions of the results, as they are computed
	inPlace       bool  // the result lies so
}

// operand prepares an operand for the product. It is transposed, so that channels are innermost,
// and laid out with its padding, in whole vectors, unless it lies so already.
type operand struct {
	view   *Convolution // where its elements are, which are the places of view
	turn   []int        // permutation of the transposition; nil where there is none
	direct bool
}

// OnHardware reports whether matrix hardware carries out the convolution.
func (c *Convolution) OnHardware() bool { return c.onHardware() != nil }

// onHardware describes the convolution for matrix hardware; nil where that does not take it.
func (c *Convolution) onHardware() *hardware {
	typ := c.operands(c.filters, strided.Product(c.places()))
	if typ == ops.Invalid || len(c.axes) < 1 || len(c.axes) > 3 {
		return nil
	}
	vector := 16 / typ.Size()
	h := &hardware{Convolution: c, typ: typ, vectors: (c.channels + vector - 1) / vector * vector}
	h.input, h.kernel = h.inputOperand(), h.filterOperand()
	h.arrangePlaces()
	places, depth := strided.Product(c.places()), c.taps()*h.vectors
	h.problem = gemm.Problem{Type: c.wide, Operands: typ, M: c.filters, N: places, K: depth, Batch: c.groups, A: h.filter}
	h.places.Of = gemm.B
	switch {
	case c.groups == 1 && c.dense(ofBatch, ofSpace, ofFilters):
		h.places.Of, h.order, h.inPlace = gemm.A, []int{ofBatch, ofSpace, ofFilters}, true
		h.problem = h.problem.Transposed()
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

// inputOperand looks at the input: its places are the elements with their padding, as far as
// filters see them.
func (h *hardware) inputOperand() operand {
	s := *h.Convolution
	s.axes = append([]convAxis(nil), h.axes...)
	o := operand{view: &s, turn: h.turn(0, h.channelAt, h.In.Attrs[ops.ConvInputPermutation])}
	if o.turn != nil {
		s.walk(channelsLastStrides(h.types[0].Shape, o.turn))
	}
	o.direct = s.channelAt == 1 && h.channels == h.vectors && s.batchAt%h.vectors == 0 && s.groupAt%h.vectors == 0
	for i := range s.axes {
		a := &s.axes[i]
		a.out = (a.out-1)*a.stride + (a.taps-1)*a.step + 1
		a.taps, a.stride, a.step = 1, 1, 1
		o.direct = o.direct && a.low == 0 && a.gap == 1 && a.out <= a.extent && a.at%h.vectors == 0
	}
	return o
}

// filterOperand looks at the filters: a filter is a batch, and its taps are the places.
func (h *hardware) filterOperand() operand {
	s := *h.Convolution
	s.axes = append([]convAxis(nil), h.axes...)
	at := []int{h.filterAt, h.tapAt}
	for i := range h.axes {
		at = append(at, h.axes[i].tapAt)
	}
	o := operand{view: &s, direct: h.isMatrix(at)}
	if perm := h.In.Attrs[ops.ConvKernelPermutation]; !o.direct {
		if o.turn = h.turn(1, h.tapAt, perm); o.turn != nil {
			at = channelsLastStrides(h.types[1].Shape, o.turn)
			o.direct = h.isMatrix(at)
		}
	}
	h.filter = gemm.Strides{Row: h.taps() * h.vectors, Col: 1, Whole: true}
	if o.direct {
		h.filter.Row, h.filter.Col = at[0], at[1]
	}
	h.filter.Batch = h.filters * h.filter.Row
	s.batch, s.batchAt, s.channelAt, s.groups, s.groupAt = h.groups*h.filters, at[0], at[1], 1, 0
	for i := range s.axes {
		n := s.axes[i].taps
		s.axes[i] = convAxis{out: n, taps: 1, stride: 1, step: 1, gap: 1, extent: n, at: at[i+2]}
	}
	return o
}

// isMatrix reports whether filters with these strides of filters, channels and taps are a matrix of
// filters by taps and channels, in rows or columns of whole vectors.
func (h *hardware) isMatrix(at []int) bool {
	vector, n := 16/h.typ.Size(), at[1]*h.channels
	for i := len(h.axes) - 1; i >= 0; i-- {
		if taps := h.axes[i].taps; taps > 1 {
			if at[i+2] != n {
				return false
			}
			n *= taps
		}
	}
	switch {
	case h.channels != h.vectors:
		return false
	case at[1] == 1:
		return at[0]%vector == 0
	}
	return at[0] == 1 && at[1]%vector == 0 && (h.groups == 1 || h.filters%vector == 0)
}

// turn is the permutation that makes channels of an operand innermost, where tiles transpose it; nil
// where they are, or where it is small.
func (h *hardware) turn(operand, channelAt int, perm []int) []int {
	shape := h.types[operand].Shape
	if channelAt == 1 || shape[perm[1]] == 1 || shape.Size() < movement.MinTiled {
		return nil
	}
	order := append([]int{perm[0]}, perm[2:]...)
	return append(order, perm[1])
}

// channelsLastStrides are those of batches, channels and space after a transposition.
func channelsLastStrides(s ops.Shape, turn []int) []int {
	shape := make(ops.Shape, len(turn))
	for i, ax := range turn {
		shape[i] = s[ax]
	}
	at := shape.Strides()
	last := len(at) - 1
	return append([]int{at[0], at[last]}, at[1:last]...)
}

// arrangePlaces sets where taps and places are in the input as the product reads it: along x, y
// and z, from the innermost axis.
func (h *hardware) arrangePlaces() {
	s := h.input.view
	g := gemm.Places{Channels: h.vectors, Out: [3]int{1, 1, 1}}
	taps, at := [3]int{1, 1, 1}, h.groups*h.vectors
	for i := range h.axes {
		a, view := &h.axes[len(h.axes)-1-i], &s.axes[len(h.axes)-1-i]
		apart := at
		if h.input.direct {
			apart = view.at
		}
		taps[i], g.Tap[i], g.Out[i], g.Place[i] = a.taps, a.step*apart, a.out, a.stride*apart
		at *= view.out
	}
	g.TapsX, g.TapsY = taps[0], taps[1]
	g.Image, g.Group, g.Size = at, h.vectors, h.batch*at
	if h.input.direct {
		g.Image, g.Group, g.Size = s.batchAt, s.groupAt, h.types[0].Size()
	}
	h.places = g
}

// plan lays the operands out and multiplies them.
func (h *hardware) plan() (*lowering.Plan, error) {
	d := h.product()
	filters, err := h.layOut(d, 1, &h.kernel)
	if err != nil {
		return nil, err
	}
	input, err := h.layOut(d, 0, &h.input)
	if err != nil {
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

// layOut appends what is done to operand i, and returns where it is then.
func (h *hardware) layOut(d *dot.Builder, i int, o *operand) (lowering.Ref, error) {
	ref := lowering.Ref{Kind: lowering.Operand, Index: i}
	if o.turn != nil {
		to := d.NewTemp(h.types[i].Bytes())
		if err := d.AddTranspose(h.types[i], o.turn, ref, to); err != nil {
			return ref, err
		}
		ref = to
	}
	if o.direct {
		return ref, nil
	}
	to := d.NewTemp(strided.Product(o.view.places()) * o.view.groups * h.vectors * h.typ.Size())
	return to, d.AddPrograms(h.channelsProgram(o.view, ref, i, to))
}

// channelsJob lays an operand out: {batch, space…, groups, channels}, with zeros where there is no
// element.
type channelsJob struct {
	*Convolution
	vectors int
	inner   bool // neighbours of the operand are channels
	whole   bool // and as many as are stored at once begin at a multiple of that
}

// storedAtOnce is how many elements an invocation stores with one instruction.
const storedAtOnce = 4

func (h *hardware) channelsProgram(c *Convolution, ref lowering.Ref, operand int, to lowering.Ref) *codegen.Program {
	vector := 16 / h.typ.Size()
	j := &channelsJob{Convolution: c, vectors: vector, inner: c.channelAt == 1}
	j.whole = j.inner && c.channels%storedAtOnce == 0 && c.batchAt%storedAtOnce == 0 && c.groupAt%storedAtOnce == 0
	for i := range c.axes {
		j.whole = j.whole && c.axes[i].at%storedAtOnce == 0
	}
	from := h.types[operand]
	units := strided.Product(c.places()) * c.groups * h.vectors / vector
	local, steps := elementwise.Workgroup(h.t, storedAtOnce)
	elem := lowering.ElemOf[h.typ]
	p := &codegen.Program{Local: uint32(local), Groups: (units + local*steps - 1) / (local * steps), Body: j.write,
		Key:   fmt.Sprintf("channels of %v in vectors gaps=%v inner=%v whole=%v steps=%d", h.typ, c.gaps(), j.inner, j.whole, steps),
		Index: codegen.IndexType(max(units*vector, from.Size())),
		Bytes: int64(from.Bytes() + units*16)}
	p.Buffers = []codegen.Buffer{
		{Ref: ref, Elem: elem, Access: lowering.Read, Bytes: int64(from.Bytes())},
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
		offset := e.Add(e.Mul(rest, batchAt), e.Mul(group, groupAt))
		for i := range windows {
			to = e.Add(e.Mul(to, sizes[i]), at[i])
			valid, offset = windows[i].look(e, at[i], e.Index(0), valid, offset)
		}
		to = e.Add(e.Mul(e.Add(e.Mul(to, groups), group), runs), run)
		j.vector(e, run, channels, channelAt, valid, offset, to)
	})
	return nil
}

// vector stores the channels of a run.
func (j *channelsJob) vector(e *codegen.Emitter, run, channels, channelAt, valid, offset, to kernel.Value) {
	first := e.Mul(run, e.Index(j.vectors))
	parts := j.vectors / storedAtOnce
	for part := range parts {
		xs := make([]kernel.Value, storedAtOnce)
		if j.whole {
			channel := e.Add(first, e.Index(part*storedAtOnce))
			here := e.Prim(scalar.AndB, scalar.Bool, valid, e.Compare(scalar.Lt, channel, channels))
			at := e.Select(here, e.Div(e.Add(offset, channel), e.Index(storedAtOnce)), e.Index(0))
			for i, x := range e.Fetch(0, at, storedAtOnce) {
				xs[i] = e.Select(here, x, e.Const(e.Buffers[0].Elem.Type(), 0))
			}
			e.Store(1, e.Add(e.Mul(to, e.Index(parts)), e.Index(part)), xs...)
			continue
		}
		for i := range xs {
			channel := e.Add(first, e.Index(part*storedAtOnce+i))
			here := e.Prim(scalar.AndB, scalar.Bool, valid, e.Compare(scalar.Lt, channel, channels))
			x := e.Fetch(0, e.Select(here, e.Add(offset, e.Mul(channel, channelAt)), e.Index(0)), 1)[0]
			xs[i] = e.Select(here, x, e.Const(e.Buffers[0].Elem.Type(), 0))
		}
		e.Store(1, e.Add(e.Mul(to, e.Index(parts)), e.Index(part)), xs...)
	}
}
