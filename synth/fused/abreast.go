package fused

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
)

// abreast is the program of fusions that do not depend on one another; ok is false where no kernel has them all.
func abreast(u *fusion.Fusion, types func(ops.ID) ops.Type, t *lowering.Target) (c chained, ok bool) {
	var programs []*codegen.Program
	for i := range u.Abreast {
		part := &u.Abreast[i]
		p, checks := partProgram(part, types, t)
		if p == nil {
			return c, false
		}
		p = within(u, part, p, len(c.checks))
		checks, known := checksWithin(u, part, checks)
		if !known {
			return c, false
		}
		programs, c.checks = append(programs, p), append(c.checks, checks...)
	}
	if c.Program, ok = codegen.Abreast(programs); !ok {
		return c, false
	}
	return c, fits(c.Program, t)
}

// fits reports whether a device has room for the buffers and the parameters of a program.
func fits(p *codegen.Program, t *lowering.Target) bool {
	return len(p.Buffers) <= fusion.MaxBuffers && codegen.Check(t, p) == nil && codegen.PushSize(t, p, true) <= t.PushBytes()
}

// partProgram is the program of a fusion of one stage or several, and what it checks; nil where it takes no single one.
func partProgram(part *fusion.Fusion, types func(ops.ID) ops.Type, t *lowering.Target) (*codegen.Program, []lowering.Check) {
	if len(part.Stages) == 0 {
		return stageProgram(part, func(id ops.ID) ops.Type { return typeIn(part, id, types) }, t)
	}
	c, ok := chain(part, types, t)
	if !ok || slices.ContainsFunc(part.Stages, attends) {
		return nil, nil
	}
	return c.Program, c.checks
}

// within is the program of a part, with the numbers that its operands, its results and its checks have in the whole
// fusion.
func within(u, part *fusion.Fusion, p *codegen.Program, checks int) *codegen.Program {
	q := *p
	q.Buffers, q.Literals = slices.Clone(p.Buffers), slices.Clone(p.Literals)
	literal := func(i int) int { return len(u.Ins) + slices.Index(u.Lits, part.Lits[i-len(part.Ins)]) }
	for i := range q.Buffers {
		switch r := &q.Buffers[i].Ref; {
		case r.Kind == lowering.CheckWord:
			r.Index += checks
		case r.Kind == lowering.Result:
			id := part.Outs[r.Index].ID
			r.Index = slices.IndexFunc(u.Outs, func(o ops.Result) bool { return o.ID == id })
		case r.Kind == lowering.Operand && r.Index < len(part.Ins):
			r.Index = slices.Index(u.Ins, part.Ins[r.Index])
		case r.Kind == lowering.Operand:
			r.Index = literal(r.Index)
		}
	}
	for i := range q.Literals {
		q.Literals[i].Operand = literal(q.Literals[i].Operand)
	}
	return &q
}

// Abreast reports whether one kernel carries out fusions that do not depend on one another.
func (Capabilities) Abreast(u *fusion.Fusion, types func(ops.ID) ops.Type, t *lowering.Target) bool {
	c, ok := abreast(u, types, t)
	if !ok {
		return false
	}
	_, err := codegen.NewStep(t, c.Program) // which tells whether its shared arrays have room
	return err == nil
}

// lowerAbreast plans fusions that do not depend on one another.
func lowerAbreast(u *fusion.Fusion, types func(ops.ID) ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	c, ok := abreast(u, types, t)
	if !ok {
		return nil, lowering.Unsupported("%d fusions in one kernel", len(u.Abreast))
	}
	p, err := codegen.NewPlan(t, nil, c.Program)
	if err != nil {
		return nil, err
	}
	p.Checks = c.checks
	var updates []*ops.Instr
	for i := range u.Abreast {
		if in := lastStage(&u.Abreast[i]).LastUpdate(); in != nil {
			updates = append(updates, in)
		}
	}
	return withCopies(u, updates, p, types, t)
}

// withCopies is the plan put after copies of the tensors that its kernel updates.
func withCopies(u *fusion.Fusion, updates []*ops.Instr, put *lowering.Plan, types func(ops.ID) ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	p := &lowering.Plan{Alias: -1, Checks: put.Checks, Temps: put.Temps}
	var others []lowering.Step // copies that are never left out
	for _, in := range updates {
		copies, tensor, err := copyOf(u, in, types, t)
		if err != nil {
			return nil, err
		}
		if len(copies.Temps) > 0 {
			return nil, lowering.Unsupported("a copy of %v through other memory", in.Outs[0].Type)
		}
		result := slices.IndexFunc(u.Outs, func(o ops.Result) bool { return o.ID == in.Outs[0].ID })
		for s := range copies.Steps {
			for a := range copies.Steps[s].Args {
				if r := &copies.Steps[s].Args[a].Ref; r.Kind == lowering.Result {
					r.Index = result
				}
			}
		}
		again := slices.ContainsFunc(p.InPlace, func(o lowering.InPlace) bool { return o.Operand == tensor })
		if again || reads(put.Steps, tensor) {
			others = append(others, copies.Steps...)
			continue
		}
		p.Steps = append(p.Steps, copies.Steps...)
		p.InPlace = append(p.InPlace, lowering.InPlace{Operand: tensor, Result: result, Copies: len(copies.Steps)})
	}
	p.Steps = append(append(p.Steps, others...), put.Steps...)
	return p, nil
}

// lastStage is the last stage of a fusion, or itself.
func lastStage(u *fusion.Fusion) *fusion.Fusion {
	if n := len(u.Stages); n > 0 {
		return &u.Stages[n-1]
	}
	return u
}
