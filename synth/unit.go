package synth

import (
	"slices"

	"nxvk/ops"
)

// Graph is straight code: instructions without regions, in order, whose operands
// are parameters, earlier results or literals.
type Graph struct {
	Params []ops.Result
	Body   []ops.Instr
	Keep   []ops.ID // what must exist afterwards
}

// Unit is a part of a graph that one plan carries out. Its results are those
// of its instructions one by one, bit for bit.
type Unit struct {
	Body []ops.Instr    // in order; a single one where nothing is fused
	Ins  []ops.ID       // the values it reads: Ref{Operand, i} of the plan
	Lits []*ops.Literal // the literals it reads: operand len(Ins)+i of the plan
	Outs []ops.Result   // the values it makes: Ref{Result, i} of the plan
	Why  *Why           // nil but for those that Explain gives
}

// Gives reports whether a value is one of those that the unit makes.
func (u *Unit) Gives(id ops.ID) bool {
	return slices.ContainsFunc(u.Outs, func(o ops.Result) bool { return o.ID == id })
}

// LowerUnit plans a unit. types gives the types of the values that it reads. The
// error wraps ErrUnsupported where the device cannot carry it out.
func LowerUnit(u *Unit, types func(ops.ID) ops.Type, t *Target) (*Plan, error) {
	lower := lowerSingle
	switch {
	case u.joinsParts():
		lower = lowerConcatenated
	case len(u.Body) > 1:
		lower = lowerFused
	}
	p, err := t.reach(func(t *Target) (*Plan, error) { return lower(u, types, t) }, u.buffers(types)...)
	if err == nil {
		dumpPlan(u, p)
	}
	return p, err
}

// buffers are the types of what a unit reads and makes.
func (u *Unit) buffers(types func(ops.ID) ops.Type) (list []ops.Type) {
	for _, id := range u.Ins {
		list = append(list, types(id))
	}
	for _, l := range u.Lits {
		list = append(list, l.Type)
	}
	for _, o := range u.Outs {
		list = append(list, o.Type)
	}
	return list
}

// lowerSingle plans a unit of one instruction.
func lowerSingle(u *Unit, types func(ops.ID) ops.Type, t *Target) (*Plan, error) {
	in := &u.Body[0]
	ts, places := u.operands(in, types)
	p, err := Lower(in, ts, t)
	if err != nil {
		return nil, err
	}
	return p.renumbered(places), nil
}

// operands are the types of those of an instruction that reads what the unit
// does, and their numbers.
func (u *Unit) operands(in *ops.Instr, types func(ops.ID) ops.Type) (ts []ops.Type, places []int) {
	ins, lits := u.numbers()
	ts, places = make([]ops.Type, len(in.Ins)), make([]int, len(in.Ins))
	for i, o := range in.Ins {
		if o.Lit != nil {
			ts[i], places[i] = o.Lit.Type, lits[o.Lit]
			continue
		}
		ts[i], places[i] = types(o.ID), ins[o.ID]
	}
	return ts, places
}

// numbers are those of the operands of a unit: of a literal that it lists twice, the
// first.
func (u *Unit) numbers() (ins map[ops.ID]int, lits map[*ops.Literal]int) {
	ins, lits = make(map[ops.ID]int, len(u.Ins)), make(map[*ops.Literal]int, len(u.Lits))
	for i, id := range u.Ins {
		ins[id] = i
	}
	for i, l := range slices.Backward(u.Lits) {
		lits[l] = len(u.Ins) + i
	}
	return ins, lits
}

// renumbered is the plan with operand i at places[i].
func (p *Plan) renumbered(places []int) *Plan {
	q := &Plan{Temps: p.Temps, Alias: p.Alias, Status: p.Status}
	if q.Alias >= 0 {
		q.Alias = places[q.Alias]
	}
	for _, s := range p.Steps {
		s.Args, s.Lits = slices.Clone(s.Args), slices.Clone(s.Lits)
		for i := range s.Args {
			if r := &s.Args[i].Ref; r.Kind == Operand {
				r.Index = places[r.Index]
			}
		}
		for i := range s.Lits {
			s.Lits[i].Operand = places[s.Lits[i].Operand]
		}
		q.Steps = append(q.Steps, s)
	}
	return q
}
