package exec

import (
	"fmt"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/explain"
	"nxvk/gen/exec/hostjob"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/exec/target"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/ops/shard"
	"nxvk/synth"
	"nxvk/synth/graph"
	"nxvk/synth/spmd"
)

// library has the programs of sessions: it makes them when they are defined, finds them for runs, and tells how they
// are divided and carried out.
type library struct {
	*core
	queues      *scheduler
	bounds      *program.Bounds
	specializer *program.Specializer // evaluates constants
	kernels     *kernels.Cache
	jobs        *hostjob.Jobs[*Queue]                   // long definitions and explanations
	onHost      func([]kernels.Instr, *synth.Plan) bool // whether the host carries out a plan in the device's stead
}

// definition is a program that is being made.
type definition struct {
	*program.Program
	ready bool
}

// define keeps the definition of a program. A key that is defined stays as it
// is.
func (l *library) define(q *Queue, in *wire.Instr) (wait queue.Wait) {
	if q.programs.Find(in.Key) != nil {
		return 0
	}
	if q.defining == nil {
		d := &definition{}
		q.defining = d
		eval, region, broken, t, share := l.specializer.Evaluator(), in.Program, in.Broken, l.programTarget(), in.Share
		if broken == nil && program.TakesLong(region) {
			l.jobs.AsideFor(q, kernels.WorkPlan, func(*sched.Worker) error {
				d.Program = newProgram(region, share, nil, eval, t)
				return nil
			}, func(err error) {
				if err != nil { // a panic, or the session has ended
					d.Program = program.New(region, &wire.Fault{Kind: wire.Internal, Err: err}, eval, t)
				}
				d.ready = true
				l.queues.Resume(q)
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
	q.programs.Add(in.Key, d.Program, l.bounds)
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
	part, err := spmd.Partition(synth.Divisible(r), share)
	if err != nil {
		return program.New(r, &wire.Fault{Kind: wire.BadArgument, Err: err}, eval, t)
	}
	p := program.New(part.Region, nil, eval, t)
	p.Share = part
	return p
}

// Shares tells how the values of a program are divided over its mesh, and what that takes.
func (l *library) Shares(q *Queue, key string, done func(*spmd.Result, error)) {
	l.queues.Do(q, func(q *Queue) queue.Wait {
		p, err := l.Program(q, key)
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
func (l *library) Program(q *Queue, key string) (*program.Program, error) {
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
func (l *library) programTarget() *synth.Target {
	if l.dev == nil {
		return nil
	}
	t := *l.kernels.Target()
	return &t
}

// Explanations are the ways in which Explain tells about a program.
type Explanations int

// The ways.
const (
	Planned  Explanations = iota // how this device carries it out
	Measured                     // the same, and the parts that the device carries out are measured
	OnGPU                        // how a GPU like target.GPU would carry it out
)

// Explain tells how a program of the session is carried out once it has been seen
// before, in the order in which it runs. Loops are told once.
func (l *library) Explain(q *Queue, key string, way Explanations, done func([]explain.Part, error)) {
	l.queues.Do(q, func(q *Queue) queue.Wait {
		p, err := l.Program(q, key)
		if err != nil {
			done(nil, err)
			return 0
		}
		prepared := explain.Prepare(p, l.rules(way))
		var x *explain.Explanation
		l.jobs.AsideFor(q, hostjob.WorkExplain, func(*sched.Worker) (err error) {
			x, err = prepared()
			return err
		}, func(err error) {
			switch {
			case err != nil:
				done(nil, err)
			case way != Measured || l.dev == nil:
				done(x.Parts, nil)
			default:
				explain.Profiler{Device: l.dev, Feeds: l.feeds, Kernels: l.kernels, Post: l.cfg.Post}.Measure(x, done)
			}
		})
		return 0
	})
}

// rules are what decides how a program is carried out.
func (l *library) rules(way Explanations) explain.Rules {
	if way == OnGPU {
		t := target.GPU()
		t.Off = l.target.Off
		return explain.Rules{Device: true, Fuses: true, Other: true, Target: t, Eval: l.specializer.Evaluator(), Cost: target.Seconds}
	}
	return explain.Rules{Device: l.dev != nil, Fuses: l.fuses(), Target: l.target, Eval: l.specializer.Evaluator(),
		Cost: l.feeds.Seconds, Stead: l.onHost}
}
