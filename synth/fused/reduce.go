package fused

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/fusion"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/reduction"
	"nxvk/synth/strided"
)

// foldedFusion is a fusion with reductions, all along the same axes of tensors that
// lie alike.
type foldedFusion struct {
	*fusion.DAG
	fusion *fusion.Fusion
	lie    strided.Reduction
	folds  []int // expressions
}

// lowerFolded plans a fusion with reductions.
func lowerFolded(u *fusion.Fusion, dag *fusion.DAG, t *lowering.Target) (*lowering.Plan, error) {
	f := newFolded(u, dag)
	if held, ok := f.rowsHeld(t); ok {
		return codegen.NewPlan(t, nil, f.inRows(held).program(t))
	}
	return f.reduce(t).Plan(t)
}

func newFolded(u *fusion.Fusion, dag *fusion.DAG) *foldedFusion {
	f := &foldedFusion{DAG: dag, fusion: u, lie: dag.Layout}
	for i := range dag.Exprs {
		if dag.Exprs[i].Kind == fusion.ExprFold {
			f.folds = append(f.folds, i)
		}
	}
	return f
}

// rowsHeld reports whether the kernel of whole rows carries out the fusion, and how many fours of a part it keeps.
func (f *foldedFusion) rowsHeld(t *lowering.Target) (held int, ok bool) {
	if !f.needsRows() {
		return 0, false
	}
	held, _ = strided.RowsHeld(t, &f.lie)
	return held, true
}

// operator is the operator of expression i, a reduction.
func (f *foldedFusion) operator(i int) reduction.Operator {
	x := &f.Exprs[i]
	return reduction.Operator{Op: x.In.Op, Compute: codegen.ComputeClass(x.In, x.Types)}
}

// reduce is the job of a fusion whose results depend on totals alone.
func (f *foldedFusion) reduce(t *lowering.Target) *reduction.Job {
	j := &reduction.Job{Key: f.key(), Layout: f.lie, Kept: f.Dims[:f.Kept], Reduced: f.Dims[f.Kept:]}
	var args []int
	for _, i := range f.folds {
		j.Folds = append(j.Folds, f.operator(i))
		args = append(args, f.Exprs[i].Args[0])
	}
	before := needed(f.DAG, args)
	var still, full []int // sources
	for s := range f.Sources {
		if !before.sources[s] {
			continue
		}
		r := f.reduceSource(s)
		if r.Still || r.Kind == codegen.FromLiteral {
			still = append(still, s)
		} else {
			full = append(full, s)
		}
		j.Ins = append(j.Ins, r)
	}
	j.Point = func(e *codegen.Emitter, kept []kernel.Value) reduction.ElementFunc {
		p := newPoint(f.DAG)
		err := f.each(e, []*point{p}, before, still, [][]kernel.Value{kept}, false)
		return func(loaded [][]kernel.Value) ([][]kernel.Value, error) {
			if err != nil {
				return nil, err
			}
			ps := make([]*point, len(loaded))
			for n := range ps {
				ps[n] = p.clone()
			}
			if err := f.each(e, ps, before, full, loaded, true); err != nil {
				return nil, err
			}
			out := make([][]kernel.Value, len(ps))
			for n, p := range ps {
				for k, a := range args {
					out[n] = append(out[n], j.Folds[k].Convert(e, p.values[a], f.Exprs[a].Type)...)
				}
			}
			return out, nil
		}
	}
	f.finish(j)
	return j
}

