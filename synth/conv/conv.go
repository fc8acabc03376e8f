package conv

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/dot"
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// Convolution is a convolution in the plain layout. The result {batch, filters of each
// group, places...} sums, over the channels of a group and the taps of a filter, the
// filter times the input under it. Permutations are strides, and groups of features and
// of batches differ in where the input of a group begins.
type Convolution struct {
	In    *ops.Instr
	types []ops.Type
	t     *lowering.Target
	wide  ops.DType
	after dot.Epilogue // the operations on the results; nil if there are none

	groups, batch     int
	filters, channels int // of a group
	axes              []convAxis

	groupAt, batchAt, channelAt int // strides of the input
	filterAt, tapAt             int // strides of the kernel: tapAt is between channels
	resultAt                    []int
}

// convAxis is one axis of space.
type convAxis struct {
	out, taps    int
	stride, step int // between places, and between taps
	low          int // padding before the input
	gap          int // between elements of the input, which may be spread
	extent       int // one more than the last element, so spread
	at, tapAt    int // strides of the input and of the kernel
}

// Lower plans a convolution as a product of matrices: the filters by the
// patches that they see. Where a patch is one element the input is that matrix
// already; where a group has few filters, as in depthwise convolutions, there is
// no matrix to speak of and each result is summed by itself.
// The kernels that store the results apply after to them, where it is not nil and
// they have room for it.
func Lower(in *ops.Instr, types []ops.Type, t *lowering.Target, after dot.Epilogue) (*lowering.Plan, error) {
	wide := in.Outs[0].Type.DType.Wide()
	if err := dot.Supported(wide, types, t); err != nil {
		return nil, err
	}
	if in.Ins[0].Lit != nil || in.Ins[1].Lit != nil {
		return nil, lowering.Unsupported("convolution of a literal")
	}
	if wide.IsComplex() {
		return lowerComplexConv(in, types, t)
	}
	c := New(in, types, t)
	c.after = after
	switch {
	case c.thin():
		p, err := codegen.NewPlan(t, nil, c.sums())
		if err == nil && c.longRows() {
			p.Steps[0].Routine = c.geometryOf(whole(c.places())).routine(false)
		}
		return p, err
	case c.onePoint():
		return c.pointProduct()
	}
	if h := c.onHardware(); h != nil {
		return h.plan()
	}
	if c.gathers() {
		return c.gatherProduct()
	}
	return c.patchProduct()
}

// New describes a convolution of the operation table.
func New(in *ops.Instr, types []ops.Type, t *lowering.Target) *Convolution {
	a := in.Attrs
	input, kernel := a[ops.ConvInputPermutation], a[ops.ConvKernelPermutation]
	si, sk := types[0].Shape.Strides(), types[1].Shape.Strides()
	c := &Convolution{In: in, types: types, t: t, wide: in.Outs[0].Type.DType.Wide(),
		groups:   max(a[ops.ConvFeatureGroups][0], a[ops.ConvBatchGroups][0]),
		filterAt: sk[kernel[0]], tapAt: sk[kernel[1]]}
	c.batch = types[0].Shape[input[0]] / a[ops.ConvBatchGroups][0]
	c.filters = types[1].Shape[kernel[0]] / c.groups
	c.channels = types[1].Shape[kernel[1]]
	out, so := in.Outs[0].Type.Shape, in.Outs[0].Type.Shape.Strides()
	for _, ax := range a[ops.ConvOutputPermutation] {
		c.resultAt = append(c.resultAt, so[ax])
	}
	for i, ax := range input[2:] {
		x := convAxis{out: out[a[ops.ConvOutputPermutation][i+2]], taps: types[1].Shape[kernel[i+2]],
			stride: a[ops.ConvStrides][i], step: a[ops.ConvKernelDilation][i],
			low: a[ops.ConvPadding][2*i], gap: a[ops.ConvInputDilation][i],
			tapAt: sk[kernel[i+2]]}
		x.extent = (types[0].Shape[ax]-1)*x.gap + 1
		c.axes = append(c.axes, x)
	}
	at := make([]int, len(input))
	for i, ax := range input {
		at[i] = si[ax]
	}
	c.walk(at)
	return c
}

// walk sets the strides of the input, {batch, channels, space...}.
func (c *Convolution) walk(at []int) {
	c.batchAt, c.channelAt, c.groupAt = at[0], at[1], c.channels*at[1]
	if c.In.Attrs[ops.ConvBatchGroups][0] > 1 {
		c.groupAt = c.batch * at[0]
	}
	for i := range c.axes {
		c.axes[i].at = at[i+2]
	}
}

