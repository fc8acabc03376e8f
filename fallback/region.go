package fallback

import (
	"fmt"

	"nxvk/fallback/sched"
	"nxvk/ops"
)

// Evaluator evaluates a program again and again. It is for one goroutine.
type Evaluator struct {
	region *ops.Region
	scope  *scope
}

// NewEvaluator returns an evaluator of a region that ops.Region.CheckProgram has
// accepted.
func NewEvaluator(r *ops.Region) *Evaluator { return &Evaluator{r, newScope(nil, 0)} }

// Eval gives the values of the region, which are good until the next call.
func (e *Evaluator) Eval(params []Value) ([]Value, error) { return e.EvalOn(nil, params) }

// EvalOn is Eval by a worker, as RunOn is Run.
func (e *Evaluator) EvalOn(w *sched.Worker, params []Value) (values []Value, err error) {
	e.scope.pace.w = w
	err = sched.Caught(func() error {
		values, err = e.scope.eval(e.region, params)
		return err
	})
	return values, err
}

// regionCost is what an instruction of a region counts for, beside its elements.
const regionCost = 256

// scope holds the values of a region and of those around it. Results keep their
// memory from one evaluation to the next.
type scope struct {
	values map[ops.ID]Value
	memory map[ops.ID][]byte
	lanes  int // see vectors; 0 where shapes are as stated
	pace   pace
}

func newScope(w *sched.Worker, lanes int) *scope {
	return &scope{pace: pace{w: w}, values: make(map[ops.ID]Value), memory: make(map[ops.ID][]byte), lanes: lanes}
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

// typed is the type of a result, a vector where the scope has lanes.
func (s *scope) typed(t ops.Type) ops.Type {
	if s.lanes > 0 {
		t.Shape = ops.Shape{s.lanes}
	}
	return t
}

// eval evaluates a region that ops.Region.CheckProgram has accepted.
func (s *scope) eval(r *ops.Region, params []Value) ([]Value, error) {
	for i, p := range r.Params {
		s.values[p.ID] = params[i]
	}
	for i := range r.Body {
		if err := s.instr(&r.Body[i]); err != nil {
			return nil, err
		}
	}
	return s.operands(r.Values), nil
}

func (s *scope) operands(list []ops.Operand) []Value {
	out := make([]Value, len(list))
	for i, o := range list {
		if o.Lit != nil {
			out[i] = Value{Type: o.Lit.Type, Data: o.Lit.Data}
		} else {
			out[i] = s.values[o.ID]
		}
	}
	return out
}

func (s *scope) instr(in *ops.Instr) error {
	args := s.operands(in.Ins)
	switch in.Op {
	case ops.While:
		return s.while(in, args)
	case ops.Branch:
		which := 1
		if Nonzero(args[0]) {
			which = 0
		}
		values, err := s.eval(in.Regions[which], nil)
		s.give(in, values)
		return err
	case ops.Hook, ops.Callback:
		return fmt.Errorf("%v: %w", in.Op, ErrUnsupported)
	}
	return s.run(in, args)
}

// run computes an instruction into the memory of its results.
func (s *scope) run(in *ops.Instr, args []Value) error {
	copied := *in
	copied.Outs = make([]ops.Result, len(in.Outs))
	outs := make([]Value, len(in.Outs))
	for i, o := range in.Outs {
		o.Type = s.typed(o.Type)
		copied.Outs[i] = o
		data, have := s.memory[o.ID]
		if !have {
			data = make([]byte, o.Type.Bytes())
			s.memory[o.ID] = data
		}
		outs[i] = Value{Type: o.Type, Data: data}
		s.values[o.ID] = outs[i]
	}
	s.pace.step(regionCost)
	return carryOut(s.pace.w, &copied, args, outs)
}

// while evaluates a loop. What a round computes must outlast the memory of the
// next one, so the state is copied.
func (s *scope) while(in *ops.Instr, state []Value) error {
	for {
		s.pace.step(regionCost)
		state = cloned(state)
		yes, err := s.eval(in.Regions[0], state)
		if err != nil {
			return err
		}
		if !Nonzero(yes[0]) {
			s.give(in, state)
			return nil
		}
		if state, err = s.eval(in.Regions[1], state); err != nil {
			return err
		}
	}
}

func cloned(list []Value) []Value {
	out := make([]Value, len(list))
	for i, v := range list {
		out[i] = Value{Type: v.Type, Data: append([]byte(nil), v.Data...)}
	}
	return out
}

// give names the values of a region by the results of its instruction.
func (s *scope) give(in *ops.Instr, values []Value) {
	for i := range values {
		s.values[in.Outs[i].ID] = values[i]
	}
}

// Nonzero reports whether a scalar, a predicate of a branch or a loop, is
// anything but zero; negative zero is zero, NaN is not.
func Nonzero(v Value) bool {
	d, part := v.Type.DType, len(v.Data)
	if d.IsComplex() {
		part /= 2
	}
	for i, b := range v.Data {
		if !d.IsInteger() && i%part == part-1 {
			b &= 0x7f
		}
		if b != 0 {
			return true
		}
	}
	return false
}
