package conv

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/dot"
	"nxvk/synth/elementwise"
	"nxvk/synth/gemm"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
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
func (c *Convolution) patchProduct() (*lowering.Plan, error) {
	d := c.product()
	filters, strides, err := c.kernelMatrix(d)
	if err != nil {
		return nil, err
	}
	rows, parts := c.groups*c.Depth(), c.parts()
	most := 0
	for _, b := range parts {
		most = max(most, b.pitch())
	}
	patches := d.NewTemp(rows * most * c.wide.Size())
	if len(parts) == 1 {
		if done, err := c.inPlace(d, parts[0], filters, patches, strides); done {
			return d.Plan, err
		}
	}
	sums := d.NewTemp(c.groups * c.filters * most * c.wide.Size())
	for _, b := range parts {
		if err := c.addPatches(d, b, patches); err != nil {
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
	return d.Plan, nil
}

// parts are the places whose patches are laid out at a time.
func (c *Convolution) parts() []box {
	limit := gpuPatchBytes
	if c.t.CPU {
		limit = cpuPatchBytes
	}
	return cut(c.places(), max(leastPlaces, limit/(c.groups*c.Depth()*c.wide.Size())))
}

// problem is the product of each group for the places of a box, counted with
// those that fill up the last four.
func (c *Convolution) problem(b box, filters, patches lowering.Ref, strides gemm.Strides) filtering {
	n := b.pitch()
	return filtering{kernel: filters, patches: patches, last: c.channelsLast(),
		Problem: gemm.Problem{Type: c.wide, M: c.filters, N: n, K: c.Depth(), Batch: c.groups, A: strides,
			B: gemm.Strides{Row: n, Col: 1, Batch: c.Depth() * n}}}
}

// inPlace computes all places at once, where the product lies as the result
// does. It reports false where it does not.
func (c *Convolution) inPlace(d *dot.Builder, b box, filters, patches lowering.Ref, strides gemm.Strides) (bool, error) {
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
	if err := c.addPatches(d, b, patches); err != nil {
		return true, err
	}
	return true, p.result(d)
}

// patchOrder is the order of the dimensions in which patches of all places give the
// result as it lies; nil where they give it in none.
func (c *Convolution) patchOrder() []int {
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
	kernel       lowering.Ref
	patches      lowering.Ref
}

func (p *filtering) to(d *dot.Builder, c lowering.Ref) error {
	q, a, b, err := p.operands(d)
	if err != nil {
		return err
	}
	return d.AddProduct(q, a, b, c)
}

// result is to where the product is the result.
func (p *filtering) result(d *dot.Builder) error {
	q, a, b, err := p.operands(d)
	if err != nil {
		return err
	}
	plan, err := gemm.New(q, dot.GEMMTarget(d.Target))
	return d.AddResult(plan, err, a, b)
}

// operands are the product and its operands in their order.
func (p *filtering) operands(d *dot.Builder) (q gemm.Problem, a, b lowering.Ref, err error) {
	q, a, b = p.Problem, p.kernel, p.patches
	if p.last {
		q, a, b = p.Transposed(), b, a
	}
	err = d.AlignRows(&q, &a, &b) // which may change them
	return q, a, b, err
}

// addPatches appends the step that lays out the patches of a box.
func (c *Convolution) addPatches(d *dot.Builder, b box, to lowering.Ref) error {
	if err := d.AddPrograms(c.patches(b, to)); err != nil {
		return err
	}
	d.Plan.Steps[len(d.Plan.Steps)-1].Routine = c.geometryOf(b).routine(true)
	return nil
}

// patchJob lays out the patches of a box: row ((g, channel), taps...), column
// (batch, space...). Four neighbours of a row are one step.
type patchJob struct {
	*Convolution
	box
}

func (c *Convolution) patches(b box, to lowering.Ref) *codegen.Program {
	j := &patchJob{c, b}
	rows, pitch := c.groups*c.Depth(), b.pitch()
	units := rows * pitch / 4
	local, steps := elementwise.Workgroup(c.t, 4)
	from := c.types[0]
	p := &codegen.Program{Local: uint32(local), Body: j.write, Groups: (units + local*steps - 1) / (local * steps),
		Key:   fmt.Sprintf("patches of %v in %v gaps=%v steps=%d", from.DType, c.wide, c.gaps(), steps),
		Index: codegen.IndexType(max(4*units, from.Size())),
		Bytes: int64(2 * 4 * units * c.wide.Size())}
	p.Buffers = []codegen.Buffer{
		{Ref: lowering.Ref{Kind: lowering.Operand, Index: 0}, Elem: lowering.ElemOf[from.DType], Access: lowering.Read, Bytes: int64(from.Bytes())},
		{Ref: to, Elem: lowering.ElemOf[c.wide], Access: lowering.Write, Bytes: int64(4 * units * c.wide.Size())}}
	p.Numbers = []int{units, pitch / 4, b.size(), b.at[0] * c.batchAt, c.batchAt, c.groupAt, c.channelAt, c.channels}
	for i := range c.axes {
		x := &c.axes[i]
		p.Numbers = append(p.Numbers, b.n[i+1], x.taps)
		p.Numbers = append(p.Numbers, c.window(i, b.at[i+1])...)
	}
	return p
}

// gaps tells for each axis whether the input is spread along it.
func (c *Convolution) gaps() []bool {
	gaps := make([]bool, len(c.axes))
	for i := range c.axes {
		gaps[i] = c.axes[i].gap > 1
	}
	return gaps
}

// write is the body of the kernel.
func (j *patchJob) write(e *codegen.Emitter) error {
	units, quads, count, base := e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	batchAt, groupAt, channelAt, channels := e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	n, taps := make([]kernel.Value, len(j.axes)), make([]kernel.Value, len(j.axes))
	windows := make([]window, len(j.axes))
	for i := range j.axes {
		n[i], taps[i] = e.NextNumber(), e.NextNumber()
		windows[i] = windowOf(e, j.axes[i].gap > 1)
	}
	_, steps := elementwise.Workgroup(e.Target, 4)
	e.ForUnits(units, steps, func(u kernel.Value) {
		row, quad := e.DivMod(u, quads)
		tap := make([]kernel.Value, len(j.axes))
		for i := len(tap) - 1; i >= 0; i-- {
			row, tap[i] = e.DivMod(row, taps[i])
		}
		g, channel := e.DivMod(row, channels)
		from := e.Add(base, e.Add(e.Mul(g, groupAt), e.Mul(channel, channelAt)))
		first := e.Mul(quad, e.Index(4))
		at := e.Coordinates(first, n)
		xs := make([]kernel.Value, 4)
		for component := range xs {
			valid := e.Compare(scalar.Lt, e.Add(first, e.Index(component)), count)
			offset := e.Add(from, e.Mul(at[0], batchAt))
			for i := range windows {
				valid, offset = windows[i].look(e, at[i+1], tap[i], valid, offset)
			}
			xs[component] = j.seen(e, valid, offset)
			at = next(e, at, n)
		}
		e.Store(1, u, xs...)
	})
	return nil
}

// seen loads an element of the input, or gives the zero of padding.
func (c *Convolution) seen(e *codegen.Emitter, valid, at kernel.Value) kernel.Value {
	x := e.Fetch(0, e.Select(valid, at, e.Index(0)), 1)[0]
	x = e.Cast(e.Decode(c.types[0].DType, x), c.types[0].DType, c.wide)
	return e.Select(valid, x, e.Const(codegen.WideType(c.wide), 0))
}
