package exec

import (
	"slices"

	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/placement"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// A plan that begins with a copy of an operand updates the operand where it is if nobody else
// needs it: a cache that a loop carries is not copied in each round. The result then takes the
// memory of the operand, and the copy is left out (see lowering.InPlace). Nobody else needs an
// operand that the run holds alone, and only until the end of the step.

// endsWith reports whether the block under way needs a slot no more after an instruction of the
// step under way.
func (r *run) endsWith(in *wire.Instr, id ops.ID) bool {
	if len(r.stack) == 0 {
		return false
	}
	f := r.top()
	if f.pc >= len(f.Steps) {
		return false
	}
	switch s := &f.Steps[f.pc]; {
	case in == &s.In:
		return slices.Contains(s.Last, id)
	case s.Fusion != nil && f.part < len(s.Fusion.Body) && in == &s.Fusion.Body[f.part]:
		return slices.Contains(s.Fusion.Endings()[f.part], id)
	}
	return false
}

// updates returns the operand that a plan updates in place, or nil. No other operand may share
// its memory, and no computation on the host.
func (q *Queue) updates(w *placement.Work, p *kernels.Plan) *store.Storage {
	if p.InPlace == nil || q.run == nil {
		return nil
	}
	i := p.InPlace.Operand
	m := w.Args[i]
	if m == nil || !m.Sole() || m.Pins > 0 || !q.run.endsWith(w.From, w.In.Ins[i].ID) {
		return nil
	}
	for k, other := range w.Args {
		if k != i && other == m {
			return nil
		}
	}
	return m
}

// takeOver gives the result the memory of the operand that the plan of a recording updates, and
// leaves out the copy.
func (rec *recording) takeOver(m *store.Storage) {
	out := rec.outs[0]
	out.Dev, m.Dev = m.Dev, nil
	rec.next = rec.plan.InPlace.Copies
}
