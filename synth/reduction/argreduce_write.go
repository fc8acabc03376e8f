package reduction

import (
	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// argWriter writes the kernel of an argJob.
type argWriter struct {
	*codegen.Emitter
	job    *argJob
	stride kernel.Value
	base   kernel.Value
}

// write gives every invocation a part: the fours part, part+parts, … of its row,
// and to the first what is left over. The four of a four are compared with
// winners of their own, which meet in the end. All begin with an element of the
// row: to meet one twice changes nothing.
func (j *argJob) write(e *codegen.Emitter) error {
	w := &argWriter{Emitter: e, job: j}
	units, parts, length, fours := e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	w.stride = e.NextNumber()
	var dims, strides []kernel.Value
	for range j.dims {
		dims, strides = append(dims, e.NextNumber()), append(strides, e.NextNumber())
	}
	u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
	e.If(e.Compare(scalar.Lt, u, units), func() []kernel.Value {
		o, part := e.DivMod(u, parts)
		w.base = e.Offsets(o, dims, strides)
		x, i := w.element(part)
		init := []kernel.Value{x, i, x, i, x, i, x, i}
		best := e.Loop(part, fours, parts, init, func(four kernel.Value, best []kernel.Value) []kernel.Value {
			var out []kernel.Value
			for lane, c := range w.four(four) {
				out = append(out, w.better(c, winner{best[2*lane], best[2*lane+1]})...)
			}
			return out
		})
		first := w.better(winner{best[0], best[1]}, winner{best[2], best[3]})
		second := w.better(winner{best[4], best[5]}, winner{best[6], best[7]})
		best = w.better(winner{first[0], first[1]}, winner{second[0], second[1]})
		// What is left over is less than four elements.
		start := e.Select(e.Compare(scalar.Eq, part, e.Index(0)), e.Mul(fours, e.Index(strided.Lanes)), length)
		best = e.Loop(start, length, e.Index(1), best, func(r kernel.Value, best []kernel.Value) []kernel.Value {
			x, i := w.element(r)
			return w.better(winner{x, i}, winner{best[0], best[1]})
		})
		w.put(u, best[0], best[1])
		return nil
	}, nil)
	return nil
}

// winner is an element and where it is.
type winner struct{ x, i kernel.Value }

// better gives value and index of the one of two that wins.
func (w *argWriter) better(a, b winner) []kernel.Value {
	wins := w.beats(a.x, a.i, b.x, b.i)
	return []kernel.Value{w.Select(wins, a.x, b.x), w.Select(wins, a.i, b.i)}
}

// element gives element r of the row, and its index.
func (w *argWriter) element(r kernel.Value) (x, i kernel.Value) {
	at := w.Add(w.base, w.Mul(r, w.stride))
	x = w.Fetch(0, at, 1)[0]
	if w.job.partial {
		return x, w.Fetch(1, at, 1)[0]
	}
	return w.Decode(w.job.from, x), w.Convert(r, w.job.index)
}

// four gives the elements of a four.
func (w *argWriter) four(four kernel.Value) []winner {
	var all []winner
	r := w.Mul(four, w.Index(strided.Lanes))
	if !w.job.quad {
		for lane := range strided.Lanes {
			x, i := w.element(w.Add(r, w.Index(lane)))
			all = append(all, winner{x, i})
		}
		return all
	}
	at := w.Add(w.Div(w.base, w.Index(strided.Lanes)), four)
	xs := w.Fetch(0, at, strided.Lanes)
	var is []kernel.Value
	if w.job.partial {
		is = w.Fetch(1, at, strided.Lanes)
	}
	for lane, x := range xs {
		c := winner{x: x}
		if w.job.partial {
			c.i = is[lane]
		} else {
			c.x, c.i = w.Decode(w.job.from, x), w.Convert(w.Add(r, w.Index(lane)), w.job.index)
		}
		all = append(all, c)
	}
	return all
}

// beats reports whether element i, x wins over element j, y.
func (w *argWriter) beats(x, i, y, j kernel.Value) kernel.Value {
	both := func(a, b kernel.Value) kernel.Value { return w.Prim(scalar.AndB, scalar.Bool, a, b) }
	either := func(a, b kernel.Value) kernel.Value { return w.Prim(scalar.OrB, scalar.Bool, a, b) }
	not := func(a kernel.Value) kernel.Value { return w.Prim(scalar.NotB, scalar.Bool, a) }
	more, later := w.Compare(scalar.Lt, y, x), w.Compare(scalar.Lt, j, i)
	if w.job.op == ops.ArgMin {
		more = w.Compare(scalar.Lt, x, y)
	}
	tie := w.Compare(scalar.Lt, i, j)
	if w.job.high {
		tie = later
	}
	wins := either(more, both(w.Compare(scalar.Eq, x, y), tie))
	if !w.job.from.IsFloat() {
		return wins
	}
	xNaN, yNaN := w.Compare(scalar.Ne, x, x), w.Compare(scalar.Ne, y, y)
	return either(wins, both(xNaN, either(not(yNaN), later)))
}

// put stores the winner of unit u.
func (w *argWriter) put(u, x, i kernel.Value) {
	first := 1
	if w.job.partial {
		first = 2
	}
	if w.job.parts > 1 {
		w.Store(first, u, x)
		w.Store(first+1, u, i)
		return
	}
	w.Store(first, u, w.Encode(w.job.to, w.Convert(i, codegen.WideType(w.job.to))))
}
