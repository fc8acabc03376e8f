package exec

import (
	"fmt"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/ops/shard"
	"nxvk/synth"
	"nxvk/synth/graph"
	"nxvk/synth/spmd"
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
		eval, region, broken, t, share := e.specializer.Evaluator(), in.Program, in.Broken, e.programTarget(), in.Share
		if broken == nil && program.TakesLong(region) {
			e.jobs.AsideFor(q, kernels.WorkPlan, func(*sched.Worker) error {
				d.Program = newProgram(region, share, nil, eval, t)
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
		d.Program, d.ready = newProgram(region, share, broken, eval, t), true
	}
	d := q.defining
	if !d.ready {
		return queue.ForPlan
	}
	q.defining = nil
	q.programs.Add(in.Key, d.Program, e.bounds)
	return 0
}

// newProgram makes a program of a region, or of one rank's share of it.
func newProgram(r *ops.Region, share *shard.Share, broken error, eval graph.Eval, t *synth.Target) *program.Program {
	if share == nil || broken != nil {
		return program.New(r, broken, eval, t)
	}
	if _, err := r.CheckProgram(); err != nil {
		return program.New(r, &wire.Fault{Kind: wire.BadArgument, Err: err}, eval, t)
	}
	part, err := spmd.Partition(r, share)
	if err != nil {
		return program.New(r, &wire.Fault{Kind: wire.BadArgument, Err: err}, eval, t)
	}
	p := program.New(part.Region, nil, eval, t)
	p.Share = part
	return p
}

// Shares tells how the values of a program are divided over its mesh, and what that takes.
func (e *Executor) Shares(q *Queue, key string, done func(*spmd.Result, error)) {
	e.Do(q, func(q *Queue) queue.Wait {
		p, err := e.Program(q, key)
		if err == nil && p.Share == nil {
			err = &wire.Fault{Kind: wire.BadArgument, Err: fmt.Errorf("the program was defined whole, without a share")}
		}
		if err != nil {
			done(nil, err)
			return 0
		}
		done(p.Share, nil)
		return 0
	})
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
