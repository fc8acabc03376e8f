package graph

import (
	"slices"

	"nxvk/ops"
)

// Pass is a step of Simplify. It changes no bit of any value that is kept.
type Pass struct {
	Name string // by which it can be switched off
	Why  string
	run  func(w *work) (changed bool)
}

// Passes lists the passes in the order in which they run. They run again until
// none changes anything, since a change by one gives another a chance.
var Passes = []Pass{
	{"simplify", "Generated graphs, such as those of gradients, have views of views and sums with zero. " +
		"Without them more instructions fit into one kernel.", simplify},
	{"constants", "The host computes a constant once, and kernels take it as a push constant. Otherwise every " +
		"element would compute it again.", foldConstants},
	{"common", "The same operation on the same operands gives the same bits, so it runs once (common subexpression " +
		"elimination). Gradients repeat the forward pass.", common},
	{"dead", "A value that nobody reads needs no memory and no kernel, and keeps no other value alive (dead code elimination).", dead},
}

// Eval gives the bytes of the result of an instruction that has one, a scalar,
// and scalar literals as operands.
type Eval func(in *ops.Instr) ([]byte, error)

// Options are those of Simplify. Passes that are nil are left out.
type Options struct {
	Off   func(pass string) bool
	Eval  Eval                            // without it nothing is computed ahead
	After func(pass *Pass, r *ops.Region) // sees the code after every pass
}

// maxRounds bounds how often the passes run. Chains of views end after two
// rounds; code that needs more than four is left as it is.
const maxRounds = 4

// Simplify returns straight-line code that gives the same values, with fewer
// instructions. The values of the region are ids, which stay defined and keep
// their types; others may go or take other names. The same code gives the same
// result.
func Simplify(r *ops.Region, o Options) *ops.Region {
	for range maxRounds {
		changed := false
		for i := range Passes {
			p := &Passes[i]
			if o.Off != nil && o.Off(p.Name) {
				continue
			}
			w := newWork(r, o.Eval)
			if !p.run(w) {
				continue
			}
			r, changed = w.finish(), true
			if o.After != nil {
				o.After(p, r)
			}
		}
		if !changed {
			break
		}
	}
	return r
}

// Common is Simplify by the passes "common" and "dead" alone. Code with regions that look outside stays as it is.
func Common(r *ops.Region) *ops.Region {
	if slices.ContainsFunc(r.Body, func(in ops.Instr) bool { return len(in.Regions) > 0 && !in.Op.Info().Closed }) {
		return r
	}
	return Simplify(r, Options{Off: func(pass string) bool { return pass != "common" && pass != "dead" }})
}

// work is straight-line code while a pass changes it.
type work struct {
	params  []ops.Result
	body    []ops.Instr
	values  []ops.Operand
	eval    Eval
	types   map[ops.ID]ops.Type
	made    map[ops.ID]int // the instruction that makes a value
	kept    map[ops.ID]bool
	gone    []bool            // instructions that are left out
	same    map[ops.ID]ops.ID // values that are an earlier one
	renamed map[ops.ID]ops.ID // values that take the name of a kept one
}

func newWork(r *ops.Region, eval Eval) *work {
	w := &work{params: r.Params, body: slices.Clone(r.Body), values: r.Values, eval: eval,
		types: make(map[ops.ID]ops.Type, len(r.Body)), made: make(map[ops.ID]int, len(r.Body)), kept: make(map[ops.ID]bool),
		gone: make([]bool, len(r.Body)), same: make(map[ops.ID]ops.ID), renamed: make(map[ops.ID]ops.ID)}
	for _, p := range r.Params {
		w.types[p.ID] = p.Type
	}
	for i := range w.body {
		in := &w.body[i]
		if len(in.Regions) > 0 && !in.Op.Info().Closed {
			panic("BUG: a region that looks outside is no straight-line code")
		}
		in.Ins = slices.Clone(in.Ins)
		for _, o := range in.Outs {
			w.types[o.ID], w.made[o.ID] = o.Type, i
		}
	}
	for _, o := range r.Values {
		if o.Lit == nil {
			w.kept[o.ID] = true
		}
	}
	return w
}

// each visits the instructions in order, with operands that are as early as
// the pass knows by then.
func (w *work) each(f func(i int, in *ops.Instr) (changed bool)) (changed bool) {
	for i := range w.body {
		in := &w.body[i]
		for k, o := range in.Ins {
			if from, ok := w.same[o.ID]; ok && o.Lit == nil {
				in.Ins[k].ID = from
			}
		}
		changed = f(i, in) || changed
	}
	return changed
}

// producer is the instruction that makes an operand; nil of parameters and
// literals.
func (w *work) producer(o ops.Operand) *ops.Instr {
	if i, ok := w.made[o.ID]; ok && o.Lit == nil {
		return &w.body[i]
	}
	return nil
}

func (w *work) typeOf(o ops.Operand) ops.Type {
	if o.Lit != nil {
		return o.Lit.Type
	}
	return w.types[o.ID]
}

// forward makes a result of instruction i the value from, which it is. Where
// both must exist it reports false.
func (w *work) forward(i int, from ops.ID) bool {
	id := w.body[i].Outs[0].ID
	_, inside := w.made[from]
	switch {
	case !w.kept[id]:
	case inside && !w.kept[from]:
		w.renamed[from], w.kept[from] = id, true
	default:
		return false
	}
	w.same[id], w.gone[i] = from, true
	return true
}

// finish is the code that is left.
func (w *work) finish() *ops.Region {
	r := &ops.Region{Params: w.params, Values: w.values}
	for i, in := range w.body {
		if w.gone[i] {
			continue
		}
		for k, o := range in.Ins {
			if to, ok := w.renamed[o.ID]; ok && o.Lit == nil {
				in.Ins[k].ID = to
			}
		}
		for k, o := range in.Outs {
			if to, ok := w.renamed[o.ID]; ok {
				in.Outs = slices.Clone(in.Outs)
				in.Outs[k].ID = to
			}
		}
		r.Body = append(r.Body, in)
	}
	return r
}
