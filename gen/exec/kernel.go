package exec

import (
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/queue"
)

// noteRefused counts and tells that the driver does not compile a kernel.
func (e *Executor) noteRefused(k *kernels.Kernel) {
	e.Counters.Refused++
	e.cfg.Log.Warn().Err(k.Err()).Str("kernel", k.Name).Msg("what needs the kernel is carried out without it, on the host at worst")
}

// ready reports whether all pipelines of a plan are made; the queue waits for
// the first that is not.
func (dp *dispatcher) ready(l *Queue, p *kernels.Plan) (wait queue.Wait, err error) {
	k, err := dp.exec.kernels.Ready(p)
	if k != nil {
		k.Then(func() { dp.exec.Resume(l) })
		return queue.ForKernel, nil
	}
	return 0, err
}

// plan returns how the device carries out work, or errors: kernels.ErrBeingMade where that is
// being found out.
func (e *Executor) plan(w *placement.Work) (*kernels.Plan, error) {
	p, made, err := e.kernels.Plan(w.Instr())
	if made {
		e.turns.Charge(queue.Look) // it takes as long as many instructions
	}
	return p, err
}
