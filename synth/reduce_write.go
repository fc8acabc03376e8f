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
	job                   *reduceJob
	operators, identities []*scalar.Func // of the folds
	err                   error          // the first

	units  kernel.Value // invocations, or rows of them, that have work
	split  kernel.Value // parts, or with a tree chunks, of an output
	length kernel.Value // fours of a chunk
	fours  kernel.Value // whole fours of an output
	count  kernel.Value // elements of an output

	kept, reduced []kernel.Value // dimensions
	ins           []reducePlace
	after         afterWriter
	arrays        map[scalar.Type][]int // of the workgroup
}

func (j *reduceJob) write(e *emitter) error {
	w, err := j.writer(e)
	if err != nil {
		return err
	}
	w.after = j.finish.writer(e, len(w.bufs)-len(j.finish.outs)-j.finish.buffers())
	if j.order.tree {
		w.rows()
	} else {
		w.parts()
	}
	return w.err
}

// writer takes the parameters, but for those of finish.
func (j *reduceJob) writer(e *emitter) (*reduceWriter, error) {
	w := &reduceWriter{emitter: e, job: j, arrays: map[scalar.Type][]int{},
		units: e.num(), split: e.num(), length: e.num(), fours: e.num(), count: e.num()}
	for i := range j.folds {
		operator, identity, err := j.folds[i].functions(e.t)
		if err != nil {
			return nil, err
		}
		w.operators, w.identities = append(w.operators, operator), append(w.identities, identity)
	}
	for range j.kept {
		w.kept = append(w.kept, e.num())
	}
	for range j.reduced {
		w.reduced = append(w.reduced, e.num())
	}
	w.places()
	return w, nil
}

// fail keeps the first error.
func (w *reduceWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
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
		at := w.spot(o)
		acc := w.fold(at, part, w.fours, w.split)
		acc = w.rest(acc, at, func() kernel.Value {
			_, last := w.divide(w.fours, w.split)
			return w.Compare(scalar.Eq, last, part)
		})
		w.store(u, w.join(acc))
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
	at := w.spot(o)
	acc := w.fold(at, w.Add(start, part), limit, w.int(parts))
	acc = w.rest(acc, at, func() kernel.Value {
		_, last := w.divide(w.fours, w.int(parts))
		owns := w.Compare(scalar.Eq, last, part)
		for _, c := range []kernel.Value{w.Compare(scalar.Le, start, w.fours), w.Compare(scalar.Lt, w.fours, end)} {
			owns = w.Prim(scalar.AndB, scalar.Bool, owns, c)
		}
		return owns
	})
	totals := w.tree(w.join(acc), w.Mul(row, w.int(parts)), part, parts)
	first := w.Compare(scalar.Eq, part, w.int(0))
	w.If(w.Prim(scalar.AndB, scalar.Bool, first, valid), func() []kernel.Value {
		w.store(u, totals)
		return nil
	}, nil)
}

// radix is how many parts an invocation joins between two barriers. The parts
// meet in the order of halving all the same: of eight, 0 meets 4, then that 2 and
// 6, then that the odd ones.
const radix = 8

// tree joins n values by halves, of which this invocation has the one at slot, and
// gives the totals of the folds to slot 0. first is where slot 0 is in the arrays of
// the workgroup.
func (w *reduceWriter) tree(xs []kernel.Value, first, slot kernel.Value, n int) []kernel.Value {
	place := w.Convert(w.Add(first, slot), scalar.U32)
	types, shared := w.typesOf(xs), w.share(xs)
	for i, x := range xs {
		w.StoreShared(shared[i], place, w.asBits(x, scalar.U32))
	}
	for left := n; left > 1; {
		w.Barrier()
		n := min(radix, left)
		left /= n
		xs = w.If(w.Compare(scalar.Lt, slot, w.int(left)), func() []kernel.Value {
			held := make([][]kernel.Value, n) // by slot
			for k := range held {
				for i := range shared {
					v := w.LoadShared(shared[i], w.Add(place, w.Int(scalar.U32, k*left)))
					if types[i] == scalar.Bool {
						v = w.truth(v)
					}
					held[k] = append(held[k], v)
				}
			}
			for half := n / 2; half > 0; half /= 2 {
				for k := range half {
					held[k] = w.applyAll(held[k], held[k+half])
				}
			}
			for i := range shared {
				if left > 1 { // nobody else reads this place
					w.StoreShared(shared[i], place, w.asBits(held[0][i], scalar.U32))
				}
			}
			return held[0]
		}, func() []kernel.Value { return xs })
	}
	return xs
}

func (w *reduceWriter) typesOf(xs []kernel.Value) []scalar.Type {
	types := make([]scalar.Type, len(xs))
	for i, x := range xs {
		types[i] = w.Type(x)
	}
	return types
}

