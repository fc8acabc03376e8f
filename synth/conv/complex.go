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
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
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
	*dot.Builder
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
func lowerComplexConv(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	wide, a := in.Outs[0].Type.DType.Wide(), in.Attrs
	c := &complexConv{&dot.Builder{Plan: &lowering.Plan{Alias: -1}, Target: t, Wide: wide}, types}
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
	p, err := Lower(&plain, []ops.Type{{DType: wide.Real(), Shape: joined(image.dims, 1, 4)},
		{DType: wide.Real(), Shape: joined(joined(filters.dims, 3, 5), 0, 3)}}, t, nil)
	if err != nil {
		return nil, err
	}
	c.AddPlan(p, []lowering.Ref{image.ref, filters.ref}, sums.ref)
	return c.Plan, c.together(sums, result)
}

// realTensor is a dense temporary tensor of parts.
type realTensor struct {
	ref      lowering.Ref
	dims, at []int
}

func (c *complexConv) real(dims []int) realTensor {
	return realTensor{c.NewTemp(strided.Product(dims) * c.Wide.Real().Size()), dims, ops.Shape(dims).Strides()}
}

// joined makes dimensions from first up to end one.
func joined(dims []int, first, end int) ops.Shape {
	return slices.Concat(dims[:first], []int{strided.Product(dims[first:end])}, dims[end:])
}

// image takes the input apart: {batch, groups, parts, channels, space...}.
func (c *complexConv) image(b block) (realTensor, error) {
	to := c.real(slices.Insert(slices.Clone(b.dims), 2, 2))
	for part := range 2 {
		v := strided.View{Offset: part * to.at[2], Strides: slices.Delete(slices.Clone(to.at), 2, 3)}
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
			v := strided.View{Offset: of*to.at[1] + part*to.at[3],
				Strides: slices.Delete(slices.Delete(slices.Clone(to.at), 3, 4), 1, 2)}
			if err := c.apart(1, b, of^part, of < part, to.ref, v); err != nil {
				return to, err
			}
		}
	}
	return to, nil
}

// apart writes a part of the elements of an operand, or its negative.
func (c *complexConv) apart(operand int, b block, part int, minus bool, to lowering.Ref, v strided.View) error {
	from := c.types[operand].DType
	j := &elementwise.Job{Key: fmt.Sprintf("part %d of %v as %v minus=%v", part, from, c.Wide, minus), Dims: b.dims,
		Sources: []codegen.Source{{View: strided.View{Strides: b.at}, Buffer: codegen.BufferOf(lowering.Ref{Kind: lowering.Operand, Index: operand}, from)}},
		Out:     v, Result: codegen.BufferOf(to, c.Wide.Real())}
	j.Body = func(e *codegen.Emitter, xs []kernel.Value) (kernel.Value, error) {
		x := e.ReadParts(&j.Sources[0], from, c.Wide, xs)[part]
		if minus {
			x = e.Prim(scalar.Neg, codegen.WideType(c.Wide), x)
		}
		return x, nil
	}
	return c.Append(j)
}

// together makes the result of its parts.
func (c *complexConv) together(sums realTensor, b block) error {
	v := strided.View{Strides: slices.Delete(slices.Clone(sums.at), 2, 3)}
	im := strided.View{Offset: sums.at[2], Strides: slices.Clone(v.Strides)}
	from := codegen.BufferOf(sums.ref, c.Wide.Real())
	j := &elementwise.Job{Key: fmt.Sprintf("%v of parts", c.Wide), Dims: b.dims,
		Sources: []codegen.Source{{View: v, Buffer: from}, {View: im, Buffer: from}}, Out: strided.View{Strides: b.at}, Result: codegen.ResultBuffer(c.Wide)}
	j.Bodies = func(_ *codegen.Emitter, xs []kernel.Value) ([]kernel.Value, error) { return xs, nil }
	return c.Append(j)
}
