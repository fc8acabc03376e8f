package attention

import (
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// partial is what some parts of the keys of a query give: the greatest logit, the sum of the weights, and sums of
// values.
type partial struct {
	most, total kernel.Value
	sums        []kernel.Value
}

func (p partial) list() []kernel.Value { return append([]kernel.Value{p.most, p.total}, p.sums...) }

func partialOf(vs []kernel.Value) partial { return partial{vs[0], vs[1], vs[2:]} }

// join is the body of the kernel that joins the parts of the keys of a query. The invocations that have the same
// columns join some parts each, and then each other's.
func (f *fewJob) join(e *codegen.Emitter) error {
	w := &writer{Writer: tile.Writer{Emitter: e}, job: f.job}
	if err := w.functions(); err != nil {
		return err
	}
	parts, width, all := e.NextNumber(), e.NextNumber(), e.NextNumber()
	query := e.Min(e.Group(), e.Sub(all, e.Index(1))) // those beyond the last one repeat it
	first, c := e.DivMod(e.Invocation(), e.Index(f.joinColumns()))
	line := e.Div(width, e.Index(f.joinVector()))
	column := e.Min(c, e.Sub(line, e.Index(1)))
	none := partial{most: e.Const(scalar.F32, 0xff800000), total: e.Float(scalar.F32, 0)}
	for range f.joinVector() {
		none.sums = append(none.sums, none.total)
	}
	begin := e.Mul(query, parts)
	groups := f.threads / f.joinColumns()
	mine := e.Loop(first, parts, e.Index(groups), none.list(), func(i kernel.Value, so []kernel.Value) []kernel.Value {
		at := e.Add(begin, i)
		tail := e.Fetch(1, at, 2)
		next := partial{tail[0], tail[1], e.Fetch(0, e.Add(e.Mul(at, line), column), f.joinVector())}
		return w.merge(partialOf(so), next).list()
	})
	done := partialOf(w.mergeAll(f.threads, f.joinColumns(), mine))
	e.IfThen(e.And2(e.IsLess(e.Invocation(), e.Index(f.joinColumns())), e.IsLess(c, line)), func() {
		w.storeResults(e.Add(e.Mul(query, line), c), done.sums, done.total)
	})
	return nil
}

// merge joins two parts.
func (w *writer) merge(a, b partial) partial {
	most := w.greater(a.most, b.most)
	least := w.Const(scalar.F32, 0xff800000)
	base := w.Select(w.Compare(scalar.Eq, most, least), w.Float(scalar.F32, 0), most)
	scales := w.InlineEach(w.exp, [][]kernel.Value{{w.Sub(a.most, base)}, {w.Sub(b.most, base)}})
	join := func(x, y kernel.Value) kernel.Value {
		return w.FMA(y, scales[1][0], w.Mul(x, scales[0][0]))
	}
	out := partial{most: most, total: join(a.total, b.total)}
	for i := range a.sums {
		out.sums = append(out.sums, join(a.sums[i], b.sums[i]))
	}
	return out
}

// mergeAll joins the parts of the invocations that have the same columns, by halves.
func (w *writer) mergeAll(threads, columns int, mine []kernel.Value) []kernel.Value {
	array := w.Shared(scalar.F32, threads*len(mine))
	at := func(j int, i kernel.Value) kernel.Value { return w.Convert(w.Add(i, w.Index(j*threads)), scalar.U32) }
	load := func(i kernel.Value) (vs []kernel.Value) {
		for j := range mine {
			vs = append(vs, w.LoadShared(array, at(j, i)))
		}
		return vs
	}
	store := func(vs []kernel.Value) {
		for j, v := range vs {
			w.StoreShared(array, at(j, w.Invocation()), v)
		}
	}
	store(mine)
	w.For(w.Index(0), w.Index(codegen.Log2(threads/columns)), w.Index(1), func(i kernel.Value) {
		reach := w.Prim(scalar.Shr, w.IndexType, w.Index(threads/2), w.Convert(i, w.IndexType))
		w.Barrier()
		w.IfThen(w.IsLess(w.Invocation(), reach), func() {
			store(w.merge(partialOf(load(w.Invocation())), partialOf(load(w.Add(w.Invocation(), reach)))).list())
		})
	})
	w.Barrier()
	return load(w.Invocation())
}
