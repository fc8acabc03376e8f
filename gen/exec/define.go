package exec

import (
	"fmt"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/synth"
)

// definition is a program that is being made.
type definition struct {
	*program.Program
	ready bool
}

// define keeps the definition of a program. A key that is defined stays as it
// is.
func (e *Executor) define(q *Queue, in *wire.Instr) (wait queue.Wait) {
	if q.programs.Find(in.Key) != nil {
		return 0
	}
	if q.defining == nil {
		d := &definition{}
		q.defining = d
		eval, region, broken, t := e.specializer.Evaluator(), in.Program, in.Broken, e.programTarget()
		if broken == nil && program.TakesLong(region) {
			e.jobs.aside(q, kernels.WorkPlan, func(*sched.Worker) error {
				d.Program = program.New(region, nil, eval, t)
				return nil
			}, func(err error) {
				if err != nil { // a panic, or the session has ended
					d.Program = program.New(region, &wire.Fault{Kind: wire.Internal, Err: err}, eval, t)
				}
				d.ready = true
				e.Resume(q)
			})
			return queue.ForPlan
		}
		d.Program, d.ready = program.New(region, broken, eval, t), true
	}
	d := q.defining
	if !d.ready {
		return queue.ForPlan
	}
	q.defining = nil
	q.programs.Add(in.Key, d.Program, e.bounds)
	return 0
}

// Program finds the program that an instruction or a request names. One that left
// the order of its session took it along.
func (e *Executor) Program(q *Queue, key string) (*program.Program, error) {
	p := q.programs.Find(key)
	if q.from != nil && q.queue.Len() > 0 {
		p = q.queue.At(0).prog
	}
	switch {
	case p == nil:
		return nil, &wire.Fault{Kind: wire.UnknownProgram, Err: fmt.Errorf(
			"the session has no program under the key %x: it was never defined, or has been forgotten; define it again", key)}
	case p.Err != nil:
		return nil, p.Err
	}
	return p, nil
}

// programTarget is a copy of the device that programs are made for; nil where the host runs them.
func (e *Executor) programTarget() *synth.Target {
	if e.dev == nil {
		return nil
	}
	t := *e.kernels.Target()
	return &t
}
