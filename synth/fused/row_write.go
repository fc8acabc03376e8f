package fused

import (
	"nxvk/synth/codegen"
	"nxvk/synth/fusion"
	"nxvk/synth/kernel"
	"nxvk/synth/reduction"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// rowsWriter writes the kernel of a rowsJob.
type rowsWriter struct {
	*reduction.Writer
	job      *rowsJob
	depth    []int  // of the expressions
	row      *point // what is the same for all elements of the row
	position *reduction.Position
	u        kernel.Value // the row
	outs     int          // the first buffer that is written
	width    int          // number of elements of a four that belong to the invocation
	share    kernel.Value // which of them
	tail     int          // elements of the last four, while that is computed by itself; else 0
}

func (j *rowsJob) write(e *codegen.Emitter) error { return j.ahead(e)() }

// ahead loads what a workgroup keeps of its rows, and gives the rest.
func (j *rowsJob) ahead(e *codegen.Emitter) (rest func() error) {
	r, err := j.Job.Writer(e)
	if err != nil {
		return func() error { return err }
	}
	w := &rowsWriter{Writer: r, job: j, depth: j.fusion.depths(), row: newPoint(j.fusion.DAG),
		outs: len(e.Buffers) - len(j.Finish.Outs), width: strided.Components / j.shares, share: e.Index(0)}
	if j.Order.Tree {
		return w.shared()
	}
	w.solo()
	return func() error { return w.Err }
}

// begin finds row u and loads the sources that are the same for all of its
// elements.
func (w *rowsWriter) begin(u kernel.Value) {
	w.u = u
	w.job.Point = func(_ *codegen.Emitter, still []kernel.Value) reduction.ElementFunc {
		for i := range w.job.fusion.Exprs {
			if x := &w.job.fusion.Exprs[i]; x.Kind == fusion.ExprSource && !x.Full {
				w.compute([]*point{w.row}, i, [][]kernel.Value{among(w.job.fusion.DAG, w.job.still, x.Source, still)})
			}
		}
		return nil
	}
	w.position = w.Writer.Locate(u)
}

// compute computes expression i at some points. Arguments that are the same along
// the row come from w.row.
func (w *rowsWriter) compute(ps []*point, i int, loaded [][]kernel.Value) {
	for _, a := range w.job.fusion.Exprs[i].Args {
		for _, p := range ps {
			if !w.job.fusion.Exprs[a].Full {
				p.values[a], p.raw[a], p.stored[a] = w.row.values[a], w.row.raw[a], w.row.stored[a]
			}
		}
	}
	if err := compute(w.job.fusion.DAG, w.Emitter, ps, i, loaded); err != nil {
		w.Fail(err)
	}
}

// steadily computes the expressions of a depth that are the same for all elements
// of the row.
func (w *rowsWriter) steadily(depth int) {
	for i := range w.job.fusion.Exprs {
		if x := &w.job.fusion.Exprs[i]; x.Kind == fusion.ExprApply && !x.Full && w.depth[i] == depth {
			w.compute([]*point{w.row}, i, nil)
		}
	}
}

// foldsAt lists the numbers of the reductions whose operands have a depth.
func (w *rowsWriter) foldsAt(depth int) []int {
	var ks []int
	for k, i := range w.job.fusion.folds {
		if w.depth[i] == depth+1 {
			ks = append(ks, k)
		}
	}
	return ks
}

// only is a writer for some of the reductions.
func (w *rowsWriter) only(ks []int) *reduction.Writer {
	r := *w.Writer
	j := *w.job.Job
	r.Job, j.Folds, r.Operators, r.Identities = &j, nil, nil, nil
	for _, k := range ks {
		j.Folds = append(j.Folds, w.job.Folds[k])
		r.Operators = append(r.Operators, w.Operators[k])
		r.Identities = append(r.Identities, w.Identities[k])
	}
	return &r
}

// operands converts the operands of reductions at point p to the types of their
// operators.
func (w *rowsWriter) operands(ks []int, p *point) []kernel.Value {
	var xs []kernel.Value
	for _, k := range ks {
		a := w.job.fusion.Exprs[w.job.fusion.folds[k]].Args[0]
		from := p
		if !w.job.fusion.Exprs[a].Full {
			from = w.row
		}
		xs = append(xs, w.job.Folds[k].Convert(w.Emitter, from.values[a], w.job.fusion.Exprs[a].Type)...)
	}
	return xs
}

// totals makes the totals of reductions the values of their expressions.
func (w *rowsWriter) totals(ks []int, xs []kernel.Value) {
	for _, k := range ks {
		n := w.job.Folds[k].Parts()
		w.job.fusion.total(w.Emitter, w.row, w.job.fusion.folds[k], xs[:n])
		xs = xs[n:]
	}
}

// exists says whether the row has element r.
func (w *rowsWriter) exists(r kernel.Value) kernel.Value {
	return w.Compare(scalar.Lt, r, w.Count)
}

// load loads source s for each element of a four of the row. With clamp, components
// beyond the row load its last element.
func (w *rowsWriter) load(s int, four kernel.Value, clamp bool) [][]kernel.Value {
	src, p := &w.job.Ins[s], &w.Ins[s]
	if clamp && !w.job.Order.Apart {
		four = w.least(four, w.Sub(w.ceil(), w.Index(1)))
	}
	at := w.position.At[s][0]
	if src.Way == reduction.Fours {
		if len(w.Reduced) == 1 {
			return src.Split(w.Fetch(p.Buf, w.ours(w.Add(at, four)), w.width))
		}
		at = w.Add(w.Shl(at, reduction.ComponentsLog), w.Offsets(w.Mul(four, w.Index(strided.Components)), w.Reduced, p.Reduced))
		return src.Split(w.Fetch(p.Buf, w.ours(w.Shr(at, reduction.ComponentsLog)), w.width))
	}
	var vs [][]kernel.Value
	for component := range w.there() {
		i := w.element(four, component)
		if clamp && strided.Product(w.job.Reduced)%strided.Components != 0 {
			i = w.least(i, w.Sub(w.Count, w.Index(1)))
		}
		vs = append(vs, w.One(s, w.Add(at, w.Offsets(i, w.Reduced, p.Reduced))))
	}
	return vs
}

// element is the index in the row of an element of the invocation's four.
func (w *rowsWriter) element(four kernel.Value, component int) kernel.Value {
	return w.Element(four, w.Add(w.Mul(w.share, w.Index(w.width)), w.Index(component)))
}

// ours converts an index in fours to an index in the invocation's shares of
// fours.
func (w *rowsWriter) ours(four kernel.Value) kernel.Value {
	return w.Add(w.Mul(four, w.Index(w.job.shares)), w.share)
}

func (w *rowsWriter) least(x, y kernel.Value) kernel.Value {
	return w.Select(w.Compare(scalar.Lt, x, y), x, y)
}

// ceil is the number of fours of a row; the last one may not be whole.
func (w *rowsWriter) ceil() kernel.Value {
	if strided.Product(w.job.Reduced)%strided.Components == 0 {
		return w.Fours
	}
	return w.Add(w.Fours, w.Index(1))
}

// storeFour stores the results for a four of the row. A ragged four may end, or
// begin, beyond the row.
func (w *rowsWriter) storeFour(four kernel.Value, ps []*point, ragged bool) {
	whole := strided.Product(w.job.Reduced)%strided.Components == 0
	for k, i := range w.job.fusion.Outs {
		if !w.job.fusion.wide(k) {
			continue
		}
		var vs []kernel.Value
		for _, p := range ps {
			if !w.job.fusion.Exprs[i].Full {
				p = w.row.clone()
			}
			vs = append(vs, p.store(w.Emitter, i, w.job.fusion.Exprs[i].Type)...)
		}
		if whole {
			store := func() []kernel.Value {
				w.Put(w.outs+k, w.ours(w.Add(w.Mul(w.u, w.Fours), four)), vs...)
				return nil
			}
			if ragged {
				w.If(w.Compare(scalar.Lt, four, w.Fours), store, nil)
			} else {
				store()
			}
			continue
		}
		n := w.job.Finish.Outs[k].Parts()
		for component := range ps {
			r := w.element(four, component)
			store := func() { w.Put(w.outs+k, w.Add(w.Mul(w.u, w.Count), r), vs[component*n:(component+1)*n]...) }
			if ragged {
				w.IfThen(w.exists(r), store)
			} else {
				store()
			}
		}
	}
}

// storeRow stores the results with one element a row.
func (w *rowsWriter) storeRow() {
	for k, i := range w.job.fusion.Outs {
		if !w.job.fusion.wide(k) {
			w.Put(w.outs+k, w.u, w.row.clone().store(w.Emitter, i, w.job.fusion.Exprs[i].Type)...)
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
