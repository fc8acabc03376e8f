package mesh

import (
	"nxvk/fallback"
	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
	"nxvk/gen/exec/devcopy"
	"nxvk/ops"
)

// combine applies a pointwise operation to chunks of all ranks, in their order. Sums and products of bf16 and
// f16 are rounded once, at the end: they are computed in f32. The result takes the place of a chunk that may be written.
func combine(w *sched.Worker, op ops.Op, d ops.DType, list []devcopy.Chunk) ([]byte, error) {
	n := len(list[0].Bytes) / d.Size()
	in := ops.Type{DType: d, Shape: ops.Shape{n}}
	acc := in
	if narrow := d == ops.BF16 || d == ops.F16; narrow && len(list) > 2 && (op == ops.Add || op == ops.Multiply) {
		acc.DType = ops.F32
	}
	sum := fallback.Value{Type: in, Data: list[0].Bytes}
	for _, k := range list[1:] {
		var next fallback.Value
		if k.Own && acc.DType == d {
			next = fallback.Value{Type: in, Data: k.Bytes}
		} else {
			next = dense.New(acc)
		}
		if err := apply(w, op, []fallback.Value{sum, {Type: in, Data: k.Bytes}}, next); err != nil {
			return nil, err
		}
		sum = next
	}
	if len(list) > 1 && acc.DType == d {
		return sum.Data, nil
	}
	out := dense.New(in)
	err := apply(w, ops.AsType, []fallback.Value{sum}, out)
	return out.Data, err
}

// apply computes a pointwise operation.
func apply(w *sched.Worker, op ops.Op, args []fallback.Value, out fallback.Value) error {
	instr := &ops.Instr{Op: op, Ins: make([]ops.Operand, len(args)), Outs: []ops.Result{{Type: out.Type}}}
	for i := range instr.Ins {
		instr.Ins[i].ID = ops.ID(i + 1)
	}
	outs := []fallback.Value{out}
	if w == nil {
		return fallback.Run(instr, args, outs)
	}
	return fallback.RunOn(w, instr, args, outs)
}
