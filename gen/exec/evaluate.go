package exec

import (
	"errors"
	"fmt"
	"runtime/debug"

	"nxvk/gen/etf"
	"nxvk/gen/exec/dispatch"
	"nxvk/gen/exec/hostjob"
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// evaluator carries out one instruction, of a stream or of a run, from where its queue stands.
type evaluator struct {
	*core
	library     *library
	interpreter *interpreter
	sharing     *sharing
	dispatcher  *dispatch.Dispatcher[*Queue] // computes values
	jobs        *hostjob.Jobs[*Queue]        // what the host computes of an instruction
	definer     Definer                      // of shaders; nil where there are none
}

// execute carries out one instruction, or returns why the queue has to wait; the instruction is then tried again
// from the start.
func (ev *evaluator) execute(q *Queue, in *wire.Instr) (wait queue.Wait) {
	if in.Op == ops.Run && in.Err == nil {
		if !ev.interpreter.runAsync(q, in) {
			wait = ev.interpreter.runProgram(q, in)
		}
	} else {
		wait = ev.try(q, in)
	}
	if wait == 0 {
		ev.counters.Instructions++
		release(in)
	}
	return wait
}

// release gives back the memory of literals that nothing has taken over.
func release(in *wire.Instr) {
	for i := range in.Ins {
		if lit := in.Ins[i].Lit; lit != nil && lit.Hold != nil {
			lit.Hold.(*etf.Binary).Release()
			lit.Hold = nil
		}
	}
}

func (ev *evaluator) try(q *Queue, in *wire.Instr) (wait queue.Wait) {
	defer func() {
		if r := recover(); r != nil {
			ev.cfg.Log.Error().Str("op", in.Name).Bytes("stack", debug.Stack()).Msgf("an instruction caused a panic and failed; please report this as a bug: %v", r)
			ev.poison(q, in, nil, &wire.Fault{Kind: wire.Internal, Err: fmt.Errorf("%v", r)})
			wait = 0
		}
	}()
	switch {
	case in.Op.IsCollective():
		return ev.sharing.communicate(q, in)
	case in.Err != nil:
		ev.poison(q, in, nil, in.Err)
	case in.Op == ops.Free:
		for _, id := range in.Attrs[0] {
			q.Session.Delete(ops.ID(id))
		}
	case in.Op == ops.Program:
		return ev.library.define(q, in)
	case in.Op == ops.Shader:
		if ev.definer != nil {
			ev.definer.Define(q, in)
		}
	case in.Op == ops.Forget:
		q.home().programs.Forget(in.Keys)
		if ev.definer != nil {
			ev.definer.Forget(q, in.Keys)
		}
	case q.run == nil && program.OnlyPrograms(in.Op): // a program carries out its control itself
		ev.poison(q, in, nil, &wire.Fault{Kind: wire.BadArgument, Err: errProgramOnly})
	case in.Op == ops.Import:
		return ev.sharing.importValue(q, in)
	case ev.feeds.Lost() != nil && !q.job.Busy():
		ev.poison(q, in, nil, ev.feeds.Lost())
	case q.failed != nil:
		ev.poison(q, in, nil, q.failed)
	default:
		return ev.compute(q, in)
	}
	return 0
}

var errProgramOnly = errors.New("belongs in a program, not in the stream")

// compute carries out an instruction that makes values.
func (ev *evaluator) compute(q *Queue, in *wire.Instr) (wait queue.Wait) {
	if q.job.Busy() {
		if wait, again := ev.jobs.Collect(q, in); !again {
			return wait
		}
	}
	w, err := q.gather(in)
	if err != nil {
		ev.poison(q, in, w.Types, err)
		return 0
	}
	defer w.Release()
	if !in.Checked {
		if err := w.In.Check(w.Types); err != nil {
			ev.poison(q, in, w.Types, &wire.Fault{Kind: wire.BadArgument, Err: err})
			return 0
		}
		in.Checked = q.run != nil && q.run.prog != nil
	}
	wait, err = ev.dispatcher.Run(q, w)
	if wait != 0 {
		return wait
	}
	if err != nil {
		ev.poison(q, in, w.Types, err)
	}
	return 0
}