// taps is how many elements of a channel a filter sees, depth how many in all.
func (c *Convolution) taps() int {
	n := 1
	for i := range c.axes {
		n *= c.axes[i].taps
	}
	return n
}

// Depth is the number of terms of each sum.
func (c *Convolution) Depth() int { return c.channels * c.taps() }

// places is the shape {batch, space...} of where filters are put.
func (c *Convolution) places() []int {
	dims := []int{c.batch}
	for i := range c.axes {
		dims = append(dims, c.axes[i].out)
	}
	return dims
}

// thinFilters and thinDepth bound what is summed result by result: a matrix with
// fewer rows loads each patch as often as that does.
const (
	thinFilters = 4
	thinDepth   = 4096
)

func (c *Convolution) thin() bool {
	return c.filters < thinFilters && c.Depth() < thinDepth && !c.starved()
}

// Results of one group whose sums are long do not fill a GPU where there are few of them: a
// product shares each sum out among workgroups.
const (
	fewResults = 1 << 15
	longSum    = 256
)

func (c *Convolution) starved() bool {
	return !c.t.CPU && c.groups == 1 && c.Depth() >= longSum && c.filters*strided.Product(c.places()) < fewResults
}

// longRows reports whether rows of results are long enough for the host to sum them side by side.
func (c *Convolution) longRows() bool {
	const least = 8
	return len(c.axes) > 0 && c.axes[len(c.axes)-1].out >= least
}

// onePoint reports whether a filter sees one element, and every element in turn. On a GPU it may see every second one, say, where
// that pays: see copies.
func (c *Convolution) onePoint() bool {
	for i := range c.axes {
		if x := &c.axes[i]; x.taps != 1 || x.gap != 1 || x.low != 0 || (x.out-1)*x.stride >= x.extent {
			return false
		}
	}
	return c.groups == 1 && (!c.skips() || c.copies())
}

// copiedCost is how much longer a copy and a product of it may take by the models than the product that gathers, which is
// modelled as one of matrices, and takes two to five times as long where it is chosen against.
const copiedCost = 2

// copies reports whether the elements that filters see are copied for a product of each batch. That pays where tiles that gather run over
// batches, so that a copy brings their sums to their places, and look each element up for few of them. With fewer filters than a
// tile has rows, a product reads what it multiplies once, as gathering does. Of 25 drawn convolutions of an
// H200 that are copied the worst takes 1.16 times as long as gathered, the median 0.55 times.
func (c *Convolution) copies() bool {
	if c.t.CPU || c.Depth() < longSum || c.filters < gemm.LeastRows || c.onHardware() != nil {
		return false
	}
	if _, inPlace := c.gatherOrder(); inPlace {
		return false
	}
	t, g, all := dot.GEMMTarget(c.t), c.gather(), c.gathered()
	if !g.FewRows(&all, t) {
		return false
	}
	each := all
	each.N, each.Batch = all.N/c.batch, c.batch
	bytes := 2 * all.N * c.channels * c.wide.Size()
	return each.Seconds(t)+gemm.Moved(bytes) <= copiedCost*all.Seconds(t)
}

// skips reports whether filters that see one element leave elements out.
func (c *Convolution) skips() bool {
	return slices.ContainsFunc(c.axes, func(x convAxis) bool { return x.out != x.extent })
}

// The dimensions of a result as dense takes them; those of space follow.
const (
	ofBatch = iota
	ofFilters
	ofSpace
)

// dense reports whether the result lies in memory as a matrix whose dimensions follow each other so: filters before batches before space,
// say. Space stands for all of its axes.
func (c *Convolution) dense(order ...int) bool {
	var dims, at []int
	for _, o := range order {
		switch o {
		case ofBatch:
			dims, at = append(dims, c.batch), append(at, c.resultAt[0])
		case ofFilters:
			dims, at = append(dims, c.groups*c.filters), append(at, c.resultAt[1])
		case ofSpace:
			dims, at = append(dims, c.places()[1:]...), append(at, c.resultAt[2:]...)
		}
	}
	n := 1
	for i, d := range slices.Backward(dims) {
		if d > 1 && at[i] != n {
			return false
		}
		n *= d
	}
	return true
}

// channelsLast reports whether neighbours of the result are filters of a place,
// so that matrices of places by filters are what to compute.
func (c *Convolution) channelsLast() bool { return c.resultAt[1] == 1 && c.filters > 1 }

