package exec

import (
	"nxvk/fallback"
	"nxvk/fallback/sched"
	"nxvk/gen/exec/queue"
	"nxvk/ops"
)

// manyIndices is how many elements of inlineCost it takes to look at an index.
const manyIndices = 16

// checkIndices looks at the operand of indices before a device uses it: one that
// is out of bounds is an error, and a kernel has no way to say so. Indices that
// are only on the device are read back first, once.
func (e *Executor) checkIndices(l *Queue, w *work) (wait queue.Wait, err error) {
	if w.in.Op.Info().Kind != ops.Index {
		return 0, nil
	}
	idx := fallback.Value{Type: w.types[1]}
	switch m := w.args[1]; {
	case m == nil:
		idx.Data = w.in.Ins[1].Lit.Data
	case !m.Bring():
		return e.readBack(l, m, w.types[1])
	default:
		idx.Data = m.Host
	}
	switch shape := w.types[0].Shape; {
	case l.settled == w.of:
		return 0, nil
	case idx.Type.Size() > inlineCost/manyIndices:
		in := w.in
		e.startJob(l, w, workIndices, nil, func(*sched.Worker) error { return fallback.CheckIndices(in, shape, idx) }, nil)
		return queue.ForHost, nil
	}
	if err := fallback.CheckIndices(w.in, w.types[0].Shape, idx); err != nil {
		return 0, hostError(err)
	}
	return 0, nil
}
