package synth

import (
	"encoding/binary"
	"slices"

	"nxvk/ops"
	"nxvk/synth/kernel"
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

// computed is an element of a value that has not been wanted yet.
func (w *leapfrogWriter) computed(id ops.ID, idx []kernel.Value) kernel.Value {
	t := w.job.types[id]
	if at, kept := w.job.at[id]; kept {
		return w.LoadShared(w.mem, w.Add(w.int(at), w.flat(idx, t.Shape)))
	}
	if id == w.job.straight.Params[0].ID {
		return w.LoadShared(w.mem, w.place(leapQ, w.flat(idx, t.Shape)))
	}
	if buf, ok := w.job.data[id]; ok {
		return w.decode(t.DType, w.fetch(buf, w.flat(idx, t.Shape), 1)[0])
	}
	return w.made(w.job.maker[id], idx)
}

// literal is an element of a literal.
func (w *leapfrogWriter) literal(lit *ops.Literal, idx []kernel.Value) kernel.Value {
	d := lit.Type.DType
	if lit.Type.Size() != 1 {
		return w.fail(unsupported("a literal of %v", lit.Type))
	}
	bits := make([]byte, 8)
	copy(bits, lit.Data)
	raw := binary.LittleEndian.Uint64(bits)
	stored := storage[d]
	if kernel.IsSigned(stored.Type()) && stored.Size() < 4 { // as a load gives it
		shift := 64 - 8*stored.Size()
		raw = uint64(int64(raw<<shift) >> shift)
	}
	if kernel.TypeSize(wide(d)) == 4 {
		raw &= 1<<32 - 1
	}
	if _, narrow := formats[d]; narrow {
		return w.decode(d, w.Const(scalar.U32, raw))
	}
	return w.Const(wide(d), raw)
}

// made computes an element of an instruction's result.
func (w *leapfrogWriter) made(in *ops.Instr, idx []kernel.Value) kernel.Value {
	if in.Op == ops.AsType {
		from, to := w.job.typeOf(in.Ins[0]).DType, in.Outs[0].Type.DType
		return w.stored(to, w.convert(w.element(in.Ins[0], idx), from, to))
	}
	if in.Op.Info().Kind == ops.Pointwise {
		return w.pointwise(in, idx)
	}
	if takesMany(in) {
		return w.inline(in, idx)
	}
	if view, ok := leapfrogViews[in.Op]; ok {
		return view(w, in, idx)
	}
	return w.fail(unsupported("%v in a leapfrog kernel", in.Op))
}

// stored is what storing an element and loading it again gives.
func (w *leapfrogWriter) stored(d ops.DType, x kernel.Value) kernel.Value {
	if storage[d].Size() >= 4 {
		return x
	}
	return w.restored(d, w.encode(d, x))
}

// stretched are the coordinates of an operand that is broadcast.
func (w *leapfrogWriter) stretched(idx []kernel.Value, s ops.Shape) []kernel.Value {
	own := slices.Clone(idx[len(idx)-len(s):])
	for d, n := range s {
		if n == 1 {
			own[d] = w.int(0)
		}
	}
	return own
}

// pointwise applies an operation of the table to elements.
func (w *leapfrogWriter) pointwise(in *ops.Instr, idx []kernel.Value) kernel.Value {
	types := make([]ops.Type, len(in.Ins))
	for i, o := range in.Ins {
		types[i] = w.job.typeOf(o)
	}
	info, out, c := in.Op.Info(), in.Outs[0].Type.DType, w.t.computeType(in, types)
	truths := truthsOf(info)
	f, err := w.t.expression(info.Code, c, len(types), truths)
	if err != nil {
		return w.fail(err)
	}
	args := make([]kernel.Value, len(types))
	for i, o := range in.Ins {
		x := w.element(o, w.stretched(idx, types[i].Shape))
		if i < truths {
			args[i] = w.truth(x)
		} else {
			args[i] = w.convert(x, types[i].DType, c)
		}
	}
	x := w.Inline(f, args)
	if w.Type(x) == scalar.Bool {
		x = w.Convert(x, wide(out))
	} else {
		x = w.convert(x, c, out)
	}
	return w.stored(out, x)
}
