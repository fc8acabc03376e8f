package fused

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
)

// chained is the program of a fusion of several stages, and what it checks.
type chained struct {
	*codegen.Program
	checks []lowering.Check

	before *codegen.Program // of an attention, runs first and leaves parts of its results in temporaries; nil where there are none
	temps  []int64          // their bytes
	join   *codegen.Program // joins them
}

// chain is the program of the stages of a fusion; ok is false where no kernel has them all.
func chain(u *fusion.Fusion, types func(ops.ID) ops.Type, t *lowering.Target) (c chained, ok bool) {
	inside := func(id ops.ID) ops.Type { return typeIn(u, id, types) }
	held := map[ops.ID]int{} // the arrays of values that only later stages read
	var arrays []codegen.Array
	var list []codegen.Stage
	begin := slices.IndexFunc(u.Stages, attends)
	if begin >= 0 && !c.attend(u, begin, inside, t) {
		return c, false
	}
	if begin == len(u.Stages)-1 && c.join == nil {
		return c, true
	}
	for i := max(0, begin); i < len(u.Stages); i++ {
		part := &u.Stages[i]
		last := i == len(u.Stages)-1
		if sameOrder(part, inside) && !last {
			if array, ok := held[part.Ins[0]]; ok {
				held[part.Outs[0].ID] = array
				continue
			}
		}
		p, checks := c.join, []lowering.Check(nil)
		if i != begin {
			p, checks = stageProgram(part, inside, t)
		}
		if p == nil {
			return c, false
		}
		known := true
		if c.checks, known = checksWithin(u, part, checks); !known || !last && len(checks) > 0 {
			return c, false
		}
		own := !last && part.Contraction() != nil
		if own && !ownResults(part, u.Stages[i+1:], inside) {
			return c, false
		}
		for _, o := range part.Outs {
			if !last && !u.Gives(o.ID) {
				held[o.ID] = len(arrays)
				arrays = append(arrays, codegen.Array{Elem: lowering.ElemOf[o.Type.DType], Size: o.Type.Size()})
			}
		}
		s := stageOf(u, part, p, held, last)
		if s.Own = own; own {
			a := &arrays[len(arrays)-1]
			a.Size, a.Own = p.Span(int(p.Local)), true
		}
		list = append(list, s)
	}
	c.Program, ok = codegen.Chain(t, list, arrays)
	return c, ok && fits(c.Program, t)
}

// ownResults reports whether a workgroup of later stages needs of product v the results alone that it makes of them.
func ownResults(v *fusion.Fusion, later []fusion.Fusion, types func(ops.ID) ops.Type) bool {
	return len(v.Outs) == 1 && !slices.ContainsFunc(later, func(u fusion.Fusion) bool {
		return slices.Contains(u.Ins, v.Outs[0].ID) && !sideBySide(v, &u, types)
	})
}

// sideBySide reports whether fusion u of a product reads another product, v, as it is stored, and not in place of a vector or a
// matrix: then a workgroup needs of v the results that it makes of u.
func sideBySide(v, u *fusion.Fusion, types func(ops.ID) ops.Type) bool {
	in := u.Contraction()
	if in == nil || slices.ContainsFunc(in.Ins, func(o ops.Operand) bool { return o.Lit == nil && o.ID == v.Outs[0].ID }) {
		return false
	}
	dag, err := fusion.NewDAG(u, types)
	if err != nil {
		return false
	}
	of := lowering.Ref{Kind: lowering.Operand, Index: slices.Index(u.Ins, v.Outs[0].ID)}
	return !slices.ContainsFunc(dag.Sources, func(s codegen.Source) bool {
		return s.Kind == codegen.FromBuffer && s.Buffer.Ref == of && (s.Offset != 0 || len(s.Shifts) > 0 || !slices.Equal(s.Strides, dag.Full.Strides))
	})
}

// sameOrder reports whether a fusion gives the elements of its operand in their order.
func sameOrder(u *fusion.Fusion, types func(ops.ID) ops.Type) bool {
	if len(u.Body) != 1 || len(u.Ins) != 1 || len(u.Stages) > 0 {
		return false
	}
	in := &u.Body[0]
	return in.Op != ops.Bitcast && len(in.Ins) == 1 && in.KeepsOrder(types(u.Ins[0]))
}

