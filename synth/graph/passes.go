package graph

import (
	"encoding/binary"
	"slices"

	"nxvk/ops"
)

// foldConstants computes scalars of literals. Tensors stay what makes them: they
// would have to be sent to the device in every run, and a kernel makes them for
// nothing.
func foldConstants(w *work) bool {
	if w.eval == nil {
		return false
	}
	return w.each(func(_ int, in *ops.Instr) bool {
		if in.Op.Info().Kind != ops.Pointwise || len(in.Outs[0].Type.Shape) > 0 || in.Outs[0].Type.DType.IsComplex() {
			return false
		}
		for _, o := range in.Ins {
			if o.Lit == nil || len(o.Lit.Type.Shape) > 0 || o.Lit.Hold != nil {
				return false
			}
		}
		data, err := w.eval(in)
		if err != nil {
			return false // it fails when it runs, too, and says so
		}
		return become(in, ops.Constant, []ops.Operand{{Lit: &ops.Literal{Type: in.Outs[0].Type, Data: data}}})
	})
}

// common takes the earlier one of two instructions that are the same.
func common(w *work) bool {
	known := make(map[string]int)
	return w.each(func(i int, in *ops.Instr) bool {
		if len(in.Regions) > 0 || len(in.Outs) == 0 {
			return false
		}
		key := structure(in)
		first, ok := known[key]
		if !ok {
			known[key] = i
			return false
		}
		return w.twin(i, &w.body[first])
	})
}

// twin makes the results of instruction i those of an earlier one.
func (w *work) twin(i int, first *ops.Instr) bool {
	in := &w.body[i]
	if len(in.Outs) == 1 {
		return w.forward(i, first.Outs[0].ID) ||
			in.Op != ops.Reshape && become(in, ops.Reshape, []ops.Operand{{ID: first.Outs[0].ID}})
	}
	if slices.ContainsFunc(in.Outs, func(o ops.Result) bool { return w.kept[o.ID] }) {
		return false
	}
	for k, o := range in.Outs {
		w.same[o.ID] = first.Outs[k].ID
	}
	w.gone[i] = true
	return true
}

// structure has everything of an instruction but the names of its results.
func structure(in *ops.Instr) string {
	key := binary.AppendUvarint(nil, uint64(in.Op))
	for _, o := range in.Outs {
		key = appendType(key, o.Type)
	}
	for _, o := range commuted(in) {
		if o.Lit == nil {
			key = binary.AppendUvarint(append(key, 0), uint64(o.ID))
			continue
		}
		key = append(appendType(append(key, 1), o.Lit.Type), o.Lit.Data[:o.Lit.Type.Bytes()]...)
	}
	for _, a := range in.Attrs {
		key = binary.AppendUvarint(key, uint64(len(a)))
		for _, n := range a {
			key = binary.AppendVarint(key, int64(n))
		}
	}
	return string(key)
}

// commuted is the operands in an order of their own where theirs makes no
// difference. Of two NaNs it does: devices give the first.
func commuted(in *ops.Instr) []ops.Operand {
	if len(in.Ins) != 2 || in.Op.Info().Flags&ops.Commutative == 0 || in.Op.Info().Compare || !in.Outs[0].Type.DType.IsInteger() {
		return in.Ins
	}
	a, b := in.Ins[0], in.Ins[1]
	if a.Lit == nil && (b.Lit != nil || b.ID >= a.ID) {
		return in.Ins
	}
	return []ops.Operand{b, a}
}

func appendType(key []byte, t ops.Type) []byte {
	key = append(key, byte(t.DType), byte(len(t.Shape)))
	for _, n := range t.Shape {
		key = binary.AppendUvarint(key, uint64(n))
	}
	return key
}

// dead leaves out what no value depends on.
func dead(w *work) (changed bool) {
	wanted := make(map[ops.ID]bool)
	for id := range w.kept {
		wanted[id] = true
	}
	for i, in := range slices.Backward(w.body) {
		if len(in.Outs) > 0 && !slices.ContainsFunc(in.Outs, func(o ops.Result) bool { return wanted[o.ID] }) {
			w.gone[i], changed = true, true
			continue
		}
		for _, o := range in.Ins {
			if o.Lit == nil {
				wanted[o.ID] = true
			}
		}
	}
	return changed
}
