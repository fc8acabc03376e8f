package leapfrog

import (
	"encoding/binary"
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// element gives an element of an operand, in the type that computes its own.
func (w *leapfrogWriter) element(o ops.Operand, idx []kernel.Value) kernel.Value {
	if o.Lit != nil {
		return w.literal(o.Lit, idx)
	}
	key := w.key(o.ID, idx)
	x, ok := w.memo[key]
	if !ok {
		x = w.computed(o.ID, idx)
		w.memo[key] = x
	}
	return x
}

func (w *leapfrogWriter) elementAt(x elementAt) kernel.Value { return w.element(x.operand, x.idx) }

// elements computes several elements side by side: a device does not wait for the
// end of one function to begin the next, and one branch handles the rare cases of
// all of them.
func (w *leapfrogWriter) elements(all []elementAt) {
	groups := map[*ops.Instr][]elementAt{}
	var order []*ops.Instr
	seen := map[string]bool{}
	for _, x := range all {
		in, ok := w.pointwiseProducer(x.operand)
		if !ok {
			continue
		}
		key := w.key(x.operand.ID, x.idx)
		if _, have := w.memo[key]; have || seen[key] {
			continue
		}
		seen[key] = true
		if groups[in] == nil {
			order = append(order, in)
		}
		groups[in] = append(groups[in], x)
	}
	for _, in := range order {
		w.alike(in, groups[in])
	}
}

// pointwiseProducer is the operation that computes an operand where it is wanted, if
// it is one that has an element for an element.
func (w *leapfrogWriter) pointwiseProducer(o ops.Operand) (*ops.Instr, bool) {
	in := w.job.producer[o.ID]
	if _, kept := w.job.at[o.ID]; o.Lit != nil || kept || in == nil {
		return nil, false
	}
	return in, in.Op.Info().Kind == ops.Pointwise
}

// alike computes several elements of a result side by side.
func (w *leapfrogWriter) alike(in *ops.Instr, list []elementAt) {
	var operands []elementAt
	for _, o := range in.Ins {
		s := w.job.typeOf(o).Shape
		for _, x := range list {
			operands = append(operands, elementAt{o, w.stretched(x.idx, s)})
		}
	}
	w.elements(operands)
	idxs := make([][]kernel.Value, len(list))
	for i, x := range list {
		idxs[i] = x.idx
	}
	for i, v := range w.pointwise(in, idxs) {
		w.memo[w.key(list[i].operand.ID, list[i].idx)] = v
	}
}

// computed is an element of a value that has not been wanted yet.
func (w *leapfrogWriter) computed(id ops.ID, idx []kernel.Value) kernel.Value {
	t := w.job.types[id]
	if at, kept := w.job.at[id]; kept {
		return w.LoadShared(w.mem, w.Add(w.Index(at), w.flat(idx, t.Shape)))
	}
	if id == w.job.straight.Params[0].ID {
		return w.LoadShared(w.mem, w.place(leapQ, w.flat(idx, t.Shape)))
	}
	if buf, ok := w.job.data[id]; ok {
		return w.Decode(t.DType, w.Fetch(buf, w.flat(idx, t.Shape), 1)[0])
	}
	return w.made(w.job.producer[id], idx)
}

// literal is an element of a literal.
func (w *leapfrogWriter) literal(lit *ops.Literal, idx []kernel.Value) kernel.Value {
	d := lit.Type.DType
	if lit.Type.Size() != 1 {
		return w.fail(lowering.Unsupported("a literal of %v", lit.Type))
	}
	bits := make([]byte, 8)
	copy(bits, lit.Data)
	raw := binary.LittleEndian.Uint64(bits)
	stored := lowering.ElemOf[d]
	if kernel.IsSigned(stored.Type()) && stored.Size() < 4 { // as a load gives it
		shift := 64 - 8*stored.Size()
		raw = uint64(int64(raw<<shift) >> shift)
	}
	if kernel.TypeSize(codegen.WideType(d)) == 4 {
		raw &= 1<<32 - 1
	}
	if _, narrow := codegen.Formats[d]; narrow {
		return w.Decode(d, w.Const(scalar.U32, raw))
	}
	return w.Const(codegen.WideType(d), raw)
}

// made computes an element of an instruction's result.
func (w *leapfrogWriter) made(in *ops.Instr, idx []kernel.Value) kernel.Value {
	if in.Op == ops.AsType {
		from, to := w.job.typeOf(in.Ins[0]).DType, in.Outs[0].Type.DType
		return w.stored(to, w.Cast(w.element(in.Ins[0], idx), from, to))
	}
	if in.Op.Info().Kind == ops.Pointwise {
		return w.pointwise(in, [][]kernel.Value{idx})[0]
	}
	if takesMany(in) {
		return w.inline(in, idx)
	}
	if view, ok := leapfrogViews[in.Op]; ok {
		return view(w, in, idx)
	}
	return w.fail(lowering.Unsupported("%v in a leapfrog kernel", in.Op))
}

// stored is what storing an element and loading it again gives.
func (w *leapfrogWriter) stored(d ops.DType, x kernel.Value) kernel.Value {
	values, _ := w.Settle(d, []kernel.Value{x})
	return values[0]
}

// stretched are the coordinates of an operand that is broadcast.
func (w *leapfrogWriter) stretched(idx []kernel.Value, s ops.Shape) []kernel.Value {
	own := slices.Clone(idx[len(idx)-len(s):])
	for d, n := range s {
		if n == 1 {
			own[d] = w.Index(0)
		}
	}
	return own
}

// pointwise applies an operation of the table to elements, given by their
// coordinates.
func (w *leapfrogWriter) pointwise(in *ops.Instr, idxs [][]kernel.Value) []kernel.Value {
	types := make([]ops.Type, len(in.Ins))
	for i, o := range in.Ins {
		types[i] = w.job.typeOf(o)
	}
	info, out, c := in.Op.Info(), in.Outs[0].Type.DType, codegen.ComputeType(w.Target, in, types)
	truths := codegen.Conditions(info)
	f, err := codegen.Expression(w.Target, info.Code, c, len(types), truths)
	if err != nil {
		return slices.Repeat([]kernel.Value{w.fail(err)}, len(idxs))
	}
	args := make([][]kernel.Value, len(idxs))
	for p, idx := range idxs {
		for i, o := range in.Ins {
			x := w.element(o, w.stretched(idx, types[i].Shape))
			if i < truths {
				x = w.IsTrue(x)
			} else {
				x = w.Cast(x, types[i].DType, c)
			}
			args[p] = append(args[p], x)
		}
	}
	xs := make([]kernel.Value, len(idxs))
	for p, of := range w.InlineEach(f, args) {
		x := of[0]
		if w.Type(x) == scalar.Bool {
			x = w.Convert(x, codegen.WideType(out))
		} else {
			x = w.Cast(x, c, out)
		}
		xs[p] = w.stored(out, x)
	}
	return xs
}