// stageOf is a stage with the numbers that its operands have in the whole fusion, but for those that are in arrays, as are its
// results, unless it is the last.
func stageOf(u, part *fusion.Fusion, p *codegen.Program, held map[ops.ID]int, last bool) codegen.Stage {
	q := *p
	s := codegen.Stage{Program: &q}
	for _, b := range p.Buffers {
		array := codegen.InMemory
		switch {
		case b.Ref.Kind == lowering.Operand && b.Ref.Index < len(part.Ins):
			if a, ok := held[part.Ins[b.Ref.Index]]; ok {
				array = a
			}
		case b.Ref.Kind == lowering.Result && !last:
			array = held[part.Outs[b.Ref.Index].ID]
		}
		s.Held = append(s.Held, array)
	}
	q.Buffers, q.Literals = numbered(u, part, p, s.Held)
	if q.Early != nil && s.Held[vectorMatrix] != codegen.InMemory {
		q.Early, q.Halves = nil, nil // what it loads is not there
	}
	return s
}

// numbered gives the buffers and the literals of a program the numbers that they have in the whole fusion, but for buffers
// that an array stands for.
func numbered(u, part *fusion.Fusion, p *codegen.Program, held []int) ([]codegen.Buffer, []codegen.Literal) {
	q := *p
	q.Buffers = slices.Clone(p.Buffers)
	for i := range q.Buffers {
		if held[i] != codegen.InMemory {
			q.Buffers[i].Ref = lowering.Ref{Kind: lowering.Temp}
		}
	}
	n := within(u, part, &q, 0)
	return n.Buffers, n.Literals
}

// checksWithin are the checks of a stage, with the numbers of operands and instructions in the whole fusion. known is
// false where what is checked is in no operand, but in shared memory.
func checksWithin(u, part *fusion.Fusion, checks []lowering.Check) (list []lowering.Check, known bool) {
	for _, c := range checks {
		if c.Operand >= len(part.Ins) || !slices.Contains(u.Ins, part.Ins[c.Operand]) {
			return nil, false
		}
		c.Operand = slices.Index(u.Ins, part.Ins[c.Operand])
		c.Instr = slices.IndexFunc(u.Body, func(in ops.Instr) bool { return in.Outs[0].ID == part.Body[c.Instr].Outs[0].ID })
		list = append(list, c)
	}
	return list, true
}

// stageProgram is the program of a part of a fusion, and what it checks; nil where it takes no single one.
func stageProgram(u *fusion.Fusion, types func(ops.ID) ops.Type, t *lowering.Target) (*codegen.Program, []lowering.Check) {
	if u.Contraction() != nil {
		return vectorProgram(u, types, t), nil
	}
	dag, err := fusion.NewDAG(u, types)
	if err != nil {
		return nil, nil
	}
	var programs []*codegen.Program
	switch {
	case dag.Update != nil:
		programs = updateJob(u, dag, t).Programs(t)
	case u.FirstReduction() != nil:
		f := newFolded(u, dag)
		if held, ok := f.rowsHeld(t); ok {
			programs = append(programs, f.inRows(held).program(t))
		}
	default:
		programs = ElementwiseJob(dag, u, t).Programs(t)
	}
	if len(programs) != 1 {
		return nil, nil
	}
	return programs[0], dag.Checks
}

// Chains reports whether one kernel carries out the stages of a fusion.
func (Capabilities) Chains(u *fusion.Fusion, types func(ops.ID) ops.Type, t *lowering.Target) bool {
	_, ok := chain(u, types, t)
	return ok
}

// lowerChain plans a fusion of several stages.
func lowerChain(u *fusion.Fusion, types func(ops.ID) ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	c, ok := chain(u, types, t)
	if !ok {
		return nil, lowering.Unsupported("a chain of %d stages", len(u.Stages))
	}
	programs := []*codegen.Program{c.Program}
	if c.before != nil {
		programs = slices.Insert(programs, 0, c.before)
	}
	p, err := codegen.NewPlan(t, c.temps, programs...)
	if err != nil {
		return nil, err
	}
	p.Checks = c.checks
	last := &u.Stages[len(u.Stages)-1]
	if in := last.LastUpdate(); in != nil {
		return withCopy(u, in, p, types, t)
	}
	if i := slices.IndexFunc(u.Stages, attends); i >= 0 {
		return withCopies(u, putsOf(&u.Stages[i]), p, types, t)
	}
	return p, nil
}
