package region

import (
	"fmt"
	"unsafe"

	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
	"nxvk/ops"
)

// Evaluator evaluates a region many times. When it is made, each value gets its memory and
// each instruction its loop; an evaluation looks up nothing and allocates nothing. An
// Evaluator is for one goroutine.
type Evaluator struct {
	// Check, unless it is nil, is called before each round of a loop and before each large
	// instruction. Its error ends the evaluation.
	Check func() error

	pace   dense.Pacer   // of an evaluation, see EvalOn
	inputs []dense.Value // parameters that each evaluation gives
	once   code          // what depends on no input
	ready  bool          // it has been computed
	body   code
	values []dense.Value
}

// code is a list of steps. Each computes from fixed memory into fixed memory.
type code []func() error

func (c code) run() error {
	for _, f := range c {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// NewEvaluator returns an evaluator of a region that ops.Region.CheckProgram has
// accepted. data are its last parameters, which do not change: instructions that depend on
// them alone are computed once.
func NewEvaluator(r *ops.Region, data ...dense.Value) *Evaluator { return newEvaluator(r, 0, data) }

// newEvaluator is NewEvaluator for vectors of a length: unless it is 0, each scalar of the region becomes a
// vector of so many elements, for as many evaluations at once; see vectors.
func newEvaluator(r *ops.Region, length int, data []dense.Value) *Evaluator {
	e := new(Evaluator)
	p := binder{e: e, length: length, values: make(map[ops.ID]dense.Value), fixed: make(map[ops.ID]bool), scratch: new(dense.Scratch)}
	given := len(r.Params) - len(data)
	for _, x := range r.Params[:given] {
		v := dense.New(p.typeOf(x.Type))
		e.inputs, p.values[x.ID] = append(e.inputs, v), v
	}
	for i, v := range data {
		id := r.Params[given+i].ID
		p.values[id], p.fixed[id] = inPlace(v), true
	}
	e.body = p.bindRegion(r)
	e.values = p.operands(r.Values)
	return e
}

// Eval returns the values of the region, which are valid until the next call.
func (e *Evaluator) Eval(params ...dense.Value) ([]dense.Value, error) {
	for i := range e.inputs {
		copy(e.inputs[i].Data, params[i].Data)
	}
	if !e.ready {
		if err := e.once.run(); err != nil {
			return nil, err
		}
		e.ready = true
	}
	return e.values, e.body.run()
}

// EvalOn is Eval by a worker, as RunOn is Run.
func (e *Evaluator) EvalOn(w *sched.Worker, params ...dense.Value) (values []dense.Value, err error) {
	e.pace.Worker = w
	err = sched.Caught(func() error {
		values, err = e.Eval(params...)
		return err
	})
	return values, err
}

// regionCost is the work of an instruction of a region, besides that of its elements.
const regionCost = 256

// check yields at bounded work, and returns the error that ends the evaluation.
func (e *Evaluator) check() error {
	e.pace.Step(regionCost)
	if e.Check == nil {
		return nil
	}
	return e.Check()
}

// vectors reports whether a region of scalars can be evaluated for many elements
// at once, with vectors in the place of scalars.
func vectors(r *ops.Region) bool {
	for i := range r.Body {
		in := &r.Body[i]
		if in.Op.Info().Kind != ops.Pointwise || in.Op == ops.Clip {
			return false
		}
	}
	return true
}

// binder makes an Evaluator: it assigns memory to each value and a loop to each instruction.
type binder struct {
	e       *Evaluator
	length  int
	values  map[ops.ID]dense.Value // ids of all regions differ
	fixed   map[ops.ID]bool        // values that depend on no input
	depth   int                    // of the region, 0 for the outermost
	scratch *dense.Scratch         // of all steps: one computes at a time
}

// typeOf returns the type of a value: a vector where the evaluator has a length.
func (p *binder) typeOf(t ops.Type) ops.Type {
	if p.length > 0 {
		t.Shape = ops.Shape{p.length}
	}
	return t
}

// bindRegion returns the steps of a region whose parameters have memory.
func (p *binder) bindRegion(r *ops.Region) (c code) {
	for i := range r.Body {
		in := &r.Body[i]
		step := p.bindInstr(in)
		switch {
		case step == nil:
		case p.fixed[firstOf(in)]:
			p.e.once = append(p.e.once, step)
		default:
			c = append(c, step)
		}
	}
	return c
}

// firstOf returns the first result of an instruction, or 0, which is no id.
func firstOf(in *ops.Instr) ops.ID {
	if len(in.Outs) == 0 {
		return 0
	}
	return in.Outs[0].ID
}

func (p *binder) operands(list []ops.Operand) []dense.Value {
	out := make([]dense.Value, len(list))
	for i, o := range list {
		if o.Lit != nil {
			out[i] = inPlace(dense.Value{Type: o.Lit.Type, Data: o.Lit.Data})
		} else {
			out[i] = p.values[o.ID]
		}
	}
	return out
}

// inPlace returns a value that can be read in place. It copies literals that are not aligned.
func inPlace(v dense.Value) dense.Value {
	if one := []dense.Value{v}; dense.Aligned(one) {
		return v
	}
	own := dense.New(v.Type)
	copy(own.Data, v.Data)
	return own
}

// bindInstr assigns memory to the results of an instruction and returns the step that computes
// them, or nil where there is nothing to compute.
func (p *binder) bindInstr(in *ops.Instr) func() error {
	args := p.operands(in.Ins)
	switch in.Op {
	case ops.While:
		return p.bindWhile(in, args)
	case ops.Branch:
		return p.bindBranch(in, args[0])
	case ops.OptimizationBarrier:
		p.pass(in, args)
		return nil
	case ops.Hook, ops.Callback:
		return func() error { return fmt.Errorf("%v: %w", in.Op, dense.ErrUnsupported) }
	}
	fixed := p.depth == 0
	for _, o := range in.Ins {
		fixed = fixed && (o.Lit != nil || p.fixed[o.ID])
	}
	if v, ok := viewOfOperand(in, args); ok {
		p.values[in.Outs[0].ID], p.fixed[in.Outs[0].ID] = v, fixed
		return nil
	}
	own := *in
	own.Outs = make([]ops.Result, len(in.Outs))
	outs := make([]dense.Value, len(in.Outs))
	for i, o := range in.Outs {
		o.Type = p.typeOf(o.Type)
		own.Outs[i], outs[i] = o, dense.New(o.Type)
		p.values[o.ID], p.fixed[o.ID] = outs[i], fixed
	}
	return p.bind(&own, args, outs)
}

// pass makes the results of a barrier its operands: instructions run in their order.
func (p *binder) pass(in *ops.Instr, args []dense.Value) {
	for i, o := range in.Outs {
		p.values[o.ID] = args[i]
		p.fixed[o.ID] = p.depth == 0 && (in.Ins[i].Lit != nil || p.fixed[in.Ins[i].ID])
	}
}

// bindInner returns the steps and the values of a region within another.
func (p *binder) bindInner(r *ops.Region) (code, []dense.Value) {
	p.depth++
	defer func() { p.depth-- }()
	c := p.bindRegion(r)
	return c, p.operands(r.Values)
}

// allocResults allocates the results of an instruction.
func (p *binder) allocResults(in *ops.Instr) []dense.Value {
	outs := make([]dense.Value, len(in.Outs))
	for i, o := range in.Outs {
		outs[i] = dense.New(o.Type)
		p.values[o.ID] = outs[i]
	}
	return outs
}

func (p *binder) bindBranch(in *ops.Instr, predicate dense.Value) func() error {
	yes, first := p.bindInner(in.Regions[0])
	no, second := p.bindInner(in.Regions[1])
	outs := p.allocResults(in)
	return func() error {
		c, values := no, second
		if Nonzero(predicate) {
			c, values = yes, first
		}
		if err := c.run(); err != nil {
			return err
		}
		copyAll(outs, values)
		return nil
	}
}

func (p *binder) bindWhile(in *ops.Instr, initial []dense.Value) func() error {
	state := p.allocResults(in)
	for _, r := range in.Regions {
		for i, x := range r.Params {
			p.values[x.ID] = state[i]
		}
	}
	condition, yes := p.bindInner(in.Regions[0])
	body, next := p.bindInner(in.Regions[1])
	var staged []dense.Value // where a part of the state becomes another one
	if overlap(next, state) {
		for _, v := range next {
			staged = append(staged, dense.New(v.Type))
		}
	}
	e := p.e
	return func() error {
		copyAll(state, initial)
		for {
			if err := e.check(); err != nil {
				return err
			}
			if err := condition.run(); err != nil || !Nonzero(yes[0]) {
				return err
			}
			if err := body.run(); err != nil {
				return err
			}
			from := next
			if staged != nil {
				copyAll(staged, next)
				from = staged
			}
			copyAll(state, from)
		}
	}
}

func copyAll(to, from []dense.Value) {
	for i := range to {
		copy(to[i].Data, from[i].Data)
	}
}

// overlap reports whether values share memory with others.
func overlap(values, others []dense.Value) bool {
	for _, v := range values {
		at := uintptr(unsafe.Pointer(unsafe.SliceData(v.Data)))
		for _, o := range others {
			begin := uintptr(unsafe.Pointer(unsafe.SliceData(o.Data)))
			if at < begin+uintptr(len(o.Data)) && begin < at+uintptr(len(v.Data)) {
				return true
			}
		}
	}
	return false
}
