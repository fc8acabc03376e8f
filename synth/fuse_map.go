package synth

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/kernel"
)

// lowerMap plans a unit whose results all have an element for each point of one
// space, and no reductions: one kernel.
func lowerMap(u *Unit, tr *trace, t *Target) (*Plan, error) {
	return t.plan(nil, tr.mapJob(u, t).programs(t)...)
}

// mapJob is the map of such a unit.
func (tr *trace) mapJob(u *Unit, t *Target) *mapJob {
	j := &mapJob{key: "unit " + tr.describe(), dims: tr.dims, ins: tr.sources, out: tr.full, flops: tr.flops()}
	j.long = tr.cost(t) > longBody
	for i, o := range u.Outs {
		b := bufferOf(Ref{Result, i}, o.Type.DType)
		if i == 0 {
			j.to = b
		} else {
			j.also = append(j.also, b)
		}
		j.key += fmt.Sprintf(" %d", tr.outs[i])
	}
	at := tr.places()
	j.groups = func(e *emitter, xs [][]kernel.Value) ([][]kernel.Value, error) {
		ps := tr.newPoints(len(xs))
		for i := range tr.exprs {
			loaded := make([][]kernel.Value, len(xs))
			if x := &tr.exprs[i]; x.kind == exprSource {
				for k := range xs {
					loaded[k] = xs[k][at[x.source]:at[x.source+1]]
				}
			}
			if err := tr.compute(e, ps, i, loaded); err != nil {
				return nil, err
			}
		}
		vs := make([][]kernel.Value, len(xs))
		for k, p := range ps {
			for _, i := range tr.outs {
				vs[k] = append(vs[k], p.store(e, i, tr.exprs[i].typ)...)
			}
		}
		return vs, nil
	}
	return j
}

// places says where, among what all sources give for a point, each begins, and
// where the last ends.
func (tr *trace) places() []int {
	at := make([]int, 1, len(tr.sources)+1)
	for i := range tr.sources {
		at = append(at, at[i]+tr.sources[i].parts())
	}
	return at
}

// longBody is how many primitive operations make a body long. Memory is not what
// such a kernel waits for.
const longBody = 2048

// cost counts the primitive operations at a point.
func (tr *trace) cost(t *Target) int {
	n := 0
	for i := range tr.exprs {
		if x := &tr.exprs[i]; x.kind != exprSource {
			n += t.cost(x.in, x.types)
		}
	}
	return n
}

// flops counts the operations of the table that are applied at a point.
func (tr *trace) flops() int64 {
	n := int64(0)
	for i := range tr.exprs {
		if tr.exprs[i].kind != exprSource {
			n++
		}
	}
	return n
}

// lowerFused plans a unit of several instructions.
func lowerFused(u *Unit, types func(ops.ID) ops.Type, t *Target) (*Plan, error) {
	tr, err := fusedTrace(u, types)
	if err != nil {
		panic(fmt.Sprintf("BUG: a unit without a space: %v", err))
	}
	var p *Plan
	switch {
	case u.contraction() != nil:
		p, err = lowerContraction(u, tr, types, t)
	case u.foldOf() != nil:
		p, err = lowerFolded(u, tr, t)
	default:
		p, err = lowerMap(u, tr, t)
	}
	if err != nil {
		return nil, fmt.Errorf("lower a unit of %d instructions: %w", len(u.Body), err)
	}
	return p, nil
}

// fusedTrace traces the results of a unit.
func fusedTrace(u *Unit, types func(ops.ID) ops.Type) (*trace, error) {
	shape, axes := u.Outs[0].Type.Shape, []int(nil)
	tr := &trace{}
	tr.of(u, types)
	if in := u.foldOf(); in != nil {
		shape, axes = tr.types(in.Ins[0].ID).Shape, in.Attrs[0]
		tr.lie = reduceShapeOf(shape, axes)
	}
	tr.space(shape, axes)
	tr.outs = make([]int, len(u.Outs))
	return tr, tr.run(func() (err error) {
		for i, o := range u.Outs {
			at := tr.full
			if o.Type.Size() < shape.Size() {
				at = tr.rows
			}
			if tr.outs[i], err = tr.value(o.ID, at); err != nil {
				return fmt.Errorf("result %d: %w", i, err)
			}
		}
		return nil
	})
}

// of makes a trace one of the instructions of a unit.
func (tr *trace) of(u *Unit, types func(ops.ID) ops.Type) {
	type made struct {
		in  *ops.Instr
		typ *ops.Type
	}
	body := make(map[ops.ID]made, len(u.Body))
	for i := range u.Body {
		in := &u.Body[i]
		for k, o := range in.Outs {
			body[o.ID] = made{in, &in.Outs[k].Type}
		}
	}
	ins, lits := u.numbers()
	if in := u.contraction(); in != nil {
		tr.product, body[in.Outs[0].ID] = &in.Outs[0].ID, made{typ: &in.Outs[0].Type}
	}
	tr.graph = func(id ops.ID) *ops.Instr { return body[id].in }
	tr.number = func(id ops.ID) int { return ins[id] }
	tr.literal = func(l *ops.Literal) int { return lits[l] }
	tr.types = func(id ops.ID) ops.Type {
		if m, ok := body[id]; ok {
			return *m.typ
		}
		return types(id)
	}
}
