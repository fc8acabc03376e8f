package exec

import (
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/ops"
)

// Control flow of programs: a frame is pushed for the region of a branch or a loop, and its values become
// the results of the step, or the state of the next round.

// handOver lets go of what a loop begins with where nothing else needs it: the first round may
// update it in place, and the memory is free when the loop has another state. What the regions of
// the loop capture is needed until it ends.
func (r *run) handOver(s *program.Step) {
	for _, id := range s.Last {
		if !s.Captures(id) {
			r.clear(id)
		}
	}
}

// valuesOf gives the values of operands, with holds on their memory.
func (ip *interpreter) valuesOf(q *Queue, r *run, list []ops.Operand) []store.Value {
	out := make([]store.Value, len(list))
	for i, o := range list {
		out[i] = ip.valueOf(q, r, o)
	}
	return out
}

// enter begins a region of a step with values for its parameters.
func (ip *interpreter) enter(q *Queue, r *run, s *program.Step, which int, params []store.Value) {
	b := s.Regions[which]
	for i, p := range b.Params {
		r.set(p.ID, params[i])
	}
	r.stack = append(r.stack, frame{Block: b, of: s, which: which})
}

// branch runs the region that the predicate chooses.
func (ip *interpreter) branch(q *Queue, r *run, f *frame, s *program.Step) (wait queue.Wait) {
	yes, wait, err := ip.readPredicate(q, r, s.In.Ins[0])
	if wait != 0 {
		return wait
	}
	f.pc++
	if err != nil {
		ip.fail(r, s, err)
		return 0
	}
	which := 1
	if yes {
		which = 0
	}
	ip.enter(q, r, s, which, nil)
	return 0
}

// fail makes the results of a step carry an error.
func (ip *interpreter) fail(r *run, s *program.Step, err error) {
	for _, o := range s.In.Outs {
		r.set(o.ID, store.Value{Type: o.Type, Err: err})
	}
	r.passed(s)
}

// leave ends a block: what it gives becomes the results of its step, or decides
// about the next round of a loop.
func (ip *interpreter) leave(q *Queue, r *run, f *frame) (wait queue.Wait) {
	s := f.of
	switch {
	case s == nil:
		r.stack = r.stack[:0]
		return 0
	case s.In.Op == ops.While && f.which == 0:
		return ip.decide(q, r, f, s)
	}
	values := ip.valuesOf(q, r, f.Values)
	r.pop(f)
	if s.In.Op == ops.While {
		ip.enter(q, r, s, 0, values)
		return 0
	}
	r.give(s, values)
	return 0
}

// give ends a step with its results.
func (r *run) give(s *program.Step, values []store.Value) {
	for i, o := range s.In.Outs {
		r.set(o.ID, values[i])
	}
	r.passed(s)
}

// pop ends a block and lets go of what it made.
func (r *run) pop(f *frame) {
	for _, p := range f.Params {
		r.clear(p.ID)
	}
	for i := range f.Steps {
		for _, o := range f.Steps[i].In.Outs {
			r.clear(o.ID)
		}
	}
	r.stack = r.stack[:len(r.stack)-1]
}
