package leapfrog

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// folded describes a fold: the indices that it goes over for an output, where
// its elements lie, the function that it applies to them, and the operator that
// joins them.
type folded struct {
	over     ops.Shape
	start    kernel.Value
	places   func(out, inner []kernel.Value) []elementAt
	element  func(out, inner []kernel.Value) kernel.Value
	operator func(x, y kernel.Value) kernel.Value
}

// elementAt names an element of an operand.
type elementAt struct {
	operand ops.Operand
	idx     []kernel.Value
}

// fold computes what folds elements of its operands: an output an invocation
// where there are many outputs, else an output after the other, each by all
// invocations, which join as a tree.
func (w *leapfrogWriter) fold(in *ops.Instr) {
	f, ok := w.foldOf(in)
	if !ok {
		return
	}
	out := in.Outs[0]
	at, shape := w.Index(w.job.at[out.ID]), out.Type.Shape
	if n := shape.Size(); w.Local == 1 || n >= w.job.width/2 {
		w.each(n, func(i kernel.Value) {
			idx := w.coordinates(i, shape)
			w.StoreShared(w.mem, w.Add(at, i), w.strided(f, idx, w.Index(0), w.Index(1)))
		})
		return
	}
	w.For(w.Index(0), w.Index(shape.Size()), w.Index(1), func(i kernel.Value) {
		w.StoreShared(w.scratch, w.me, w.strided(f, w.coordinates(i, shape), w.me, w.Index(w.job.width)))
		w.ReduceTree(w.job.width, func(into, from kernel.Value) {
			w.StoreShared(w.scratch, into, f.operator(w.LoadShared(w.scratch, into), w.LoadShared(w.scratch, from)))
		})
		w.IfThen(w.IsEqual(w.me, w.Index(0)), func() {
			w.StoreShared(w.mem, w.Add(at, i), w.LoadShared(w.scratch, w.Index(0)))
		})
		w.Barrier() // the scratch is free again
	})
}

// strided folds the elements first, first+step, … of an output.
func (w *leapfrogWriter) strided(f folded, out []kernel.Value, first, step kernel.Value) kernel.Value {
	return w.Loop(first, w.Index(f.over.Size()), step, []kernel.Value{f.start}, func(i kernel.Value, acc []kernel.Value) (next []kernel.Value) {
		w.apart(func() { next = append(next, f.operator(acc[0], f.element(out, w.coordinates(i, f.over)))) })
		return next
	})[0]
}

// unrolled is how many elements a fold takes that has no loop.
const unrolled = 8

// inline folds the few elements of an output where it is wanted.
func (w *leapfrogWriter) inline(in *ops.Instr, out []kernel.Value) kernel.Value {
	f, ok := w.foldOf(in)
	if !ok {
		return w.Float(codegen.WideType(w.job.num), 0)
	}
	n := f.over.Size()
	if n > unrolled {
		return w.strided(f, out, w.Index(0), w.Index(1))
	}
	x := f.start
	if f.places != nil {
		var all []elementAt
		for i := range n {
			all = append(all, f.places(out, w.fixed(i, f.over))...)
		}
		w.elements(all)
	}
	for i := range n {
		x = f.operator(x, f.element(out, w.fixed(i, f.over)))
	}
	return x
}

func (w *leapfrogWriter) foldOf(in *ops.Instr) (folded, bool) {
	switch {
	case in.Op == ops.Dot:
		return w.dotOf(in), true
	case in.Op == ops.IndexedAdd:
		return w.addedOf(in)
	}
	return w.reduceOf(in)
}