// share gives an array of the workgroup for each value, which has a place for
// every invocation. A truth value is 0 or 1 there. Arrays serve again, since there
// is a barrier between the last that reads one and the next that writes it.
func (w *reduceWriter) share(xs []kernel.Value) []int {
	used := map[scalar.Type]int{}
	arrays := make([]int, len(xs))
	for i, t := range w.typesOf(xs) {
		if t == scalar.Bool {
			t = scalar.U32
		}
		if used[t] == len(w.arrays[t]) {
			w.arrays[t] = append(w.arrays[t], w.Shared(t, w.local))
		}
		arrays[i] = w.arrays[t][used[t]]
		used[t]++
	}
	return arrays
}

// applyAll folds elements onto as many accumulators, fold by fold.
func (w *reduceWriter) applyAll(acc, xs []kernel.Value) []kernel.Value {
	n, at := w.width(), 0
	out := slices.Clone(acc)
	for i, f := range w.operators {
		parts := w.job.folds[i].parts()
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

// width is how many values an element of every fold are.
func (w *reduceWriter) width() int {
	n := 0
	for i := range w.job.folds {
		n += w.job.folds[i].parts()
	}
	return n
}

// zero is the identity of every fold.
func (w *reduceWriter) zero() []kernel.Value {
	var zero []kernel.Value
	for i, f := range w.identities {
		x := w.InlineAll(f, nil)
		if !w.job.folds[i].truth() {
			x = w.completed(x, w.job.folds[i].compute)
		}
		zero = append(zero, x...)
	}
	return zero
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

// fold folds the fours first, first+step, … below limit of the outputs at a spot.
// The accumulators are lane by lane, within a lane output by output, and within
// an output fold by fold.
func (w *reduceWriter) fold(at *reduceSpot, first, limit, step kernel.Value) []kernel.Value {
	acc := slices.Repeat(w.zero(), lanes*w.job.group)
	if w.job.order.tree {
		first, acc = w.rounds(at, first, limit, step, acc)
	}
	return w.Loop(first, limit, step, acc, func(four kernel.Value, acc []kernel.Value) []kernel.Value {
		return w.applyAll(acc, w.elements(at, w.rawFour(at, four)))
	})
}

// rounds folds as fold does while there are several rounds left, and loads them
// before it folds the first, so that a GPU waits once for all. It gives the four
// that comes next.
func (w *reduceWriter) rounds(spot *reduceSpot, first, limit, step kernel.Value, acc []kernel.Value) (kernel.Value, []kernel.Value) {
	ahead := w.Mul(step, w.int(roundsAhead-1))
	many := w.Compare(scalar.Lt, ahead, limit)
	end := w.Select(many, w.Sub(limit, ahead), w.int(0))
	stride := w.Mul(step, w.int(roundsAhead))
	out := w.Loop(first, end, stride, append([]kernel.Value{first}, acc...),
		func(four kernel.Value, carried []kernel.Value) []kernel.Value {
			var loaded [roundsAhead][][][]kernel.Value
			at := four
			for i := range loaded {
				loaded[i] = w.rawFour(spot, at)
				at = w.Add(at, step)
			}
			acc := carried[1:]
			for _, raw := range loaded {
				acc = w.applyAll(acc, w.elements(spot, raw))
			}
			return append([]kernel.Value{at}, acc...)
		})
	return out[0], out[1:]
}

// rest folds the elements after the last whole four, where owns says that this
// part has them.
func (w *reduceWriter) rest(acc []kernel.Value, at *reduceSpot, owns func() kernel.Value) []kernel.Value {
	if product(w.job.reduced)%lanes == 0 {
		return acc
	}
	n := w.job.group * w.width()
	return w.If(owns(), func() []kernel.Value {
		out := slices.Clone(acc)
		for lane := range lanes - 1 {
			r := w.Add(w.Mul(w.fours, w.int(lanes)), w.int(lane))
			mine := out[lane*n : (lane+1)*n]
			copy(mine, w.If(w.Compare(scalar.Lt, r, w.count), func() []kernel.Value {
				return w.applyAll(mine, w.elements(at, [][][]kernel.Value{w.raw(at, r)}))
			}, func() []kernel.Value { return slices.Clone(mine) }))
		}
		return out
	}, func() []kernel.Value { return acc })
}

// join joins the lanes of each output.
func (w *reduceWriter) join(acc []kernel.Value) []kernel.Value {
	n := len(acc) / lanes
	lane := func(i int) []kernel.Value { return acc[i*n : (i+1)*n] }
	return w.applyAll(w.applyAll(lane(0), lane(1)), w.applyAll(lane(2), lane(3)))
}

// store stores the results of unit u, of whose outputs it has the totals.
func (w *reduceWriter) store(u kernel.Value, totals []kernel.Value) {
	g, n, outs := w.job.group, w.width(), w.job.finish.outs
	stored := make([][]kernel.Value, len(outs)) // by result, then by output
	for k := range g {
		o := w.Add(w.Mul(u, w.int(g)), w.int(k))
		vs, err := w.job.finish.make(w.emitter, totals[k*n:(k+1)*n], w.after.loaded(o))
		if err != nil {
			w.fail(err)
			return
		}
		for i := range outs {
			parts := outs[i].parts()
			stored[i] = append(stored[i], vs[:parts]...)
			vs = vs[parts:]
		}
	}
	for i, vs := range stored {
		w.put(len(w.bufs)-len(outs)+i, u, vs...)
	}
}
