package synth

import (
	"slices"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// lanes is how many elements of an output are folded side by side.
const lanes = 4

// roundsAhead is how many fours an invocation of a tree loads before it folds
// them.
const roundsAhead = 4

// reduceWriter writes the kernel of a reduceJob.
type reduceWriter struct {
	*emitter
	job                *reduceJob
	operator, identity *scalar.Func

	units  kernel.Value // invocations, or rows of them, that have work
	split  kernel.Value // parts, or with a tree chunks, of an output
	length kernel.Value // fours of a chunk
	fours  kernel.Value // whole fours of an output
	count  kernel.Value // elements of an output

	keptDims, keptStrides       []kernel.Value
	reducedDims, reducedStrides []kernel.Value
}

func (j *reduceJob) write(e *emitter) error {
	operator, identity, err := j.functions(e.t)
	if err != nil {
		return err
	}
	w := &reduceWriter{emitter: e, job: j, operator: operator, identity: identity,
		units: e.num(), split: e.num(), length: e.num(), fours: e.num(), count: e.num()}
	for range j.kept {
		w.keptDims, w.keptStrides = append(w.keptDims, e.num()), append(w.keptStrides, e.num())
	}
	for range j.reduced {
		w.reducedDims, w.reducedStrides = append(w.reducedDims, e.num()), append(w.reducedStrides, e.num())
	}
	if j.order.tree {
		w.rows()
	} else {
		w.parts()
	}
	return nil
}

// parts is the kernel in which every invocation is a part.
func (w *reduceWriter) parts() {
	u := w.Add(w.Mul(w.group(), w.int(w.local)), w.invocation())
	w.If(w.Compare(scalar.Lt, u, w.units), func() []kernel.Value {
		part, o := w.int(0), u
		if w.job.group > 1 { // neighbours are neighbouring outputs
			outputs := w.Div(w.units, w.split)
			part, o = w.divide(u, outputs)
		} else { // neighbours are neighbouring parts
			o, part = w.divide(u, w.split)
		}
		acc := w.fold(o, part, w.fours, w.split)
		acc = w.rest(acc, o, func() kernel.Value {
			_, last := w.divide(w.fours, w.split)
			return w.Compare(scalar.Eq, last, part)
		})
		w.finish(u, w.join(acc))
		return nil
	}, nil)
}

// rows is the kernel in which a workgroup, or a fraction of it, is a chunk.
func (w *reduceWriter) rows() {
	parts := w.job.order.parts
	row, part := w.divide(w.invocation(), w.int(parts))
	u := w.Add(w.Mul(w.group(), w.int(w.local/parts)), row)
	// All invocations take part in the barriers; what is beyond the last
	// chunk does that one again and keeps it to itself.
	last := w.Sub(w.units, w.int(1))
	valid := w.Compare(scalar.Lt, u, w.units)
	u = w.Select(valid, u, last)
	o, chunk := w.divide(u, w.split)
	start := w.Mul(chunk, w.length)
	end := w.Add(start, w.length)
	limit := w.Select(w.Compare(scalar.Lt, end, w.fours), end, w.fours)
	acc := w.fold(o, w.Add(start, part), limit, w.int(parts))
	acc = w.rest(acc, o, func() kernel.Value {
		_, last := w.divide(w.fours, w.int(parts))
		owns := w.Compare(scalar.Eq, last, part)
		for _, c := range []kernel.Value{w.Compare(scalar.Le, start, w.fours), w.Compare(scalar.Lt, w.fours, end)} {
			owns = w.Prim(scalar.AndB, scalar.Bool, owns, c)
		}
		return owns
	})
	total := w.tree(w.join(acc), part)
	first := w.Compare(scalar.Eq, part, w.int(0))
	w.If(w.Prim(scalar.AndB, scalar.Bool, first, valid), func() []kernel.Value {
		w.finish(u, total)
		return nil
	}, nil)
}

// radix is how many parts an invocation joins between two barriers. The parts
// meet in the order of halving all the same: of eight, 0 meets 4, then that 2 and
// 6, then that the odd ones.
const radix = 8

// tree joins the parts of a chunk by halves and gives the total to part 0.
func (w *reduceWriter) tree(x []kernel.Value, part kernel.Value) []kernel.Value {
	lid := w.Builtin(kernel.LocalX)
	arrays := w.share(x)
	w.leave(arrays, lid, x)
	for left := w.job.order.parts; left > 1; {
		w.Barrier()
		n := min(radix, left)
		left /= n
		x = w.If(w.Compare(scalar.Lt, part, w.int(left)), func() []kernel.Value {
			vs := make([][]kernel.Value, n)
			for k := range vs {
				vs[k] = w.take(arrays, w.Add(lid, w.Int(scalar.U32, k*left)))
			}
			for half := n / 2; half > 0; half /= 2 {
				for k := range half {
					vs[k] = w.apply(vs[k], vs[k+half])
				}
			}
			if left > 1 { // nobody else reads this place
				w.leave(arrays, lid, vs[0])
			}
			return vs[0]
		}, func() []kernel.Value { return x })
	}
	return x
}

// share declares an array of the workgroup for each part of an element. A truth
// value is 0 or 1 there.
func (w *reduceWriter) share(x []kernel.Value) []int {
	arrays := make([]int, len(x))
	for i, v := range x {
		t := w.Type(v)
		if t == scalar.Bool {
			t = scalar.U32
		}
		arrays[i] = w.Shared(t, w.local)
	}
	return arrays
}

func (w *reduceWriter) leave(arrays []int, at kernel.Value, x []kernel.Value) {
	for i, v := range x {
		w.StoreShared(arrays[i], at, w.asBits(v, scalar.U32))
	}
}

func (w *reduceWriter) take(arrays []int, at kernel.Value) []kernel.Value {
	x := make([]kernel.Value, len(arrays))
	for i, array := range arrays {
		x[i] = w.LoadShared(array, at)
		if w.job.truth {
			x[i] = w.truth(x[i])
		}
	}
	return x
}

func (w *reduceWriter) apply(x, y []kernel.Value) []kernel.Value {
	return w.InlineAll(w.operator, slices.Concat(x, y))
}

// outer is the index of the first element of output o.
func (w *reduceWriter) outer(o kernel.Value) kernel.Value {
	return w.walk(o, w.keptDims, w.keptStrides)
}

// walk sums coordinates times strides.
func (e *emitter) walk(i kernel.Value, dims, strides []kernel.Value) kernel.Value {
	at := e.int(0)
	for d := len(dims) - 1; d > 0; d-- {
		var c kernel.Value
		i, c = e.divide(i, dims[d])
		at = e.Add(at, e.Mul(c, strides[d]))
	}
	return e.Add(at, e.Mul(i, strides[0]))
}

// load gives element r of every output of the group at base.
func (w *reduceWriter) load(base, r kernel.Value) []kernel.Value {
	at := w.Add(base, w.walk(r, w.reducedDims, w.reducedStrides))
	return w.elements(w.fetch(0, at, w.job.group))
}

func (w *reduceWriter) elements(vs []kernel.Value) []kernel.Value {
	var xs []kernel.Value
	for v := range slices.Chunk(vs, partsOf(w.job.fromType)) {
		xs = append(xs, w.job.element(w.emitter, v)...)
	}
	return xs
}

// fold folds the fours first, first+step, … below limit of output o. The
// accumulators are lane by lane, within a lane output by output, and within an
// output part by part.
func (w *reduceWriter) fold(o, first, limit, step kernel.Value) []kernel.Value {
	base := w.outer(o)
	zero := w.InlineAll(w.identity, nil)
	if !w.job.truth {
		zero = w.completed(zero, w.job.compute)
	}
	acc := slices.Repeat(zero, lanes*w.job.group)
	if w.job.order.tree {
		first, acc = w.rounds(base, first, limit, step, acc)
	}
	return w.Loop(first, limit, step, acc, func(four kernel.Value, acc []kernel.Value) []kernel.Value {
		return w.applyAll(acc, w.four(base, four))
	})
}

// rounds folds as fold does while there are several rounds left, and loads them
// before it folds the first, so that a GPU waits once for all. It gives the four
// that comes next.
func (w *reduceWriter) rounds(base, first, limit, step kernel.Value, acc []kernel.Value) (kernel.Value, []kernel.Value) {
	ahead := w.Mul(step, w.int(roundsAhead-1))
	many := w.Compare(scalar.Lt, ahead, limit)
	end := w.Select(many, w.Sub(limit, ahead), w.int(0))
	stride := w.Mul(step, w.int(roundsAhead))
	out := w.Loop(first, end, stride, append([]kernel.Value{first}, acc...),
		func(four kernel.Value, carried []kernel.Value) []kernel.Value {
			var loaded [roundsAhead][]kernel.Value
			at := four
			for i := range loaded {
				loaded[i] = w.four(base, at)
				at = w.Add(at, step)
			}
			acc := carried[1:]
			for _, xs := range loaded {
				acc = w.applyAll(acc, xs)
			}
			return append([]kernel.Value{at}, acc...)
		})
	return out[0], out[1:]
}

// four gives the elements of a four, lane by lane.
func (w *reduceWriter) four(base, four kernel.Value) []kernel.Value {
	if w.job.quad {
		return w.elements(w.fetch(0, w.Add(base, four), lanes))
	}
	var xs []kernel.Value
	r := w.Mul(four, w.int(lanes))
	for lane := range lanes {
		xs = append(xs, w.load(base, w.Add(r, w.int(lane)))...)
	}
	return xs
}

func (w *reduceWriter) applyAll(acc, xs []kernel.Value) []kernel.Value {
	var out []kernel.Value
	for p := w.job.parts(); len(acc) > 0; acc, xs = acc[p:], xs[p:] {
		out = append(out, w.apply(acc[:p], xs[:p])...)
	}
	return out
}

// rest folds the elements after the last whole four, where owns says that this
// part has them.
func (w *reduceWriter) rest(acc []kernel.Value, o kernel.Value, owns func() kernel.Value) []kernel.Value {
	if product(w.job.reduced)%lanes == 0 {
		return acc
	}
	g := w.job.group * w.job.parts()
	return w.If(owns(), func() []kernel.Value {
		base := w.outer(o)
		if w.job.quad {
			base = w.Mul(base, w.int(lanes))
		}
		out := acc
		for lane := range lanes - 1 {
			r := w.Add(w.Mul(w.fours, w.int(lanes)), w.int(lane))
			mine := out[lane*g : (lane+1)*g]
			folded := w.If(w.Compare(scalar.Lt, r, w.count), func() []kernel.Value {
				return w.applyAll(mine, w.load(base, r))
			}, func() []kernel.Value { return mine })
			next := append([]kernel.Value{}, out[:lane*g]...)
			out = append(append(next, folded...), out[(lane+1)*g:]...)
		}
		return out
	}, func() []kernel.Value { return acc })
}

// join joins the lanes of each output.
func (w *reduceWriter) join(acc []kernel.Value) []kernel.Value {
	g := w.job.group * w.job.parts()
	return w.applyAll(w.applyAll(acc[:g], acc[g:2*g]), w.applyAll(acc[2*g:3*g], acc[3*g:]))
}

// finish stores the results of unit u.
func (w *reduceWriter) finish(u kernel.Value, xs []kernel.Value) {
	var out []kernel.Value
	for x := range slices.Chunk(xs, w.job.parts()) {
		out = append(out, w.finished(x, w.job.compute, w.job.toType)...)
	}
	w.put(1, u, out...)
}
