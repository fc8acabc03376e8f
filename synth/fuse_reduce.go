package synth

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/kernel"
)

// foldedUnit is a unit with reductions, all along the same axes of tensors that
// lie alike.
type foldedUnit struct {
	*trace
	unit  *Unit
	lie   reduceShape
	folds []int // expressions
}

// foldOf gives the first reduction of a unit, or nil.
func (u *Unit) foldOf() *ops.Instr {
	for i := range u.Body {
		if u.Body[i].Op.Info().Kind == ops.Reduce {
			return &u.Body[i]
		}
	}
	return nil
}

// lowerFolded plans a unit with reductions.
func lowerFolded(u *Unit, tr *trace, t *Target) (*Plan, error) {
	f := &foldedUnit{trace: tr, unit: u, lie: tr.lie}
	for i := range tr.exprs {
		if tr.exprs[i].kind == exprFold {
			f.folds = append(f.folds, i)
		}
	}
	if !f.needsRows() {
		return f.reduce(t).plan(t)
	}
	held, _ := t.rows(&f.lie)
	return f.inRows(held).plan(t)
}

// operator is the operator of expression i, a reduction.
func (f *foldedUnit) operator(i int) fold {
	x := &f.exprs[i]
	return fold{x.in.Op, computes(x.in, x.types)}
}

// reduce is the job that carries out a unit whose results are there when the
// totals are.
func (f *foldedUnit) reduce(t *Target) *reduceJob {
	j := &reduceJob{key: f.key(), lie: f.lie, kept: f.dims[:f.kept], reduced: f.dims[f.kept:]}
	var args []int
	for _, i := range f.folds {
		j.folds = append(j.folds, f.operator(i))
		args = append(args, f.exprs[i].args[0])
	}
	before := f.needed(args)
	var still, full []int // sources
	for s := range f.sources {
		if !before.sources[s] {
			continue
		}
		r := f.reduceSource(s)
		if r.still || r.kind == fromLiteral {
			still = append(still, s)
		} else {
			full = append(full, s)
		}
		j.ins = append(j.ins, r)
	}
	j.point = func(e *emitter, kept []kernel.Value) elementFunc {
		p := f.newPoint()
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
					out[n] = append(out[n], j.folds[k].element(e, p.values[a], f.exprs[a].typ)...)
				}
			}
			return out, nil
		}
	}
	f.finish(j)
	return j
}

// finish makes the results of the totals.
func (f *foldedUnit) finish(j *reduceJob) {
	after := f.needed(f.outs)
	var loaded []int
	var views []*view
	j.finish.dims = f.dims[:f.kept]
	for s := range f.sources {
		if !after.sources[s] {
			continue
		}
		loaded = append(loaded, s)
		src := f.sources[s]
		if src.kind != fromLiteral {
			src.strides = src.strides[:f.kept]
		}
		j.finish.ins = append(j.finish.ins, src)
	}
	for i := range j.finish.ins {
		if s := &j.finish.ins[i]; s.kind != fromLiteral {
			views = append(views, &s.view)
		}
	}
	j.finish.dims = collapse(j.finish.dims, views)
	for i, o := range f.unit.Outs {
		j.finish.outs = append(j.finish.outs, bufferOf(Ref{Result, i}, o.Type.DType))
	}
	j.finish.make = func(e *emitter, totals, xs []kernel.Value) ([]kernel.Value, error) {
		p := f.newPoint()
		for _, i := range f.folds {
			n := f.partsOf(i)
			f.total(e, p, i, totals[:n])
			totals = totals[n:]
		}
		if err := f.each(e, []*point{p}, after, loaded, [][]kernel.Value{xs}, false); err != nil {
			return nil, err
		}
		var vs []kernel.Value
		for _, i := range f.outs {
			vs = append(vs, p.store(e, i, f.exprs[i].typ)...)
		}
		return vs, nil
	}
}

// partsOf is how many values the total of expression i, a reduction, is.
func (f *foldedUnit) partsOf(i int) int {
	o := f.operator(i)
	return o.parts()
}

// total gives expression i, a reduction, its value.
func (f *foldedUnit) total(e *emitter, p *point, i int, total []kernel.Value) {
	d := f.exprs[i].typ
	p.stored[i] = e.finished(total, f.operator(i).compute, d)
	p.values[i] = e.restored(d, p.stored[i])
}

// each computes, at some points, the needed expressions that are the same for all
// elements of an output, or those that are not. loaded has the given sources.
func (f *foldedUnit) each(e *emitter, ps []*point, n *needs, sources []int, loaded [][]kernel.Value, full bool) error {
	for i := range f.exprs {
		x := &f.exprs[i]
		if !n.exprs[i] || x.full != full || x.kind == exprFold {
			continue
		}
		var vs [][]kernel.Value
		if x.kind == exprSource {
			for p := range ps {
				vs = append(vs, f.among(sources, x.source, loaded[p]))
			}
		}
		if err := f.compute(e, ps, i, vs); err != nil {
			return err
		}
	}
	return nil
}

// among is what source s gives, one of some whose values are loaded.
func (tr *trace) among(sources []int, s int, loaded []kernel.Value) []kernel.Value {
	for _, other := range sources {
		n := tr.sources[other].parts()
		if other == s {
			return loaded[:n:n]
		}
		loaded = loaded[n:]
	}
	panic("BUG: a source that is not loaded")
}

// reduceSource is source s as a reduction sees it.
func (f *foldedUnit) reduceSource(s int) reduceSource {
	r := reduceSource{source: f.sources[s], still: !f.isFull(f.sources[s])}
	if r.kind != fromLiteral {
		r.keptAt.strides, r.reducedAt.strides = r.strides[:f.kept:f.kept], r.strides[f.kept:]
	}
	return r
}

// needs is what some expressions are made of, without reductions' operands.
type needs struct {
	exprs   []bool
	sources []bool
}

func (tr *trace) needed(roots []int) *needs {
	n := &needs{make([]bool, len(tr.exprs)), make([]bool, len(tr.sources))}
	for _, r := range roots {
		n.exprs[r] = true
	}
	for i := len(tr.exprs) - 1; i >= 0; i-- {
		x := &tr.exprs[i]
		switch {
		case !n.exprs[i] || x.kind == exprFold:
		case x.kind == exprSource:
			n.sources[x.source] = true
		default:
			for _, a := range x.args {
				n.exprs[a] = true
			}
		}
	}
	return n
}

// key is the text of the unit: all that its code depends on, but for how its
// sources lie.
func (f *foldedUnit) key() string {
	return fmt.Sprintf("unit %s%v", f.describe(), f.outs)
}
