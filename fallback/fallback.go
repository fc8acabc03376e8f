package fallback

import (
	"fmt"

	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
	"nxvk/ops"
)

// Supports reports whether Run computes the operation.
func Supports(op ops.Op) bool { return dense.Lookup(op) != nil }

// Run computes an instruction that ops.Instr.Check has accepted. args are its
// operands, literals included; outs are its results, allocated by the caller
// with the types that the instruction states. It may use all processors.
func Run(in *ops.Instr, args, outs []Value) error { return carryOut(nil, in, args, outs) }

// RunOn is Run by a worker, which shares the processors with others. Where the
// computation is cancelled the error is sched.ErrCancelled, and the results hold
// anything.
func RunOn(w *sched.Worker, in *ops.Instr, args, outs []Value) error {
	return sched.Caught(func() error { return carryOut(w, in, args, outs) })
}

func carryOut(w *sched.Worker, in *ops.Instr, args, outs []Value) error {
	k := dense.Lookup(in.Op)
	if k == nil {
		return fmt.Errorf("%v: %w", in.Op, ErrUnsupported)
	}
	c := &dense.Call{Instr: in, Worker: w}
	if dense.Aligned(args) && dense.Aligned(outs) {
		return k(c, args, outs)
	}
	return dense.RunMoved(k, c, args, outs)
}
