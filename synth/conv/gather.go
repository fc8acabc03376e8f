package conv

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/dot"
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
	"nxvk/synth/movement"
	"nxvk/synth/strided"
)

// tilePlaces is how many places a tile has.
const tilePlaces = 128

// fills reports whether tiles for each batch leave little of the last one idle.
// Where they do not, tiles run over batches, even if the sums are then to be
// copied to their places.
func (c *Convolution) fills() bool {
	n := strided.Product(c.places()[1:])
	tiles := (n + tilePlaces - 1) / tilePlaces
	return 7*tiles*tilePlaces <= 8*n
}

// gathers reports whether a GPU can take the patches from the input as it lies.
func (c *Convolution) gathers() bool {
	g, p := c.gather(), c.gathered()
	return g.Gathers(&p, dot.GEMMTarget(c.t))
}

// gathered is the product of each group of filters with all of its places.
func (c *Convolution) gathered() gemm.Problem {
	return gemm.Problem{Type: c.wide, M: c.filters, N: strided.Product(c.places()), K: c.Depth(), Batch: c.groups}
}

// gather describes the patches of each group, places running over batches.
func (c *Convolution) gather() *gemm.Gather {
	g := &gemm.Gather{Size: c.types[0].Size(), Groups: c.groups,
		Channel: c.channelAt, Group: c.groupAt, Outer: c.batchAt}
	for i := range c.axes {
		x := &c.axes[i]
		g.Axes = append(g.Axes, gemm.Axis{Out: x.out, Taps: x.taps, Stride: x.stride, Step: x.step,
			Low: x.low, Gap: x.gap, Extent: x.extent, At: x.at})
	}
	return g
}

// gatherProduct multiplies the filters with patches that are never laid out. The
// sums come as the result lies where they can: a matrix for each batch, or for
// all of them.
func (c *Convolution) gatherProduct() (*lowering.Plan, error) {
	d := c.product()
	filters, strides, err := c.kernelMatrix(d)
	if err != nil {
		return nil, err
	}
	input, err := c.spread(d)
	if err != nil {
		return nil, err
	}
	p, g := c.gathered(), c.gather()
	p.A = strides
	order, inPlace := c.gatherOrder()
	if order[0] == ofBatch {
		p.N, p.Batch, g.Batch = p.N/c.batch, c.batch*c.groups, c.batchAt
	}
	plan, err := gemm.NewGather(p, g, dot.GEMMTarget(c.t))
	if inPlace {
		return d.Plan, d.AddResult(plan, err, filters, input)
	}
	sums := d.NewTemp(p.Batch * p.M * p.N * c.wide.Size())
	if err := d.AddSteps(plan, err, filters, input, sums); err != nil {
		return nil, err
	}
	return d.Plan, c.arrange(d, sums, order)
}

// gatherOrder is the order of the dimensions of the result of gatherProduct. It
// reports whether the instruction's result has this order.
func (c *Convolution) gatherOrder() (order []int, inPlace bool) {
	order = []int{ofFilters, ofBatch, ofSpace}
	if c.dense(order...) {
		return order, true
	}
	if apart := []int{ofBatch, ofFilters, ofSpace}; c.fills() && c.dense(apart...) {
		return apart, true
	}
	return order, false
}

// spread gives the input in the wide type, and with neighbours in space as
// neighbours in memory where they are channels: the kernels look at places side
// by side.
func (c *Convolution) spread(d *dot.Builder) (lowering.Ref, error) {
	input, from, perm := lowering.Ref{Kind: lowering.Operand, Index: 0}, c.types[0], c.In.Attrs[ops.ConvInputPermutation]
	if from.DType != c.wide {
		to := d.NewTemp(from.Size() * c.wide.Size())
		if err := d.AddConversion(from, c.wide, input, nil, to); err != nil {
			return input, err
		}
		input, from.DType = to, c.wide
	}
	plain := make(ops.Shape, len(perm))
	for i, ax := range perm {
		plain[i] = from.Shape[ax]
	}
	if c.channelAt != 1 || plain[1] == 1 || plain[2:].Size() == 1 || from.Size() < movement.MinTiled {
		return input, nil
	}
	to := d.NewTemp(from.Bytes())
	if err := d.AddTranspose(from, perm, input, to); err != nil {
		return input, err
	}
	at := plain.Strides()
	c.walk(at)
	return to, nil
}

// arrange appends a copy of the sums, whose dimensions lie in an order, to the
// result.
func (c *Convolution) arrange(d *dot.Builder, sums lowering.Ref, order []int) error {
	places := c.places()
	size := map[int]int{ofBatch: c.batch, ofFilters: c.groups * c.filters, ofSpace: strided.Product(places[1:])}
	at := map[int]int{}
	n := 1
	for _, o := range slices.Backward(order) {
		at[o] = n
		n *= size[o]
	}
	if c.wide != c.In.Outs[0].Type.DType {
		return c.place(d, whole(places), sumsView{ref: sums, group: c.filters * at[ofFilters],
			filter: at[ofFilters], batch: at[ofBatch], place: at[ofSpace]})
	}
	plain := append([]int{c.batch, c.groups * c.filters}, places[1:]...)
	from, back := make(ops.Shape, len(plain)), make([]int, len(plain))
	for i, ax := range c.In.Attrs[ops.ConvOutputPermutation] {
		k := i
		if i < ofSpace {
			k = slices.Index(order, i)
		}
		from[k], back[ax] = plain[i], k
	}
	return d.AddTranspose(ops.Type{DType: c.wide, Shape: from}, back, sums, lowering.Ref{Kind: lowering.Result, Index: 0})
}
