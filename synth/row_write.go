package synth

import (
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// rowsWriter writes the kernel of a rowsJob.
type rowsWriter struct {
	*reduceWriter
	job   *rowsJob
	depth []int  // of the expressions
	row   *point // what is the same for all elements of the row
	spot  *reduceSpot
	u     kernel.Value // the row
	outs  int          // the first buffer that is written
	width int          // elements of a four that the invocation has
	share kernel.Value // which of them
}

func (j *rowsJob) write(e *emitter) error {
	r, err := j.reduceJob.writer(e)
	if err != nil {
		return err
	}
	w := &rowsWriter{reduceWriter: r, job: j, depth: j.unit.depths(), row: j.unit.newPoint(),
		outs: len(e.bufs) - len(j.finish.outs), width: lanes / j.shares, share: e.int(0)}
	if j.order.tree {
		w.shared()
	} else {
		w.solo()
	}
	return w.err
}

// begin finds row u and loads what is the same for all of its elements.
func (w *rowsWriter) begin(u kernel.Value) {
	w.u = u
	w.job.point = func(_ *emitter, still []kernel.Value) elementFunc {
		for i := range w.job.unit.exprs {
			if x := &w.job.unit.exprs[i]; x.kind == exprSource && !x.full {
				w.compute([]*point{w.row}, i, [][]kernel.Value{w.job.unit.among(w.job.still, x.source, still)})
			}
		}
		return nil
	}
	w.spot = w.reduceWriter.spot(u)
}

// compute gives expression i its value at some points. What does not differ along
// the row is taken from the row.
func (w *rowsWriter) compute(ps []*point, i int, loaded [][]kernel.Value) {
	for _, a := range w.job.unit.exprs[i].args {
		for _, p := range ps {
			if !w.job.unit.exprs[a].full {
				p.values[a], p.stored[a] = w.row.values[a], w.row.stored[a]
			}
		}
	}
	if err := w.job.unit.compute(w.emitter, ps, i, loaded); err != nil {
		w.fail(err)
	}
}

// steadily computes what is the same for all elements of the row and has so many
// reductions in front of it.
func (w *rowsWriter) steadily(depth int) {
	for i := range w.job.unit.exprs {
		if x := &w.job.unit.exprs[i]; x.kind == exprApply && !x.full && w.depth[i] == depth {
			w.compute([]*point{w.row}, i, nil)
		}
	}
}

// foldsAt lists the reductions, by their number, whose operands have so many
// reductions in front of them.
func (w *rowsWriter) foldsAt(depth int) []int {
	var ks []int
	for k, i := range w.job.unit.folds {
		if w.depth[i] == depth+1 {
			ks = append(ks, k)
		}
	}
	return ks
}

// only is a writer for some of the reductions.
func (w *rowsWriter) only(ks []int) *reduceWriter {
	r := *w.reduceWriter
	j := *w.job.reduceJob
	r.job, j.folds, r.operators, r.identities = &j, nil, nil, nil
	for _, k := range ks {
		j.folds = append(j.folds, w.job.folds[k])
		r.operators = append(r.operators, w.operators[k])
		r.identities = append(r.identities, w.identities[k])
	}
	return &r
}

// operands gives what reductions take of the element at p.
func (w *rowsWriter) operands(ks []int, p *point) []kernel.Value {
	var xs []kernel.Value
	for _, k := range ks {
		a := w.job.unit.exprs[w.job.unit.folds[k]].args[0]
		from := p
		if !w.job.unit.exprs[a].full {
			from = w.row
		}
		xs = append(xs, w.job.folds[k].element(w.emitter, from.values[a], w.job.unit.exprs[a].typ)...)
	}
	return xs
}

// totals takes the totals of reductions.
func (w *rowsWriter) totals(ks []int, xs []kernel.Value) {
	for _, k := range ks {
		n := w.job.folds[k].parts()
		w.job.unit.total(w.emitter, w.row, w.job.unit.folds[k], xs[:n])
		xs = xs[n:]
	}
}

// selectAll gives xs where c holds, else ys.
func (e *emitter) selectAll(c kernel.Value, xs, ys []kernel.Value) []kernel.Value {
	out := make([]kernel.Value, len(xs))
	for i := range xs {
		out[i] = e.Select(c, xs[i], ys[i])
	}
	return out
}

// exists says whether the row has element r.
func (w *rowsWriter) exists(r kernel.Value) kernel.Value {
	return w.Compare(scalar.Lt, r, w.count)
}

// load gives what source s has for each element of a four of the row. With clamp
// the last element stands for those beyond it.
func (w *rowsWriter) load(s int, four kernel.Value, clamp bool) [][]kernel.Value {
	src, p := &w.job.ins[s], &w.ins[s]
	if clamp {
		four = w.least(four, w.Sub(w.ceil(), w.int(1)))
	}
	at := w.spot.at[s][0]
	if src.way == fours {
		if len(w.reduced) == 1 {
			return src.split(w.fetch(p.buf, w.ours(w.Add(at, four)), w.width))
		}
		at = w.Add(w.Shl(at, lanesLog), w.walk(w.Mul(four, w.int(lanes)), w.reduced, p.reduced))
		return src.split(w.fetch(p.buf, w.ours(w.Shr(at, lanesLog)), w.width))
	}
	var vs [][]kernel.Value
	for lane := range w.width {
		i := w.element(four, lane)
		if clamp && product(w.job.reduced)%lanes != 0 {
			i = w.least(i, w.Sub(w.count, w.int(1)))
		}
		vs = append(vs, w.one(s, w.Add(at, w.walk(i, w.reduced, p.reduced))))
	}
	return vs
}

// element is the number of an element of a four that the invocation has.
func (w *rowsWriter) element(four kernel.Value, lane int) kernel.Value {
	first := w.Add(w.Mul(four, w.int(lanes)), w.Mul(w.share, w.int(w.width)))
	return w.Add(first, w.int(lane))
}

// ours turns an index that counts fours into one that counts what the invocation
// has of them.
func (w *rowsWriter) ours(four kernel.Value) kernel.Value {
	return w.Add(w.Mul(four, w.int(w.job.shares)), w.share)
}

func (w *rowsWriter) least(x, y kernel.Value) kernel.Value {
	return w.Select(w.Compare(scalar.Lt, x, y), x, y)
}

// ceil is the number of fours of a row, the last of which may not be whole.
func (w *rowsWriter) ceil() kernel.Value {
	if product(w.job.reduced)%lanes == 0 {
		return w.fours
	}
	return w.Add(w.fours, w.int(1))
}

// storeFour stores the results for a four of the row, which may be beyond its end
// where it is ragged.
func (w *rowsWriter) storeFour(four kernel.Value, ps []*point, ragged bool) {
	whole := product(w.job.reduced)%lanes == 0
	for k, i := range w.job.unit.outs {
		if !w.job.unit.wide(k) {
			continue
		}
		var vs []kernel.Value
		for _, p := range ps {
			if !w.job.unit.exprs[i].full {
				p = w.row.clone()
			}
			vs = append(vs, p.store(w.emitter, i, w.job.unit.exprs[i].typ)...)
		}
		if whole {
			store := func() []kernel.Value {
				w.put(w.outs+k, w.ours(w.Add(w.Mul(w.u, w.fours), four)), vs...)
				return nil
			}
			if ragged {
				w.If(w.Compare(scalar.Lt, four, w.fours), store, nil)
			} else {
				store()
			}
			continue
		}
		n := w.job.finish.outs[k].parts()
		for lane := range ps {
			r := w.element(four, lane)
			w.If(w.exists(r), func() []kernel.Value {
				w.put(w.outs+k, w.Add(w.Mul(w.u, w.count), r), vs[lane*n:(lane+1)*n]...)
				return nil
			}, nil)
		}
	}
}

// storeRow stores the results that the row has one element of.
func (w *rowsWriter) storeRow() {
	for k, i := range w.job.unit.outs {
		if !w.job.unit.wide(k) {
			w.put(w.outs+k, w.u, w.row.clone().store(w.emitter, i, w.job.unit.exprs[i].typ)...)
		}
	}
}

// deepest is the depth of the deepest expression.
func (w *rowsWriter) deepest() int {
	d := 0
	for _, n := range w.depth {
		d = max(d, n)
	}
	return d
}
