package synth

import (
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// complexConv plans a convolution of complex tensors as one of real tensors with
// twice the channels and twice the filters. Within a group the real parts of all
// channels come before the imaginary ones, and a filter k is two,
//
//	[ re k  -im k ]   for the real part of the result,
//	[ im k   re k ]   for the imaginary one.
//
// The operands are taken apart so that nothing is permuted any more.
type complexConv struct {
	*dot
	types []ops.Type
}

// block is a tensor as {batch, groups, channels, space...} or, of filters,
// {groups, filters, channels, taps...}, with the stride of each dimension.
type block struct{ dims, at []int }

// blockOf permutes the dimensions of a tensor and cuts one of them into groups.
func blockOf(s ops.Shape, perm []int, axis, groups int) block {
	var b block
	strides := s.Strides()
	for i, p := range perm {
		n, at := s[p], strides[p]
		if i == axis {
			n /= groups
			b.dims, b.at = append(b.dims, groups), append(b.at, n*at)
		}
		b.dims, b.at = append(b.dims, n), append(b.at, at)
	}
	return b
}

// lowerComplexConv plans a convolution whose result is complex.
func lowerComplexConv(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	wide, a := in.Outs[0].Type.DType.Wide(), in.Attrs
	c := &complexConv{&dot{plan: &Plan{Alias: -1}, t: t, wide: wide}, types}
	groups := max(a[ops.ConvFeatureGroups][0], a[ops.ConvBatchGroups][0])
	image, err := c.image(blockOf(types[0].Shape, a[ops.ConvInputPermutation], 1, a[ops.ConvFeatureGroups][0]))
	if err != nil {
		return nil, err
	}
	filters, err := c.filters(blockOf(types[1].Shape, a[ops.ConvKernelPermutation], 0, groups))
	if err != nil {
		return nil, err
	}
	result := blockOf(in.Outs[0].Type.Shape, a[ops.ConvOutputPermutation], 1, groups)
	sums := c.real(slices.Insert(slices.Clone(result.dims), 2, 2))
	plain := *in
	plain.Attrs = slices.Clone(a)
	for _, p := range []int{ops.ConvInputPermutation, ops.ConvKernelPermutation, ops.ConvOutputPermutation} {
		plain.Attrs[p] = ops.AllAxes(len(a[p]))
	}
	plain.Outs = []ops.Result{{Type: ops.Type{DType: wide.Real(), Shape: joined(sums.dims, 1, 4)}}}
	p, err := lowerConv(&plain, []ops.Type{{DType: wide.Real(), Shape: joined(image.dims, 1, 4)},
		{DType: wide.Real(), Shape: joined(joined(filters.dims, 3, 5), 0, 3)}}, t, nil)
	if err != nil {
		return nil, err
	}
	c.include(p, []Ref{image.ref, filters.ref}, sums.ref)
	return c.plan, c.together(sums, result)
}

// realTensor is a dense temporary tensor of parts.
type realTensor struct {
	ref      Ref
	dims, at []int
}

func (c *complexConv) real(dims []int) realTensor {
	return realTensor{c.temp(product(dims) * c.wide.Real().Size()), dims, ops.Shape(dims).Strides()}
}

// joined makes dimensions from first up to end one.
func joined(dims []int, first, end int) ops.Shape {
	return slices.Concat(dims[:first], []int{product(dims[first:end])}, dims[end:])
}

// image takes the input apart: {batch, groups, parts, channels, space...}.
func (c *complexConv) image(b block) (realTensor, error) {
	to := c.real(slices.Insert(slices.Clone(b.dims), 2, 2))
	for part := range 2 {
		v := view{offset: part * to.at[2], strides: slices.Delete(slices.Clone(to.at), 2, 3)}
		if err := c.apart(0, b, part, false, to.ref, v); err != nil {
			return to, err
		}
	}
	return to, nil
}

// filters takes the kernel apart: {groups, parts of the result, filters, parts
// of the input, channels, taps...}.
func (c *complexConv) filters(b block) (realTensor, error) {
	to := c.real(slices.Insert(slices.Insert(slices.Clone(b.dims), 2, 2), 1, 2))
	for of := range 2 {
		for part := range 2 {
			v := view{offset: of*to.at[1] + part*to.at[3],
				strides: slices.Delete(slices.Delete(slices.Clone(to.at), 3, 4), 1, 2)}
			if err := c.apart(1, b, of^part, of < part, to.ref, v); err != nil {
				return to, err
			}
		}
	}
	return to, nil
}

// apart writes a part of the elements of an operand, or its negative.
func (c *complexConv) apart(operand int, b block, part int, minus bool, to Ref, v view) error {
	from := c.types[operand].DType
	j := &mapJob{key: fmt.Sprintf("part %d of %v as %v minus=%v", part, from, c.wide, minus), dims: b.dims,
		ins: []source{{view: view{strides: b.at}, buffer: bufferOf(Ref{Operand, operand}, from)}},
		out: v, to: bufferOf(to, c.wide.Real())}
	j.body = func(e *emitter, xs []kernel.Value) (kernel.Value, error) {
		x := e.number(&j.ins[0], from, c.wide, xs)[part]
		if minus {
			x = e.Prim(scalar.Neg, wide(c.wide), x)
		}
		return x, nil
	}
	return c.append(j)
}

// together makes the result of its parts.
func (c *complexConv) together(sums realTensor, b block) error {
	v := view{strides: slices.Delete(slices.Clone(sums.at), 2, 3)}
	im := view{offset: sums.at[2], strides: slices.Clone(v.strides)}
	from := bufferOf(sums.ref, c.wide.Real())
	j := &mapJob{key: fmt.Sprintf("%v of parts", c.wide), dims: b.dims,
		ins: []source{{view: v, buffer: from}, {view: im, buffer: from}}, out: view{strides: b.at}, to: result(c.wide)}
	j.bodies = func(_ *emitter, xs []kernel.Value) ([]kernel.Value, error) { return xs, nil }
	return c.append(j)
}

// append adds the steps of a job to the plan.
func (d *dot) append(j *mapJob) error {
	p, err := d.t.plan(nil, j.programs(d.t)...)
	if err != nil {
		return err
	}
	d.plan.Steps = append(d.plan.Steps, p.Steps...)
	return nil
}
