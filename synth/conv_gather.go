package synth

import "nxvk/synth/gemm"

// A batch of as many places fills tiles well: where there are fewer, tiles run
// over batches, even where the sums are then to be copied to their places.
const (
	leastGathered = 256
	leastInPlace  = 48
)

// gathers reports whether a GPU can take the patches from the input as it lies.
func (c *convolution) gathers() bool {
	g, p := c.gather(), c.gathered()
	return g.Gathers(&p, c.t.gemm())
}

// gathered is the product of each group of filters with all of its places.
func (c *convolution) gathered() gemm.Problem {
	return gemm.Problem{Type: c.wide, M: c.filters, N: product(c.places()), K: c.depth(), Batch: c.groups}
}

// gather describes the patches of each group, places running over batches.
func (c *convolution) gather() *gemm.Gather {
	g := &gemm.Gather{Size: c.types[0].Size(), Groups: c.groups,
		Channel: c.channelAt, Group: c.groupAt, Outer: c.batchAt}
	for i := range c.axes {
		x := &c.axes[i]
		g.Axes = append(g.Axes, gemm.Axis{Out: x.out, Taps: x.taps, Stride: x.stride, Step: x.step,
			Low: x.low, Gap: x.gap, Reach: x.reach, At: x.at})
	}
	return g
}

// gatherProduct multiplies the filters with patches that are never laid out. The
// sums come as the result lies where they can: a matrix for each batch, or for
// all of them.
func (c *convolution) gatherProduct() (*Plan, error) {
	d := &dot{plan: &Plan{Alias: -1}, t: c.t, wide: c.wide}
	filters, strides, err := c.kernelMatrix(d)
	if err != nil {
		return nil, err
	}
	input := Ref{Operand, 0}
	if from := c.types[0]; from.DType != c.wide {
		input = d.temp(from.Size() * c.wide.Size())
		if err := d.convert(from, c.wide, Ref{Operand, 0}, nil, input); err != nil {
			return nil, err
		}
	}
	p, g := c.gathered(), c.gather()
	p.A = strides
	s := sumsView{ref: Ref{Result, 0}, group: p.M * p.N, filter: p.N, place: 1, batch: p.N / c.batch}
	inPlace := c.dense(ofFilters, ofBatch, ofSpace)
	if byBatch := p.N/c.batch >= leastInPlace && c.dense(ofBatch, ofFilters, ofSpace); !inPlace && (byBatch || p.N/c.batch >= leastGathered) {
		p.N, p.Batch = p.N/c.batch, c.batch*c.groups
		g.Batch = c.batchAt
		s = sumsView{ref: s.ref, group: p.M * p.N, filter: p.N, place: 1, batch: c.groups * p.M * p.N}
		inPlace = byBatch
	}
	if !inPlace {
		s.ref = d.temp(p.Batch * p.M * p.N * c.wide.Size())
	}
	plan, err := gemm.NewGather(p, g, c.t.gemm())
	if err := d.steps(plan, err, filters, input, s.ref); err != nil || inPlace {
		return d.plan, err
	}
	return d.plan, c.place(d, whole(c.places()), s)
}