// reduceOf is a reduction over axes.
func (w *leapfrogWriter) reduceOf(in *ops.Instr) (f folded, ok bool) {
	t, d := w.job.typeOf(in.Ins[0]), in.Outs[0].Type.DType
	info := in.Op.Info()
	operator, err := codegen.Expression(w.Target, info.Code, d, 2, 0)
	if err == nil {
		var identity *scalar.Func
		if identity, err = codegen.Expression(w.Target, info.Identity, d, 0, 0); err == nil {
			f.start = w.Inline(identity, nil)
		}
	}
	if err != nil {
		w.fail(err)
		return f, false
	}
	f.operator = func(x, y kernel.Value) kernel.Value { return w.Inline(operator, []kernel.Value{x, y}) }
	f.over = w.job.foldShape(in)
	keep := in.Attrs[1][0] != 0
	f.places = func(out, inner []kernel.Value) []elementAt {
		idx := make([]kernel.Value, len(t.Shape))
		for a := range idx {
			if slices.Contains(in.Attrs[0], a) {
				idx[a], inner = inner[0], inner[1:]
				if keep {
					out = out[1:]
				}
			} else {
				idx[a], out = out[0], out[1:]
			}
		}
		return []elementAt{{in.Ins[0], idx}}
	}
	f.element = func(out, inner []kernel.Value) kernel.Value {
		return w.Cast(w.elementAt(f.places(out, inner)[0]), t.DType, d)
	}
	return f, true
}

// sums is the fold that adds.
func (w *leapfrogWriter) sums() folded {
	return folded{start: w.Float(codegen.WideType(w.job.num), 0), operator: func(x, y kernel.Value) kernel.Value { return w.Add(x, y) }}
}

// dotOf is a sum of products.
func (w *leapfrogWriter) dotOf(in *ops.Instr) folded {
	f := w.sums()
	l, r := w.job.typeOf(in.Ins[0]), w.job.typeOf(in.Ins[1])
	f.over = w.job.foldShape(in)
	d := in.Outs[0].Type.DType
	f.places = func(out, inner []kernel.Value) []elementAt {
		batch, rest := out[:len(in.Attrs[1])], out[len(in.Attrs[1]):]
		side := func(t ops.Type, axes, batches []int) []kernel.Value {
			idx := make([]kernel.Value, len(t.Shape))
			for a := range idx {
				if k := slices.Index(axes, a); k >= 0 {
					idx[a] = inner[k]
				} else if k := slices.Index(batches, a); k >= 0 {
					idx[a] = batch[k]
				} else {
					idx[a], rest = rest[0], rest[1:]
				}
			}
			return idx
		}
		return []elementAt{{in.Ins[0], side(l, in.Attrs[0], in.Attrs[1])}, {in.Ins[1], side(r, in.Attrs[2], in.Attrs[3])}}
	}
	f.element = func(out, inner []kernel.Value) kernel.Value {
		at := f.places(out, inner)
		x, y := w.elementAt(at[0]), w.elementAt(at[1])
		return w.Mul(w.Cast(x, l.DType, d), w.Cast(y, r.DType, d))
	}
	return f
}

// addedOf is the element of a vector with all updates whose index is its place:
// the gradient of take.
func (w *leapfrogWriter) addedOf(in *ops.Instr) (f folded, ok bool) {
	t, index := w.job.typeOf(in.Ins[0]), w.job.typeOf(in.Ins[1])
	if len(t.Shape) != 1 || index.Shape[len(index.Shape)-1] != 1 {
		w.fail(lowering.Unsupported("indexed_add to %v", t))
		return f, false
	}
	f = w.sums()
	places := index.Shape[:len(index.Shape)-1]
	f.over = w.job.foldShape(in)
	d := in.Outs[0].Type.DType
	f.element = func(out, inner []kernel.Value) kernel.Value {
		i := inner[0]
		first := w.IsEqual(i, w.Index(0))
		at := w.Select(first, w.Index(0), w.Sub(i, w.Index(1)))
		idx := w.coordinates(at, places)
		place := w.Clamp(w.element(in.Ins[1], append(slices.Clone(idx), w.Index(0))), w.Index(t.Shape[0]-1))
		update := w.Cast(w.element(in.Ins[2], idx), w.job.typeOf(in.Ins[2]).DType, d)
		own := w.Cast(w.element(in.Ins[0], out), t.DType, d)
		zero := w.Float(codegen.WideType(d), 0)
		return w.Select(first, own, w.Select(w.IsEqual(place, out[0]), update, zero))
	}
	return f, true
}
