package exchange

import (
	"encoding/binary"

	"nxvk/gen/exec/mesh/schedule"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// combine records the combination of the chunks of all ranks.
func (r *Rank) combine(c schedule.Command) error {
	p := r.plans[c.Bytes]
	for i := range p.Steps {
		step := &p.Steps[i]
		args := make([]vulkan.Arg, len(step.Args))
		for k, a := range step.Args {
			from := c.To
			if a.Ref.Kind == synth.Operand {
				from = c.From
			}
			ref := from[a.Ref.Index]
			size := a.Bytes
			if size == 0 {
				size = c.Bytes - a.Offset
			}
			args[k] = vulkan.Arg{Buffer: r.memory[ref.In], Offset: ref.Offset + a.Offset, Size: size, Access: vulkan.Access(a.Access)}
		}
		p.Kernels[i].Ran()
		p.Kernels[i].NameOp(func() string { return r.in.Op.String() })
		if err := r.compute.DispatchStep(p.Kernels[i], step, args); err != nil {
			return err
		}
	}
	return nil
}

// combinationKey is the signature of a combination.
func combinationKey(op ops.Op, d ops.DType, ranks, results, elements int) string {
	key := []byte("combination")
	for _, n := range []int{int(op), int(d), ranks, results, elements} {
		key = binary.AppendUvarint(key, uint64(n))
	}
	return string(key)
}

// lowerCombination plans the combination of a chunk of each rank, in their order.
func lowerCombination(op ops.Op, d ops.DType, ranks, results, elements int) func(*synth.Target) (*synth.Plan, error) {
	f, types := combination(op, d, ranks, results, elements)
	return func(t *synth.Target) (*synth.Plan, error) {
		return synth.LowerFusion(f, func(id ops.ID) ops.Type { return types[id] }, t)
	}
}

// combination is the fusion that combines a chunk of each rank. Two results are the same: one for the memory
// of the device and one for the others. Sums and products of bf16 and f16 are rounded once, at the end, as those
// that the host computes.
func combination(op ops.Op, d ops.DType, ranks, results, elements int) (*synth.Fusion, map[ops.ID]ops.Type) {
	narrow := ops.Type{DType: d, Shape: ops.Shape{elements}}
	wide := narrow
	if (d == ops.BF16 || d == ops.F16) && ranks > 2 && (op == ops.Add || op == ops.Multiply) {
		wide.DType = ops.F32
	}
	f, types := &synth.Fusion{}, make(map[ops.ID]ops.Type)
	next := ops.ID(ranks)
	apply := func(op ops.Op, t ops.Type, ins ...ops.ID) ops.ID {
		next++
		in := ops.Instr{Op: op, Outs: []ops.Result{{ID: next, Type: t}}}
		for _, id := range ins {
			in.Ins = append(in.Ins, ops.Operand{ID: id})
		}
		f.Body, types[next] = append(f.Body, in), t
		return next
	}
	widened := func(id ops.ID) ops.ID {
		if wide.DType == d {
			return id
		}
		return apply(ops.AsType, wide, id)
	}
	for r := 1; r <= ranks; r++ {
		f.Ins, types[ops.ID(r)] = append(f.Ins, ops.ID(r)), narrow
	}
	sum := widened(1)
	for r := 2; r <= ranks; r++ {
		sum = apply(op, wide, sum, widened(ops.ID(r)))
	}
	if wide.DType != d {
		sum = apply(ops.AsType, narrow, sum)
	}
	f.Outs = []ops.Result{{ID: sum, Type: narrow}}
	if results > 1 {
		f.Outs = append(f.Outs, ops.Result{ID: apply(ops.AsType, narrow, sum), Type: narrow})
	}
	return f, types
}
