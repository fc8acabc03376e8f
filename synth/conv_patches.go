package synth

import (
	"fmt"

	"nxvk/synth/gemm"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// The patches that are laid out at a time take at most so many bytes: on a
// processor they stay in its caches.
const (
	gpuPatchBytes = 128 << 20
	cpuPatchBytes = 4 << 20
	leastPlaces   = 64
)

// patchProduct lays out what the filters see, a row for each tap and a column
// for each place, and multiplies the filters with it: in parts, so that the
// memory for it is bounded.
func (c *convolution) patchProduct() (*Plan, error) {
	d := c.product()
	filters, strides, err := c.kernelMatrix(d)
	if err != nil {
		return nil, err
	}
	rows, parts := c.groups*c.depth(), c.parts()
	most := 0
	for _, b := range parts {
		most = max(most, b.pitch())
	}
	patches := d.temp(rows * most * c.wide.Size())
	if len(parts) == 1 {
		if done, err := c.inPlace(d, parts[0], filters, patches, strides); done {
			return d.plan, err
		}
	}
	sums := d.temp(c.groups * c.filters * most * c.wide.Size())
	for _, b := range parts {
		if err := d.run(c.patches(b, patches)); err != nil {
			return nil, err
		}
		p := c.problem(b, filters, patches, strides)
		if err := p.to(d, sums); err != nil {
			return nil, err
		}
		s := sumsView{ref: sums, group: p.M * p.N, filter: p.N, place: 1, batch: b.size() / b.n[0]}
		if p.last {
			s.filter, s.place, s.batch = 1, p.M, p.M*s.batch
		}
		if err := c.place(d, b, s); err != nil {
			return nil, err
		}
	}
	return d.plan, nil
}

// parts are the places whose patches are laid out at a time.
func (c *convolution) parts() []box {
	limit := gpuPatchBytes
	if c.t.CPU {
		limit = cpuPatchBytes
	}
	return cut(c.places(), max(leastPlaces, limit/(c.groups*c.depth()*c.wide.Size())))
}

// problem is the product of each group for the places of a box, counted with
// those that fill up the last four.
func (c *convolution) problem(b box, filters, patches Ref, strides gemm.Strides) filtering {
	n := b.pitch()
	return filtering{kernel: filters, patches: patches, last: c.channelsLast(),
		Problem: gemm.Problem{Type: c.wide, M: c.filters, N: n, K: c.depth(), Batch: c.groups, A: strides,
			B: gemm.Strides{Row: n, Col: 1, Batch: c.depth() * n}}}
}

// inPlace computes all places at once, where the product lies as the result
// does. It reports false where it does not.
func (c *convolution) inPlace(d *dot, b box, filters, patches Ref, strides gemm.Strides) (bool, error) {
	order := c.patchOrder()
	if order == nil {
		return false, nil
	}
	p := c.problem(b, filters, patches, strides)
	p.N = b.size()
	if order[0] == ofBatch && !p.last {
		p.N, p.Batch = b.size()/c.batch, c.batch
		p.A.Batch, p.B.Batch = 0, p.N
	}
	if err := d.run(c.patches(b, patches)); err != nil {
		return true, err
	}
	return true, p.result(d)
}

// patchOrder is the order of the dimensions in which patches of all places give the
// result as it lies; nil where they give it in none.
func (c *convolution) patchOrder() []int {
	last := c.channelsLast()
	for _, order := range [][]int{{ofBatch, ofSpace, ofFilters}, {ofFilters, ofBatch, ofSpace}, {ofBatch, ofFilters, ofSpace}} {
		if last == (order[2] == ofFilters) && (c.groups == 1 || order[0] == ofFilters) && c.dense(order...) {
			return order
		}
	}
	return nil
}

// filtering is the product of filters and patches, in either order.
type filtering struct {
	gemm.Problem      // filters by places
	last         bool // computes places by filters
	kernel       Ref
	patches      Ref
}

func (p *filtering) to(d *dot, c Ref) error {
	if p.last {
		return d.product(p.Transposed(), p.patches, p.kernel, c)
	}
	return d.product(p.Problem, p.kernel, p.patches, c)
}

// result is to where the product is the result.
func (p *filtering) result(d *dot) error {
	q, a, b := p.Problem, p.kernel, p.patches
	if p.last {
		q, a, b = p.Transposed(), b, a
	}
	plan, err := gemm.New(q, d.t.gemm())
	return d.result(plan, err, a, b)
}

// run appends programs.
func (d *dot) run(programs ...*program) error {
	for _, p := range programs {
		s, err := d.t.step(p)
		if err != nil {
			return err
		}
		d.plan.Steps = append(d.plan.Steps, s)
	}
	return nil
}

// patchJob lays out the patches of a box: row ((g, channel), taps...), column
// (batch, space...). Four neighbours of a row are one step.
type patchJob struct {
	*convolution
	box
}

func (c *convolution) patches(b box, to Ref) *program {
	j := &patchJob{c, b}
	rows, pitch := c.groups*c.depth(), b.pitch()
	units := rows * pitch / 4
	local, steps := c.t.mapShape(4)
	from := c.types[0]
	p := &program{local: uint32(local), body: j.write, groups: (units + local*steps - 1) / (local * steps),
		key:   fmt.Sprintf("patches of %v in %v gaps=%v steps=%d", from.DType, c.wide, c.gaps(), steps),
		index: indexType(max(4*units, from.Size())),
		bytes: int64(2 * 4 * units * c.wide.Size())}
	p.bufs = []buffer{
		{ref: Ref{Operand, 0}, elem: storage[from.DType], access: Read, bytes: int64(from.Bytes())},
		{ref: to, elem: storage[c.wide], access: Write, bytes: int64(4 * units * c.wide.Size())}}
	p.nums = []int{units, pitch / 4, b.size(), b.at[0] * c.batchAt, c.batchAt, c.groupAt, c.channelAt, c.channels}
	for i := range c.axes {
		x := &c.axes[i]
		p.nums = append(p.nums, b.n[i+1], x.taps)
		p.nums = append(p.nums, c.window(i, b.at[i+1])...)
	}
	return p
}

// gaps tells for each axis whether the input is spread along it.
func (c *convolution) gaps() []bool {
	gaps := make([]bool, len(c.axes))
	for i := range c.axes {
		gaps[i] = c.axes[i].gap > 1
	}
	return gaps
}

// write is the body of the kernel.
func (j *patchJob) write(e *emitter) error {
	units, quads, count, base := e.num(), e.num(), e.num(), e.num()
	batchAt, groupAt, channelAt, channels := e.num(), e.num(), e.num(), e.num()
	n, taps := make([]kernel.Value, len(j.axes)), make([]kernel.Value, len(j.axes))
	windows := make([]window, len(j.axes))
	for i := range j.axes {
		n[i], taps[i] = e.num(), e.num()
		windows[i] = e.window(j.axes[i].gap > 1)
	}
	_, steps := e.t.mapShape(4)
	e.forUnits(units, steps, func(u kernel.Value) {
		row, quad := e.divide(u, quads)
		tap := make([]kernel.Value, len(j.axes))
		for i := len(tap) - 1; i >= 0; i-- {
			row, tap[i] = e.divide(row, taps[i])
		}
		g, channel := e.divide(row, channels)
		from := e.Add(base, e.Add(e.Mul(g, groupAt), e.Mul(channel, channelAt)))
		first := e.Mul(quad, e.int(4))
		at := e.coordinates(first, n)
		xs := make([]kernel.Value, 4)
		for lane := range xs {
			valid := e.Compare(scalar.Lt, e.Add(first, e.int(lane)), count)
			spot := e.Add(from, e.Mul(at[0], batchAt))
			for i := range windows {
				valid, spot = windows[i].look(e, at[i+1], tap[i], valid, spot)
			}
			xs[lane] = j.seen(e, valid, spot)
			at = e.next(at, n)
		}
		e.Store(1, u, xs...)
	})
	return nil
}

// seen loads an element of the input, or gives the zero of padding.
func (c *convolution) seen(e *emitter, valid, at kernel.Value) kernel.Value {
	x := e.fetch(0, e.Select(valid, at, e.int(0)), 1)[0]
	x = e.convert(e.decode(c.types[0].DType, x), c.types[0].DType, c.wide)
	return e.Select(valid, x, e.Const(wide(c.wide), 0))
}
