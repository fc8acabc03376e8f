package scan

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/elementwise"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// LowerProducts plans a running product. A product of complex numbers is computed
// by doubling (Hillis and Steele 1986): after the step that multiplies each
// element with the one d before it, d = 1, 2, 4, …, an element is the product of
// the 2d elements that end with it. Each step is two kernels, for the elements
// that have nothing so far before them and for the others. How a product
// associates follows from the length of the line alone.
func LowerProducts(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	d, s := types[0].DType, types[0].Shape
	if !d.IsComplex() {
		return Lower(in, types, t)
	}
	if in.Ins[0].Lit != nil || len(s) == 0 {
		return nil, lowering.Unsupported("a scan of a scalar")
	}
	axis := in.Attrs[0][0]
	j := &productScan{t: t, elem: d, outer: strided.Product(s[:axis]), n: s[axis], inner: strided.Product(s[axis+1:]),
		backward: in.Attrs[1][0] != 0, plan: &lowering.Plan{Alias: -1}}
	if j.n == 1 {
		return lowering.AliasOf(0), nil
	}
	from := codegen.BufferOf(lowering.Ref{Kind: lowering.Operand, Index: 0}, d)
	for step := 1; step < j.n; step *= 2 {
		to := codegen.ResultBuffer(d)
		if 2*step < j.n {
			j.plan.Temps = append(j.plan.Temps, int64(types[0].Bytes()))
			to.Ref = lowering.Ref{Kind: lowering.Temp, Index: len(j.plan.Temps) - 1}
		}
		if err := j.double(step, from, to); err != nil {
			return nil, err
		}
		from = to
	}
	return j.plan, nil
}

// productScan is a running product of lines of n elements.
type productScan struct {
	t               *lowering.Target
	elem            ops.DType
	outer, n, inner int
	backward        bool
	plan            *lowering.Plan
}

// span is the view of the elements of lines from a point on, counted from where
// the product begins.
func (j *productScan) span(first, count int) strided.View {
	if j.backward {
		first = j.n - first - count
	}
	return strided.View{Offset: first * j.inner, Strides: []int{j.n * j.inner, j.inner, 1}}
}

// double takes a step.
func (j *productScan) double(step int, from, to codegen.Buffer) error {
	rest := j.n - step
	begin := &elementwise.Job{Key: fmt.Sprintf("part of %v", j.elem), Dims: []int{j.outer, step, j.inner},
		Sources: []codegen.Source{{View: j.span(0, step), Buffer: from}}, Out: j.span(0, step), Result: to}
	begin.Bodies = func(_ *codegen.Emitter, xs []kernel.Value) ([]kernel.Value, error) { return xs, nil }
	others := &elementwise.Job{Key: fmt.Sprintf("products of %v", j.elem), Dims: []int{j.outer, rest, j.inner}, Flops: 1,
		Sources: []codegen.Source{{View: j.span(0, rest), Buffer: from}, {View: j.span(step, rest), Buffer: from}},
		Out:     j.span(step, rest), Result: to}
	others.Bodies = func(e *codegen.Emitter, xs []kernel.Value) ([]kernel.Value, error) {
		f, err := codegen.Expression(e.Target, ops.Multiply.Info().Code, j.elem, 2, 0)
		if err != nil {
			return nil, err
		}
		return e.EncodeParts(j.elem, e.InlineAll(f, xs)), nil
	}
	for _, job := range []*elementwise.Job{begin, others} {
		p, err := codegen.NewPlan(j.t, nil, job.Programs(j.t)...)
		if err != nil {
			return err
		}
		j.plan.Steps = append(j.plan.Steps, p.Steps...)
	}
	return nil
}
