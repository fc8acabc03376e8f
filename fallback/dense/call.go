package dense

import (
	"nxvk/fallback/sched"
	"nxvk/ops"
)

// Call is an instruction that is carried out, and the worker that does it.
type Call struct {
	*ops.Instr
	Worker *sched.Worker
}

// On is the call as another worker carries it out.
func (c *Call) On(w *sched.Worker) *Call { return &Call{c.Instr, w} }

// Kernel carries out the instructions of one operation. The instruction has
// been checked against the types of args and outs.
type Kernel func(in *Call, args, outs []Value) error

// kernels has an entry for each operation that the host computes. The functions of
// reductions run instructions, and so look kernels up, which is why the table is filled
// from above.
var kernels [ops.Count]Kernel

// Register enters the kernels of operations. It is called before any is looked up.
func Register(family map[ops.Op]Kernel) {
	for op, k := range family {
		kernels[op] = k
	}
}

// Lookup returns the kernel of an operation, or nil where the host computes none.
func Lookup(op ops.Op) Kernel {
	if op >= ops.Count {
		return nil
	}
	return kernels[op]
}
