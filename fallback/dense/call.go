package dense

import (
	"nxvk/fallback/sched"
	"nxvk/ops"
)

// Call is an instruction with the worker that carries it out.
type Call struct {
	*ops.Instr
	Worker *sched.Worker
}

// On returns the same call for another worker.
func (c *Call) On(w *sched.Worker) *Call { return &Call{c.Instr, w} }

// Kernel carries out the instructions of one operation. The instruction has
// been checked against the types of args and outs.
type Kernel func(in *Call, args, outs []Value) error

// kernels has an entry for each operation that the host computes. Package fallback fills
// it: a reduction by a function runs instructions of any operation, so kernels cannot
// import each other.
var kernels [ops.Count]Kernel

// Register enters the kernels of operations. All are entered before the first is looked up.
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