// finish computes the results from the totals.
func (f *foldedFusion) finish(j *reduction.Job) {
	after := needed(f.DAG, f.Outs)
	var loaded []int
	var views []*strided.View
	j.Finish.Dims = f.Dims[:f.Kept]
	for s := range f.Sources {
		if !after.sources[s] {
			continue
		}
		loaded = append(loaded, s)
		src := f.Sources[s]
		if src.Kind != codegen.FromLiteral {
			src.Strides = src.Strides[:f.Kept]
		}
		j.Finish.Ins = append(j.Finish.Ins, src)
	}
	for i := range j.Finish.Ins {
		if s := &j.Finish.Ins[i]; s.Kind != codegen.FromLiteral {
			views = append(views, &s.View)
		}
	}
	j.Finish.Dims = strided.Collapse(j.Finish.Dims, views)
	for i, o := range f.fusion.Outs {
		j.Finish.Outs = append(j.Finish.Outs, codegen.BufferOf(lowering.Ref{Kind: lowering.Result, Index: i}, o.Type.DType))
	}
	j.Finish.Make = func(e *codegen.Emitter, totals, xs []kernel.Value) ([]kernel.Value, error) {
		p := newPoint(f.DAG)
		for _, i := range f.folds {
			n := f.partsOf(i)
			f.total(e, p, i, totals[:n])
			totals = totals[n:]
		}
		if err := f.each(e, []*point{p}, after, loaded, [][]kernel.Value{xs}, false); err != nil {
			return nil, err
		}
		var vs []kernel.Value
		for _, i := range f.Outs {
			vs = append(vs, p.store(e, i, f.Exprs[i].Type)...)
		}
		return vs, nil
	}
}

// partsOf is the number of values that represent the total of expression i, a
// reduction.
func (f *foldedFusion) partsOf(i int) int {
	o := f.operator(i)
	return o.Parts()
}

// total gives expression i, a reduction, its value.
func (f *foldedFusion) total(e *codegen.Emitter, p *point, i int, total []kernel.Value) {
	d := f.Exprs[i].Type
	p.raw[i] = e.ConvertResult(total, f.operator(i).Compute, d)
	p.values[i], p.stored[i] = e.Settle(d, p.raw[i])
}

// each computes the needed expressions at some points: those that differ between
// the elements of an output if full is set, else the others. loaded has the values
// of the given sources.
func (f *foldedFusion) each(e *codegen.Emitter, ps []*point, n *needs, sources []int, loaded [][]kernel.Value, full bool) error {
	for i := range f.Exprs {
		x := &f.Exprs[i]
		if !n.exprs[i] || x.Full != full || x.Kind == fusion.ExprFold {
			continue
		}
		var vs [][]kernel.Value
		if x.Kind == fusion.ExprSource {
			for p := range ps {
				vs = append(vs, among(f.DAG, sources, x.Source, loaded[p]))
			}
		}
		if err := compute(f.DAG, e, ps, i, vs); err != nil {
			return err
		}
	}
	return nil
}

// among returns the loaded values of source s.
func among(dag *fusion.DAG, sources []int, s int, loaded []kernel.Value) []kernel.Value {
	for _, other := range sources {
		n := dag.Sources[other].Parts()
		if other == s {
			return loaded[:n:n]
		}
		loaded = loaded[n:]
	}
	panic("BUG: a source that is not loaded")
}

// reduceSource is source s as a source of a reduction job.
func (f *foldedFusion) reduceSource(s int) reduction.Source {
	r := reduction.Source{Source: f.Sources[s], Still: !f.IsFull(f.Sources[s])}
	if r.Kind != codegen.FromLiteral {
		r.KeptAt.Strides, r.ReducedAt.Strides = r.Strides[:f.Kept:f.Kept], r.Strides[f.Kept:]
	}
	return r
}

// needs lists the expressions and sources that some expressions depend on, up to
// reductions.
type needs struct {
	exprs   []bool
	sources []bool
}

func needed(dag *fusion.DAG, roots []int) *needs {
	n := &needs{make([]bool, len(dag.Exprs)), make([]bool, len(dag.Sources))}
	for _, r := range roots {
		n.exprs[r] = true
	}
	for i := len(dag.Exprs) - 1; i >= 0; i-- {
		x := &dag.Exprs[i]
		switch {
		case !n.exprs[i] || x.Kind == fusion.ExprFold:
		case x.Kind == fusion.ExprSource:
			n.sources[x.Source] = true
		default:
			for _, a := range x.Args {
				n.exprs[a] = true
			}
		}
	}
	return n
}

// key is the text of the fusion. Its code depends on this text and on the layout of
// its sources.
func (f *foldedFusion) key() string {
	return fmt.Sprintf("fusion %s%v", describe(f.DAG), f.Outs)
}
