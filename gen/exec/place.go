package exec

import (
	"errors"

	"nxvk/fallback"
	"nxvk/fallback/sched"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// hostLimit is how many elements an instruction may touch to stay on the
// host. A GPU answers a submission in some 15 µs; a software device computes
// on the same cores and only adds its own overhead.
func hostLimit(info vulkan.Info) int {
	if info.Kind == vulkan.CPU {
		return 4096
	}
	return 512
}

// place carries out work where it belongs. The choice looks at the operation,
// the sizes and where the operands are, never at the clock.
func (e *Executor) place(l *Queue, w *work) (wait queue.Wait, err error) {
	if w.in.Op == ops.Tensor {
		return e.upload(l, w)
	}
	w.settleLiterals()
	if m := w.alias(); m != nil {
		e.keep(l, w.in.Outs[0], m)
		return 0, nil
	}
	if e.dev == nil || l.verdict == nil && e.small(w) {
		return e.runOnHost(l, w)
	}
	if err := w.settleStarts(); err != nil {
		return 0, err
	}
	if err := checkIndex(w); err != nil {
		return 0, err
	}
	p, err := e.plan(w)
	switch {
	case err == kernels.ErrBeingMade:
		p.Then(func() { e.Resume(l) })
		return queue.ForPlan, nil
	case errors.Is(err, synth.ErrUnsupported):
		e.Counters.Fallbacks++
		return e.runOnHost(l, w)
	case err != nil:
		return 0, err
	case p.Alias >= 0:
		e.keep(l, w.in.Outs[0], w.args[p.Alias])
		return 0, nil
	}
	if wait, err = e.carryOut(l, w, p); kernels.Refused(err) {
		e.Counters.Fallbacks++
		return e.runOnHost(l, w)
	}
	return wait, err
}

// alias returns the memory of the operand where the result is the same bytes.
func (w *work) alias() *store.Storage {
	if len(w.args) != 1 || w.args[0] == nil || !w.sameBytes() {
		return nil
	}
	return w.args[0]
}

// sameBytes reports whether the result of an operation on one operand is its bytes.
func (w *work) sameBytes() bool {
	if len(w.types) != 1 {
		return false
	}
	same := w.in.Outs[0].Type.DType == w.types[0].DType
	switch w.in.Op {
	case ops.Reshape, ops.Squeeze, ops.Bitcast:
		return true
	case ops.AsType:
		return same
	case ops.BroadcastTo, ops.Transpose:
		return same && w.in.Outs[0].Type.Shape.Equal(w.types[0].Shape) && increasing(w.in.Attrs[0])
	}
	return false
}

func increasing(axes []int) bool {
	for i, a := range axes {
		if a != i {
			return false
		}
	}
	return true
}

// small reports whether work is sooner done on the host: its operands are
// there, and there is little of it.
func (e *Executor) small(w *work) bool {
	touched := 0
	for _, r := range w.in.Outs {
		touched = max(touched, r.Type.Size())
	}
	for i, m := range w.args {
		if m == nil {
			continue
		}
		if !m.OnHost() {
			return false
		}
		touched = max(touched, w.types[i].Size())
	}
	if touched > e.limit {
		return false
	}
	if w.in.Op == ops.Dot {
		return touched*contracted(w) <= 16*e.limit
	}
	return true
}

// contracted is how many products each element of a dot sums.
func contracted(w *work) int {
	n := 1
	for _, a := range w.in.Attrs[0] {
		n *= w.types[0].Shape[a]
	}
	return n
}

// runOnHost computes work with package fallback. Operands that are only on the
// device are read back first.
func (e *Executor) runOnHost(l *Queue, w *work) (wait queue.Wait, err error) {
	for i, m := range w.args {
		if m != nil && !m.Bring() {
			return e.readBack(l, m, w.types[i])
		}
	}
	args := make([]fallback.Value, len(w.args))
	for i, m := range w.args {
		data := []byte(nil)
		if m != nil {
			data = m.Host
		} else {
			data = w.in.Ins[i].Lit.Data
		}
		args[i] = fallback.Value{Type: w.types[i], Data: data}
	}
	mems, wait, err := e.hostResults(l, w)
	if wait != 0 || err != nil {
		return wait, err
	}
	outs := make([]fallback.Value, len(mems))
	for i, m := range mems {
		outs[i] = fallback.Value{Type: w.in.Outs[i].Type, Data: m.Host}
	}
	defer dropAll(mems)
	give := func() error {
		e.Counters.Host++
		for i, m := range mems {
			e.keep(l, w.in.Outs[i], m)
		}
		return nil
	}
	if cost := hostCost(w.in, w.types); cost > inlineCost {
		in := w.in
		e.startJob(l, w, workInstruction, mems, func(by *sched.Worker) error { return fallback.RunOn(by, in, args, outs) }, give)
		return queue.ForHost, nil
	} else {
		e.turns.Charge(cost >> 12)
	}
	if err := fallback.Run(w.in, args, outs); err != nil {
		return 0, hostError(err)
	}
	return 0, give()
}
