package synth

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/kernel"
)

// lowerProducts plans a running product. Of complex numbers it doubles: after a
// step that takes what is d elements before, d = 1, 2, 4, …, an element is the
// product of the 2d elements that end with it. Each step is two kernels, for the
// elements that have nothing so far before them and for the others. How a product
// associates follows from the length of the line alone.
func lowerProducts(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	d, s := types[0].DType, types[0].Shape
	if !d.IsComplex() {
		return lowerScan(in, types, t)
	}
	if in.Ins[0].Lit != nil || len(s) == 0 {
		return nil, unsupported("a scan of a scalar")
	}
	axis := in.Attrs[0][0]
	j := &productScan{t: t, elem: d, outer: product(s[:axis]), n: s[axis], inner: product(s[axis+1:]),
		backward: in.Attrs[1][0] != 0, plan: &Plan{Alias: -1}}
	if j.n == 1 {
		return alias(0), nil
	}
	from := bufferOf(Ref{Operand, 0}, d)
	for step := 1; step < j.n; step *= 2 {
		to := result(d)
		if 2*step < j.n {
			j.plan.Temps = append(j.plan.Temps, int64(types[0].Bytes()))
			to.ref = Ref{Temp, len(j.plan.Temps) - 1}
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
	t               *Target
	elem            ops.DType
	outer, n, inner int
	backward        bool
	plan            *Plan
}

// span is the view of the elements of lines from a point on, counted from where
// the product begins.
func (j *productScan) span(first, count int) view {
	if j.backward {
		first = j.n - first - count
	}
	return view{offset: first * j.inner, strides: []int{j.n * j.inner, j.inner, 1}}
}

// double takes a step.
func (j *productScan) double(step int, from, to buffer) error {
	rest := j.n - step
	begin := &mapJob{key: fmt.Sprintf("part of %v", j.elem), dims: []int{j.outer, step, j.inner},
		ins: []source{{view: j.span(0, step), buffer: from}}, out: j.span(0, step), to: to}
	begin.bodies = func(_ *emitter, xs []kernel.Value) ([]kernel.Value, error) { return xs, nil }
	others := &mapJob{key: fmt.Sprintf("products of %v", j.elem), dims: []int{j.outer, rest, j.inner}, flops: 1,
		ins: []source{{view: j.span(0, rest), buffer: from}, {view: j.span(step, rest), buffer: from}},
		out: j.span(step, rest), to: to}
	others.bodies = func(e *emitter, xs []kernel.Value) ([]kernel.Value, error) {
		f, err := e.t.expression(ops.Multiply.Info().Code, j.elem, 2, 0)
		if err != nil {
			return nil, err
		}
		return e.encoded(j.elem, e.InlineAll(f, xs)), nil
	}
	for _, job := range []*mapJob{begin, others} {
		p, err := j.t.plan(nil, job.programs(j.t)...)
		if err != nil {
			return err
		}
		j.plan.Steps = append(j.plan.Steps, p.Steps...)
	}
	return nil
}
