package fusion

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/lowering"
)

// Contraction is the dot or conv of a fusion that has an epilogue; nil if there is none.
func (u *Fusion) Contraction() *ops.Instr {
	for i := range u.Body {
		if op := u.Body[i].Op; op == ops.Dot || op == ops.Conv {
			return &u.Body[i]
		}
	}
	return nil
}

// FirstReduction is the first reduction of a fusion, or nil.
func (u *Fusion) FirstReduction() *ops.Instr {
	for i := range u.Body {
		if u.Body[i].Op.Info().Kind == ops.Reduce {
			return &u.Body[i]
		}
	}
	return nil
}

// Graph is straight-line code: instructions without regions, in order, whose operands
// are parameters, earlier results or literals.
type Graph struct {
	Params []ops.Result
	Body   []ops.Instr
	Keep   []ops.ID // the results
}

// Fusion is a part of a graph that one plan carries out. Its results are those
// of its instructions one by one, bit for bit.
type Fusion struct {
	Body []ops.Instr    // in order; a single one where nothing is fused
	Ins  []ops.ID       // the values it reads: Ref{Operand, i} of the plan
	Lits []*ops.Literal // the literals it reads: operand len(Ins)+i of the plan
	Outs []ops.Result   // the values it makes: Ref{Result, i} of the plan
	Why  *Why           // nil but for those that Explain gives

	// Whole lists results that are concatenations, which are the last of Body: the kernel writes
	// their operands into them, one behind the other.
	Whole []ops.ID

	// Loose says that the memory of results may begin at any element, not at a whole vector.
	Loose bool

	// Stages are fusions whose instructions are those of Body, where a workgroup of one kernel carries out several,
	// one after the other: each but the last as a whole. Outs are the results of the last.
	Stages []Fusion

	// Abreast are fusions that do not depend on one another, whose instructions are those of Body, where one kernel
	// carries them out: each workgroup a part of one of them.
	Abreast []Fusion
}

// Why explains a fusion.
type Why struct {
	Rules lowering.Rules // by which its instructions were joined
	Ends  []End          // its readers in other fusions, each once, in order
}

// End is an instruction that reads a value of a fusion and is not part of it.
type End struct {
	Reader *ops.Instr
	Reason string
}

// Gives reports whether a value is a result of the fusion.
func (u *Fusion) Gives(id ops.ID) bool {
	return slices.ContainsFunc(u.Outs, func(o ops.Result) bool { return o.ID == id })
}

// Buffers lists the types of the values that a fusion reads and writes.
func (u *Fusion) Buffers(types func(ops.ID) ops.Type) (list []ops.Type) {
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

// Operands lists the types of the operands of one of its instructions, and their numbers.
func (u *Fusion) Operands(in *ops.Instr, types func(ops.ID) ops.Type) (ts []ops.Type, places []int) {
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

// numbers maps operands to their numbers; a literal that is listed twice has the first.
func (u *Fusion) numbers() (ins map[ops.ID]int, lits map[*ops.Literal]int) {
	ins, lits = make(map[ops.ID]int, len(u.Ins)), make(map[*ops.Literal]int, len(u.Lits))
	for i, id := range u.Ins {
		ins[id] = i
	}
	for i, l := range slices.Backward(u.Lits) {
		lits[l] = len(u.Ins) + i
	}
	return ins, lits
}

// Needs lists the operands and instructions that a result of a fusion depends on.
type Needs struct {
	Ins  []int // of Fusion.Ins
	Body []int // of Fusion.Body
}

// Needs lists, for each result, the operands and instructions that it depends on, in
// ascending order.
func (u *Fusion) Needs() []Needs {
	made := make(map[ops.ID]int)
	for i := range u.Body {
		for _, o := range u.Body[i].Outs {
			made[o.ID] = i
		}
	}
	ins, _ := u.numbers()
	all := make([]Needs, len(u.Outs))
	for k, o := range u.Outs {
		n := &all[k]
		var visit func(id ops.ID)
		visit = func(id ops.ID) {
			i, inside := made[id]
			list, x := &n.Ins, ins[id]
			if inside {
				list, x = &n.Body, i
			}
			at, known := slices.BinarySearch(*list, x)
			if known {
				return
			}
			*list = slices.Insert(*list, at, x)
			if !inside {
				return
			}
			for _, o := range u.Body[i].Ins {
				if o.Lit == nil {
					visit(o.ID)
				}
			}
		}
		visit(o.ID)
	}
	return all
}
