package reduction

import (
	"slices"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// Writer writes the kernel of a Job.
type Writer struct {
	*codegen.Emitter
	Job                   *Job
	Operators, Identities []*scalar.Func // of the folds
	Err                   error          // the first

	Units  kernel.Value // invocations, or rows of them, that have work
	split  kernel.Value // parts, or with a tree chunks, of an output
	length kernel.Value // fours of a chunk
	Fours  kernel.Value // whole fours of an output
	Count  kernel.Value // elements of an output

	kept, Reduced []kernel.Value // dimensions
	Part          kernel.Value   // of a chunk, which the invocation is, with a tree
	Together      bool           // the parts of a chunk are invocations of one subgroup
	Ins           []Place
	after         afterWriter
	arrays        map[scalar.Type][]int // of the workgroup
	turns         [2]map[scalar.Type][]int
}

func (j *Job) write(e *codegen.Emitter) error {
	w, err := j.Writer(e)
	if err != nil {
		return err
	}
	w.after = j.Finish.writer(e, len(w.Buffers)-len(j.Finish.Outs)-j.Finish.buffers())
	switch {
	case j.beside.outputs > 0:
		w.outputsBeside()
	case j.Order.Tree:
		w.rows()
	default:
		w.parts()
	}
	return w.Err
}

// Writer reads the parameters, except those of the Finish.
func (j *Job) Writer(e *codegen.Emitter) (*Writer, error) {
	w := &Writer{Emitter: e, Job: j, arrays: map[scalar.Type][]int{}, turns: [2]map[scalar.Type][]int{{}, {}},
		Units: e.NextNumber(), split: e.NextNumber(), length: e.NextNumber(), Fours: e.NextNumber(), Count: e.NextNumber()}
	for i := range j.Folds {
		operator, identity, err := j.Folds[i].functions(e.Target)
		if err != nil {
			return nil, err
		}
		w.Operators, w.Identities = append(w.Operators, operator), append(w.Identities, identity)
	}
	for range j.Kept {
		w.kept = append(w.kept, e.NextNumber())
	}
	for range j.Reduced {
		w.Reduced = append(w.Reduced, e.NextNumber())
	}
	w.places()
	return w, nil
}

// Fail keeps the first error.
func (w *Writer) Fail(err error) {
	if w.Err == nil {
		w.Err = err
	}
}

// parts is the kernel in which every invocation is a part.
func (w *Writer) parts() {
	u := w.Add(w.Mul(w.Group(), w.Index(w.Local)), w.Invocation())
	w.If(w.Compare(scalar.Lt, u, w.Units), func() []kernel.Value {
		var part, o kernel.Value
		if w.Job.Group > 1 || w.Job.Order.Across { // neighbours are neighbouring outputs
			outputs := w.Div(w.Units, w.split)
			part, o = w.DivMod(u, outputs)
		} else { // neighbours are neighbouring parts
			o, part = w.DivMod(u, w.split)
		}
		at := w.Locate(o)
		acc := w.fold(at, part, w.Fours, w.split)
		acc = w.rest(acc, at, func() kernel.Value {
			_, last := w.DivMod(w.Fours, w.split)
			return w.Compare(scalar.Eq, last, part)
		})
		w.store(o, part, w.Join(acc))
		return nil
	}, nil)
}

// rows is the kernel in which a workgroup, or a fraction of it, is a chunk.
func (w *Writer) rows() {
	parts := w.Job.Order.Parts
	row, part := w.DivMod(w.Invocation(), w.Index(parts))
	w.Part = part
	u := w.Add(w.Mul(w.Group(), w.Index(w.Local/parts)), row)
	// All invocations take part in the barriers. Those beyond the last chunk compute
	// the last chunk again and do not store it.
	last := w.Sub(w.Units, w.Index(1))
	valid := w.Compare(scalar.Lt, u, w.Units)
	u = w.Select(valid, u, last)
	o, chunk := w.DivMod(u, w.split)
	start := w.Mul(chunk, w.length)
	end := w.Add(start, w.length)
	limit := w.Select(w.Compare(scalar.Lt, end, w.Fours), end, w.Fours)
	at := w.Locate(o)
	acc := w.fold(at, w.Add(start, part), limit, w.Index(parts))
	acc = w.rest(acc, at, func() kernel.Value { return w.ownsRest(start, end, part) })
	totals := w.Tree(w.Join(acc), w.Mul(row, w.Index(parts)), part, parts)
	first := w.Compare(scalar.Eq, part, w.Index(0))
	w.If(w.Prim(scalar.AndB, scalar.Bool, first, valid), func() []kernel.Value {
		w.store(o, chunk, totals)
		return nil
	}, nil)
}

// ownsRest reports whether a part of a chunk folds the elements after the last whole four of the output.
func (w *Writer) ownsRest(start, end, part kernel.Value) kernel.Value {
	owns := w.Compare(scalar.Lt, w.Fours, end)
	if w.Job.Order.Chunks > 1 {
		owns = w.Prim(scalar.AndB, scalar.Bool, owns, w.Compare(scalar.Le, start, w.Fours))
	}
	if !w.Job.Order.Apart {
		_, last := w.DivMod(w.Fours, w.Index(w.Job.Order.Parts))
		owns = w.Prim(scalar.AndB, scalar.Bool, owns, w.Compare(scalar.Eq, last, part))
	}
	return owns
}

// radix is the number of parts that an invocation joins between two barriers. The parts
// are joined in the order of halving: of eight parts, first 0 with 4, 1 with 5, and so
// on, then those with distance 2, then those with distance 1.
const radix = 8

// Tree joins n values by halves and gives the totals of the folds to slot 0. This
// invocation has the value of a slot. first is the index of slot 0 in the arrays of the
// workgroup.
func (w *Writer) Tree(xs []kernel.Value, first, slot kernel.Value, n int) []kernel.Value {
	if n == 1 {
		return xs
	}
	place := w.Convert(w.Add(first, slot), scalar.U32)
	types, shared := w.typesOf(xs), w.share(xs)
	w.put(shared, place, xs)
	for left := n; left > 1; {
		w.Barrier()
		n := min(radix, left)
		left /= n
		xs = w.If(w.Compare(scalar.Lt, slot, w.Index(left)), func() []kernel.Value {
			joined := w.halves(types, shared, place, left, n)
			if left > 1 { // nobody else reads this place
				w.put(shared, place, joined)
			}
			return joined
		}, func() []kernel.Value { return xs })
	}
	return xs
}

// put stores values at a place of arrays of the workgroup.
func (w *Writer) put(arrays []int, place kernel.Value, xs []kernel.Value) {
	for i, x := range xs {
		w.StoreShared(arrays[i], place, w.AsBits(x, scalar.U32))
	}
}

func (w *Writer) typesOf(xs []kernel.Value) []scalar.Type {
	types := make([]scalar.Type, len(xs))
	for i, x := range xs {
		types[i] = w.Type(x)
	}
	return types
}

// share stores the values in arrays of the workgroup, one for each value, with a place
// for every invocation. A truth value is 0 or 1 there. Arrays are used again: a barrier
// lies between the last read of one and the next write.
func (w *Writer) share(xs []kernel.Value) []int { return w.arraysOf(xs, w.Local) }

// arraysOf is share with so many places.
func (w *Writer) arraysOf(xs []kernel.Value, places int) []int {
	used := map[scalar.Type]int{}
	arrays := make([]int, len(xs))
	for i, t := range w.typesOf(xs) {
		if t == scalar.Bool {
			t = scalar.U32
		}
		if used[t] == len(w.arrays[t]) {
			w.arrays[t] = append(w.arrays[t], w.Shared(t, places))
		}
		arrays[i] = w.arrays[t][used[t]]
		used[t]++
	}
	return arrays
}

// ApplyAll folds elements onto as many accumulators, fold by fold.
func (w *Writer) ApplyAll(acc, xs []kernel.Value) []kernel.Value {
	n, at := w.Width(), 0
	out := slices.Clone(acc)
	for i, f := range w.Operators {
		fold := &w.Job.Folds[i]
		parts := fold.Parts()
		if fold.arg != nil {
			for k := at; k < len(acc); k += n {
				copy(out[k:], fold.arg.better(w.Emitter, fold.Compute, xs[k:k+parts], acc[k:k+parts]))
			}
			at += parts
			continue
		}
		var args [][]kernel.Value
		for k := at; k < len(acc); k += n {
			args = append(args, slices.Concat(acc[k:k+parts], xs[k:k+parts]))
		}
		for k, vs := range w.InlineEach(f, args) {
			copy(out[k*n+at:], vs)
		}
		at += parts
	}
	return out
}

// Width is the number of values that represent an element of every fold.
func (w *Writer) Width() int {
	n := 0
	for i := range w.Job.Folds {
		n += w.Job.Folds[i].Parts()
	}
	return n
}

// Zero is the identity of every fold.
func (w *Writer) Zero() []kernel.Value {
	var zero []kernel.Value
	for i, f := range w.Identities {
		if a := w.Job.Folds[i].arg; a != nil {
			zero = append(zero, a.identity(w.Emitter, w.Job.Folds[i].Compute)...)
			continue
		}
		x := w.InlineAll(f, nil)
		if !w.Job.Folds[i].truth() {
			x = w.Complete(x, w.Job.Folds[i].Compute)
		}
		zero = append(zero, x...)
	}
	return zero
}

// fold folds the fours first, first+step, … below limit of the outputs at a position.
// The accumulators are ordered by component, then by output, then by fold.
func (w *Writer) fold(at *Position, first, limit, step kernel.Value) []kernel.Value {
	acc := slices.Repeat(w.Zero(), strided.Components*w.Job.Group)
	if w.Job.ahead() {
		first, acc = w.rounds(at, first, limit, step, acc)
	}
	return w.Loop(first, limit, step, acc, func(four kernel.Value, acc []kernel.Value) []kernel.Value {
		return w.ApplyAll(acc, w.elements(at, w.rawFour(at, four)))
	})
}

// rounds folds like fold, but loads several rounds before it folds the first of them,
// so that a GPU waits once for all. It returns the next four, which begins the rounds
// that are left.
func (w *Writer) rounds(position *Position, first, limit, step kernel.Value, acc []kernel.Value) (kernel.Value, []kernel.Value) {
	ahead := w.Mul(step, w.Index(strided.RoundsAhead-1))
	many := w.Compare(scalar.Lt, ahead, limit)
	end := w.Select(many, w.Sub(limit, ahead), w.Index(0))
	stride := w.Mul(step, w.Index(strided.RoundsAhead))
	out := w.Loop(first, end, stride, append([]kernel.Value{first}, acc...),
		func(four kernel.Value, carried []kernel.Value) []kernel.Value {
			var loaded [strided.RoundsAhead][][][]kernel.Value
			at := four
			for i := range loaded {
				loaded[i] = w.rawFour(position, at)
				at = w.Add(at, step)
			}
			acc := carried[1:]
			for _, raw := range loaded {
				acc = w.ApplyAll(acc, w.elements(position, raw))
			}
			return append([]kernel.Value{at}, acc...)
		})
	return out[0], out[1:]
}

// rest folds the elements after the last whole four in the part for which owns is true.
// Components without an element load another one and fold nothing, so that a GPU waits once
// for all.
func (w *Writer) rest(acc []kernel.Value, at *Position, owns func() kernel.Value) []kernel.Value {
	if strided.Product(w.Job.Reduced)%strided.Components == 0 {
		return acc
	}
	return w.If(owns(), func() []kernel.Value {
		four, components := w.Fours, strided.Components-1
		if w.Job.Order.Apart {
			four, components = w.Add(four, w.Part), strided.Components
		}
		last := w.Sub(w.Count, w.Index(1))
		raw, exists := make([][][]kernel.Value, components), make([]kernel.Value, components)
		for component := range components {
			r := w.Element(four, w.Index(component))
			exists[component] = w.Compare(scalar.Lt, r, w.Count)
			raw[component] = w.raw(at, w.Select(exists[component], r, last))
		}
		n, out := w.Job.Group*w.Width(), slices.Clone(acc)
		folded := w.ApplyAll(acc[:components*n], w.elements(at, raw))
		for component := range components {
			copy(out[component*n:], w.SelectAll(exists[component], folded[component*n:(component+1)*n], acc[component*n:(component+1)*n]))
		}
		return out
	}, func() []kernel.Value { return acc })
}

// Element is the index of the element in a component of a four.
func (w *Writer) Element(four, component kernel.Value) kernel.Value {
	first := w.Mul(four, w.Index(strided.Components))
	if !w.Job.Order.Apart {
		return w.Add(first, component)
	}
	first = w.Sub(first, w.Mul(w.Part, w.Index(strided.Components-1)))
	return w.Add(first, w.Mul(component, w.Index(w.Job.Order.Parts)))
}

// Join joins the components of each output.
func (w *Writer) Join(acc []kernel.Value) []kernel.Value {
	n := len(acc) / strided.Components
	component := func(i int) []kernel.Value { return acc[i*n : (i+1)*n] }
	return w.ApplyAll(w.ApplyAll(component(0), component(1)), w.ApplyAll(component(2), component(3)))
}

// store stores the results of group o of outputs, or a partial result of each, from the
// totals. The partial results of an output are neighbours.
func (w *Writer) store(o, partial kernel.Value, totals []kernel.Value) {
	g, n, outs := w.Job.Group, w.Width(), w.Job.Finish.Outs
	stored := make([][]kernel.Value, len(outs)) // by result, then by output
	for k := range g {
		own := w.Add(w.Mul(o, w.Index(g)), w.Index(k))
		vs, err := w.Job.Finish.Make(w.Emitter, totals[k*n:(k+1)*n], w.after.loaded(own))
		if err != nil {
			w.Fail(err)
			return
		}
		for i := range outs {
			parts := outs[i].Parts()
			if !w.Job.Last {
				w.Put(len(w.Buffers)-len(outs)+i, w.Add(w.Mul(own, w.split), partial), vs[:parts]...)
			}
			stored[i] = append(stored[i], vs[:parts]...)
			vs = vs[parts:]
		}
	}
	for i, vs := range stored {
		if w.Job.Last {
			w.Put(len(w.Buffers)-len(outs)+i, o, vs...)
		}
	}
}
