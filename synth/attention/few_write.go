package attention

import (
	"nxvk/ops"
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/fused"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// fewWriter writes the kernel for few queries. First a team of invocations shares each
// product with a key. Then each invocation computes the weights of keys of its own. At last each invocation has columns
// of the values, and sums them for some of the keys.
type fewWriter struct {
	*writer
	few          *fewJob
	row          kernel.Value // the query
	from, count  kernel.Value // the keys of the workgroup: the first, and how many
	shared, held int          // arrays: products and sums; the query
	weights      int          // likewise, of the keys
	fold         int          // a number of each invocation
}

// write is the body of the kernel.
func (f *fewJob) write(e *codegen.Emitter) (err error) {
	w := &fewWriter{writer: &writer{Writer: tile.Writer{Emitter: e}, job: f.job}, few: f}
	if err = w.functions(); err != nil {
		return err
	}
	w.queries, w.keys, w.depth, w.width = e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	parts, size, all := e.NextNumber(), e.NextNumber(), e.NextNumber()
	group := e.Min(e.Group(), e.Sub(all, e.Index(1))) // those beyond the last one repeat it
	query, part := e.DivMod(group, parts)
	number, row := e.DivMod(query, w.queries)
	w.row = row
	w.query, w.key, w.value = w.Matrices(0, &f.query, number), w.Matrices(1, &f.key, number), w.Matrices(2, &f.value, number)
	w.logits = w.newLogits(3).of(number)
	w.from = e.Mul(part, size)
	w.count = e.Min(size, e.Sub(w.keys, w.from))
	w.shared, w.held = e.Shared(scalar.F32, max(fewTeam*f.line(), f.threads*f.valueVector)), e.Shared(scalar.F32, fewDeep)
	w.weights, w.fold = e.Shared(scalar.F32, fewKeys*f.threads), e.Shared(scalar.F32, f.threads)
	marks := w.marks()
	w.scores()
	values := w.values(w.Index(0), f.early, false)
	w.Barrier()
	most, total, err := w.softmax(marks)
	if err != nil {
		return err
	}
	w.store(query, group, most, total, w.sums(values))
	return nil
}

// hold has the query in shared memory, with zeros behind it.
func (w *fewWriter) hold() {
	n := tile.Whole(w.few.depth, w.few.unit())
	w.For(w.Invocation(), w.Index(n), w.Index(w.few.threads), func(i kernel.Value) {
		x := w.Load(&w.query, w.row, w.queries, i, w.depth, 1)[0]
		w.StoreShared(w.held, w.Convert(i, scalar.U32), x)
	})
	w.Barrier()
}

// unit is how many elements of a key the invocations of a team have in flight.
func (f *fewJob) unit() int { return fewTeam * f.keyVector * f.deep }

// mark is what the logit of a key reads beside its score.
type mark struct {
	key    kernel.Value // of the workgroup
	number kernel.Value // of all
	loaded []map[int][]kernel.Value
}

// marks loads what the logits of the invocation's keys read.
func (w *fewWriter) marks() (list []mark) {
	last := w.Sub(w.count, w.Index(1))
	for i := range ceil(w.few.part, w.few.threads) {
		k := w.Add(w.Invocation(), w.Index(i*w.few.threads))
		m := mark{key: k, number: w.Add(w.from, w.Min(k, last))}
		m.loaded = w.logits.beside(w.row, m.number)
		list = append(list, m)
	}
	return list
}

// scores has the products of the teams in shared memory: for each invocation of a team, those of its keys. The
// first keys are loaded before the query is there.
func (w *fewWriter) scores() {
	f := w.few
	line, member := w.DivMod(w.Invocation(), w.Index(fewTeam))
	team := f.threads / fewTeam
	column := w.Mul(member, w.Index(f.keyVector))
	keysFrom := func(first kernel.Value) (keys []kernel.Value) {
		for i := range f.lines {
			keys = append(keys, w.Add(w.Add(first, line), w.Index(i*team)))
		}
		return keys
	}
	through := func(keys []kernel.Value, sums []kernel.Value, from kernel.Value) {
		sums = w.Loop(from, w.depth, w.Index(f.unit()), sums, func(at kernel.Value, sums []kernel.Value) []kernel.Value {
			return w.multiplyKeys(w.loadKeys(keys, w.Add(at, column)), w.Add(at, column), sums)
		})
		for i, k := range keys {
			place := w.Add(w.Mul(member, w.Index(f.line())), k)
			w.IfThen(w.IsLess(k, w.count), func() { w.StoreShared(w.shared, w.Convert(place, scalar.U32), sums[i]) })
		}
	}
	zeros := make([]kernel.Value, f.lines)
	for i := range zeros {
		zeros[i] = w.Float(scalar.F32, 0)
	}
	keys := keysFrom(w.Index(0))
	early := w.loadKeys(keys, column)
	w.hold()
	through(keys, w.multiplyKeys(early, column, zeros), w.Index(f.unit()))
	if f.part > team*f.lines {
		w.For(w.Index(team*f.lines), w.count, w.Index(team*f.lines), func(first kernel.Value) { through(keysFrom(first), zeros, w.Index(0)) })
	}
}

// loadKeys loads the vectors of keys from a column on that an invocation has in flight.
func (w *fewWriter) loadKeys(keys []kernel.Value, at kernel.Value) (vectors [][]kernel.Value) {
	f := w.few
	for _, k := range keys {
		for d := range f.deep {
			column := w.Add(at, w.Index(d*fewTeam*f.keyVector))
			vectors = append(vectors, w.Load(&w.key, w.Add(w.from, k), w.keys, column, w.depth, f.keyVector))
		}
	}
	return vectors
}

// multiplyKeys adds the products of the query with vectors of keys, from a column on.
func (w *fewWriter) multiplyKeys(vectors [][]kernel.Value, at kernel.Value, sums []kernel.Value) []kernel.Value {
	f := w.few
	sums = append([]kernel.Value(nil), sums...)
	for d := range f.deep {
		for j := range f.keyVector {
			x := w.LoadShared(w.held, w.Convert(w.Add(at, w.Index(d*fewTeam*f.keyVector+j)), scalar.U32))
			for i := range sums {
				sums[i] = w.FMA(x, vectors[i*f.deep+d][j], sums[i])
			}
		}
	}
	return sums
}

// softmax has the weights of the keys in shared memory, and gives the greatest logit and the sum of the weights.
func (w *fewWriter) softmax(marks []mark) (most, total kernel.Value, err error) {
	least, zero := w.Const(scalar.F32, 0xff800000), w.Float(scalar.F32, 0)
	most = least
	var points []kernel.Value
	for _, m := range marks {
		at := w.Convert(w.Min(m.key, w.Sub(w.count, w.Index(1))), scalar.U32)
		sum := w.LoadShared(w.shared, at)
		for i := 1; i < fewTeam; i++ {
			sum = w.Add(sum, w.LoadShared(w.shared, w.Add(at, w.Int(scalar.U32, i*w.few.line()))))
		}
		x, err := w.logits.one(sum, m.loaded)
		if err != nil {
			return most, most, err
		}
		x = w.Select(w.IsLess(m.key, w.count), x, least)
		most, points = w.greater(most, x), append(points, x)
	}
	most = w.joined(w.greater, most)
	// Of a part that has -Inf alone the exponentials are 0, not those of -Inf - -Inf.
	base := w.Select(w.Compare(scalar.Eq, most, least), zero, most)
	total = zero
	for i, m := range marks {
		x := w.Inline(w.exp, []kernel.Value{w.Sub(points[i], base)})
		w.IfThen(w.IsLess(m.key, w.count), func() { w.StoreShared(w.weights, w.Convert(m.key, scalar.U32), x) })
		total = w.Add(total, w.Select(w.IsLess(m.key, w.count), x, zero))
	}
	return most, w.joined(func(x, y kernel.Value) kernel.Value { return w.Add(x, y) }, total), nil
}

// joined joins a number of each invocation, and gives the total to all.
func (w *fewWriter) joined(join func(x, y kernel.Value) kernel.Value, x kernel.Value) kernel.Value {
	w.Barrier()
	at := func(v kernel.Value) kernel.Value { return w.Convert(v, scalar.U32) }
	w.StoreShared(w.fold, at(w.Invocation()), x)
	w.ReduceTree(w.few.threads, func(into, from kernel.Value) {
		w.StoreShared(w.fold, at(into), join(w.LoadShared(w.fold, at(into)), w.LoadShared(w.fold, at(from))))
	})
	return w.LoadShared(w.fold, w.Int(scalar.U32, 0))
}

// valued is a vector of values and the key that it is of.
type valued struct {
	key    kernel.Value
	values []kernel.Value
}

// values loads vectors of n keys of the invocation, from one on. With weighed, those of weight 0 are all read at the
// same place.
func (w *fewWriter) values(at kernel.Value, n int, weighed bool) (list []valued) {
	f := w.few
	groups := f.threads / f.columns
	first, c := w.DivMod(w.Invocation(), w.Index(f.columns))
	for i := range n {
		k := w.Add(w.Add(at, first), w.Index(i*groups))
		row := w.Min(k, w.Sub(w.count, w.Index(1)))
		if weighed {
			row = w.Select(w.Compare(scalar.Eq, w.weight(k), w.Float(scalar.F32, 0)), w.Index(0), row)
		}
		list = append(list, valued{k, w.Load(&w.value, w.Add(w.from, row), w.keys, w.Mul(c, w.Index(f.valueVector)), w.width, f.valueVector)})
	}
	return list
}

// weight is the weight of a key, 0 beyond the last one.
func (w *fewWriter) weight(k kernel.Value) kernel.Value {
	x := w.LoadShared(w.weights, w.Convert(w.Min(k, w.Sub(w.count, w.Index(1))), scalar.U32))
	return w.Select(w.IsLess(k, w.count), x, w.Float(scalar.F32, 0))
}

// sums gives the sums of the values of the keys: a vector of columns to each of the first invocations. Values
// of weight 0 are not used. early are the first ones.
func (w *fewWriter) sums(early []valued) []kernel.Value {
	f := w.few
	groups := f.threads / f.columns
	zero := w.Float(scalar.F32, 0)
	sums := make([]kernel.Value, f.valueVector)
	for j := range sums {
		sums[j] = zero
	}
	add := func(list []valued, sums []kernel.Value) []kernel.Value {
		sums = append([]kernel.Value(nil), sums...)
		for _, v := range list {
			x := w.weight(v.key)
			none := w.Compare(scalar.Eq, x, zero)
			for j, y := range v.values {
				sums[j] = w.FMA(x, w.Select(none, zero, y), sums[j])
			}
		}
		return sums
	}
	sums = add(early, sums)
	if f.part > groups*f.early {
		sums = w.Loop(w.Index(groups*f.early), w.count, w.Index(groups*fewValues), sums, func(at kernel.Value, sums []kernel.Value) []kernel.Value {
			return add(w.values(at, fewValues, true), sums)
		})
	}
	return w.gather(w.shared, f.threads, f.columns, sums)
}

// gather adds up vectors of the invocations that have the same columns.
func (w *writer) gather(array, threads, columns int, xs []kernel.Value) []kernel.Value {
	at := func(j int, i kernel.Value) kernel.Value { return w.Convert(w.Add(i, w.Index(j*threads)), scalar.U32) }
	for j, x := range xs {
		w.StoreShared(array, at(j, w.Invocation()), x)
	}
	for n := threads / columns; n > 1; {
		part := max(1, n/8)
		w.Barrier()
		w.IfThen(w.IsLess(w.Invocation(), w.Index(part*columns)), func() {
			for j := range xs {
				sum := w.LoadShared(array, at(j, w.Invocation()))
				for from := part; from < n; from += part {
					sum = w.Add(sum, w.LoadShared(array, at(j, w.Add(w.Invocation(), w.Index(from*columns)))))
				}
				w.StoreShared(array, at(j, w.Invocation()), sum)
			}
		})
		n = part
	}
	w.Barrier()
	out := make([]kernel.Value, len(xs))
	for j := range out {
		out[j] = w.LoadShared(array, at(j, w.Invocation()))
	}
	return out
}

// store stores the results of a query, or what a part of its keys gives.
func (w *fewWriter) store(query, group, most, total kernel.Value, sums []kernel.Value) {
	f, c := w.few, w.Invocation()
	line := w.Div(w.width, w.Index(f.valueVector)) // vectors of a row
	mine := w.And2(w.IsLess(c, w.Index(f.columns)), w.IsLess(c, line))
	if f.parts == 1 {
		w.IfThen(mine, func() { w.storeResults(w.Add(w.Mul(query, line), c), sums, total) })
		return
	}
	last := len(w.Buffers) - 1
	w.IfThen(mine, func() { w.Put(last-1, w.Add(w.Mul(group, line), c), sums...) })
	w.IfThen(w.IsEqual(c, w.Index(0)), func() { w.Put(last, group, most, total) })
}

// storeResults divides a vector of sums by the sum of the weights, and stores it.
func (w *writer) storeResults(at kernel.Value, sums []kernel.Value, total kernel.Value) {
	var args [][]kernel.Value
	for _, x := range sums {
		args = append(args, []kernel.Value{x, total})
	}
	var stored []kernel.Value
	for _, x := range w.InlineEach(w.div, args) {
		stored = append(stored, w.EncodeResult(x, ops.F32, w.job.result)...)
	}
	w.Put(len(w.Buffers)-1, at, stored...)
}

// beside loads what the logit of a query and a key reads beside its score, by source.
func (l *logits) beside(row, key kernel.Value) []map[int][]kernel.Value {
	rowAt, keyAt := l.Split(rows, row), [][]kernel.Value{l.Split(columns, key)}
	loaded := make([]map[int][]kernel.Value, len(l.List))
	for s := range loaded {
		loaded[s] = map[int][]kernel.Value{}
		if l.job.space.Sources[s].Kind != codegen.FromContraction {
			loaded[s][0] = l.load(s, 0, rowAt, keyAt, loaded)
		}
	}
	return loaded
}

// one computes the logit of a score.
func (l *logits) one(score kernel.Value, loaded []map[int][]kernel.Value) (kernel.Value, error) {
	typ := l.job.scores.Outs[0].Type.DType
	values, err := fused.Evaluate(l.job.dag, l.Emitter, l.job.dag.Outs[0], 1, func(s, _ int) []kernel.Value {
		if l.job.space.Sources[s].Kind == codegen.FromContraction {
			return l.EncodeParts(typ, []kernel.Value{score})
		}
		return loaded[s][0]
	})
	if err != nil {
		return score, err
	}
	return values[0][0], nil
}