// kernelMatrix is the filters as a matrix of rows of depth elements.
func (c *Convolution) kernelMatrix(d *dot.Builder) (lowering.Ref, gemm.Strides, error) {
	perm := c.In.Attrs[ops.ConvKernelPermutation]
	m, err := d.AddOperand(c.In, c.types, 1, dot.Axes{Shape: c.types[1].Shape, Outer: perm[:1], Contract: perm[1:], Left: true})
	return m.Ref, gemm.Strides{Row: m.Free, Col: m.Contract, Batch: c.filters * m.Free}, err
}

// product begins a plan.
func (c *Convolution) product() *dot.Builder {
	return &dot.Builder{Plan: &lowering.Plan{Alias: -1}, Target: c.t, Wide: c.wide, Instr: c.In, After: c.after}
}

// pointOrder is the order of the dimensions of the result of pointProduct.
func (c *Convolution) pointOrder() []int {
	if c.channelsLast() {
		return []int{ofBatch, ofSpace, ofFilters}
	}
	return []int{ofBatch, ofFilters, ofSpace}
}

// pointProduct multiplies the filters with the input as it lies, or with what they see of it.
func (c *Convolution) pointProduct() (*lowering.Plan, error) {
	d := c.product()
	places := strided.Product(c.places()[1:])
	d.Operands = c.operands(c.filters, places)
	d.Matrix = d.Operands != ops.Invalid
	rows, columns := c.filters, places
	if c.channelsLast() {
		rows, columns = columns, rows
	}
	if narrow := dot.Narrow(c.types, c.wide, c.t); narrow != ops.Invalid &&
		gemm.Slim(narrow, rows, columns, c.channels, c.batch, dot.GEMMTarget(c.t)) {
		d.Operands, d.Matrix = narrow, false
	}
	kernel, strides, err := c.kernelMatrix(d)
	if err != nil {
		return nil, err
	}
	perm := c.In.Attrs[ops.ConvInputPermutation]
	input, typ, err := c.seenInput(d)
	if err != nil {
		return nil, err
	}
	m, err := d.AddTensor(input, typ, dot.Axes{Shape: typ.Shape, Batch: perm[:1], Outer: perm[2:], Contract: perm[1:2]})
	if err != nil {
		return nil, err
	}
	strides.Batch = 0
	b := whole(c.places())
	p := filtering{kernel: kernel, patches: m.Ref, Problem: gemm.Problem{Type: c.wide,
		M: c.filters, N: b.size() / c.batch, K: c.channels, Batch: c.batch, A: strides, Operands: d.Operands,
		B: gemm.Strides{Row: m.Contract, Col: m.Free, Batch: m.Batch}}}
	p.last = c.channelsLast()
	if c.dense(c.pointOrder()...) {
		return d.Plan, p.result(d)
	}
	sums := d.NewTemp(p.Batch * p.M * p.N * c.wide.Size())
	if err := p.to(d, sums); err != nil {
		return nil, err
	}
	s := sumsView{ref: sums, filter: p.N, place: 1, batch: p.M * p.N}
	if p.last {
		s.filter, s.place = 1, p.M
	}
	return d.Plan, c.place(d, b, s)
}

// seenInput gives the input, or a copy of the elements that filters of one element see.
func (c *Convolution) seenInput(d *dot.Builder) (lowering.Ref, ops.Type, error) {
	input, typ := lowering.Ref{Kind: lowering.Operand, Index: 0}, c.types[0]
	if !c.skips() {
		return input, typ, nil
	}
	lengths, strides := slices.Clone(typ.Shape), slices.Repeat([]int{1}, len(typ.Shape))
	for i, ax := range c.In.Attrs[ops.ConvInputPermutation][2:] {
		lengths[ax], strides[ax] = c.axes[i].out, c.axes[i].stride
	}
	part := ops.Type{DType: typ.DType, Shape: lengths}
	to := d.NewTemp(part.Bytes())
	return to, part, d.AddSlice(typ, lengths, strides, input, to)
}

// InOrder reports whether the kernels of a convolution have its results as these lie in
// memory.
func (c *Convolution) InOrder() bool {
	switch {
	case c.thin():
		return false
	case c.onePoint():
		return c.dense(c.pointOrder()...)
	}
	if h := c.onHardware(); h != nil {
		return h.inPlace
	}
	if c.gathers() {
		_, ok := c.gatherOrder()
		return ok
	}
	return len(c.parts()) == 1 && c.patchOrder() != nil
}
