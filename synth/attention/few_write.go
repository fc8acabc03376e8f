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
	newKey       *fresh       // what the kernel puts among the others; nil where there is none
	newValue     *fresh
}

// write is the body of the kernel.
func (f *fewJob) write(e *codegen.Emitter) error {
	_, early := f.begin(e)
	return early()()
}

// begin begins the kernel. It gives the number of the matrix, and the loads of the first keys, before it needs the query,
// which give the rest.
func (f *fewJob) begin(e *codegen.Emitter) (number kernel.Value, early func() (rest func() error)) {
	w := &fewWriter{writer: &writer{Writer: tile.Writer{Emitter: e}, job: f.job}, few: f}
	if err := w.functions(); err != nil {
		return e.Index(0), func() func() error { return func() error { return err } }
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
	w.shared, w.held = e.Shared(scalar.F32, f.sharedSums()), e.Shared(scalar.F32, fewDeep)
	w.weights, w.fold = e.Shared(scalar.F32, fewKeys*f.threads), e.Shared(scalar.F32, f.threads)
	w.findNew(number)
	return number, func() func() error {
		marks := w.marks()
		keys := w.loadKeys(w.keysFrom(w.Index(0)), w.column())
		var values []valued
		if f.ahead() {
			values = w.values(w.Index(0), f.early, false)
		}
		return func() error {
			w.scores(keys)
			if !f.ahead() {
				values = w.values(w.Index(0), f.early, false)
			}
			w.Barrier()
			most, err := w.softmax(marks)
			if err != nil {
				return err
			}
			w.Barrier()
			sums, total := w.sums(values)
			w.store(query, group, most, total, sums)
			w.putNew(w.newKey, &w.key)
			w.putNew(w.newValue, &w.value)
			return nil
		}
	}
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

// scores has the products of the teams in shared memory: for each invocation of a team, those of its keys. early are the
// first keys.
func (w *fewWriter) scores(early [][]kernel.Value) {
	f := w.few
	through := func(keys []kernel.Value, sums []kernel.Value, from kernel.Value) {
		sums = w.through(sums, from, func(at kernel.Value) [][]kernel.Value { return w.loadKeys(keys, at) })
		for i, k := range keys {
			kept := w.IsLess(k, w.count)
			if w.newKey != nil { // what memory has there is another one
				kept = w.And2(kept, w.Not(w.IsEqual(k, w.newKey.key)))
			}
			w.IfThen(kept, func() { w.keep(k, sums[i]) })
		}
	}
	zeros := make([]kernel.Value, f.lines)
	for i := range zeros {
		zeros[i] = w.Float(scalar.F32, 0)
	}
	w.hold()
	through(w.keysFrom(w.Index(0)), w.multiplyKeys(early, w.column(), zeros), w.Index(f.unit()))
	if at := w.teams() * f.lines; f.part > at {
		w.For(w.Index(at), w.count, w.Index(at), func(first kernel.Value) { through(w.keysFrom(first), zeros, w.Index(0)) })
	}
	if w.newKey != nil {
		w.multiplyNew()
	}
}

// through adds products with vectors of keys from a column on to sums; load loads the vectors from one on.
func (w *fewWriter) through(sums []kernel.Value, from kernel.Value, load func(at kernel.Value) [][]kernel.Value) []kernel.Value {
	return w.Loop(from, w.depth, w.Index(w.few.unit()), sums, func(at kernel.Value, sums []kernel.Value) []kernel.Value {
		at = w.Add(at, w.column())
		return w.multiplyKeys(load(at), at, sums)
	})
}

// keep has the product of the invocation with a key in shared memory.
func (w *fewWriter) keep(key, sum kernel.Value) {
	place := w.Add(w.Mul(w.member(), w.Index(w.few.line())), key)
	w.StoreShared(w.shared, w.Convert(place, scalar.U32), sum)
}

// teams is how many teams the workgroup has.
func (w *fewWriter) teams() int { return w.few.threads / fewTeam }

// member is the number of the invocation in its team.
func (w *fewWriter) member() kernel.Value {
	_, member := w.DivMod(w.Invocation(), w.Index(fewTeam))
	return member
}

// column is the first column of keys that the invocation has.
func (w *fewWriter) column() kernel.Value { return w.Mul(w.member(), w.Index(w.few.keyVector)) }

// keysFrom are the keys that the invocation has in flight, of those from one on.
func (w *fewWriter) keysFrom(first kernel.Value) (keys []kernel.Value) {
	line := w.Div(w.Invocation(), w.Index(fewTeam))
	for i := range w.few.lines {
		keys = append(keys, w.Add(w.Add(first, line), w.Index(i*w.teams())))
	}
	return keys
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

// softmax has the weights of the keys in shared memory, and gives the greatest logit.
func (w *fewWriter) softmax(marks []mark) (most kernel.Value, err error) {
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
			return most, err
		}
		x = w.Select(w.IsLess(m.key, w.count), x, least)
		most, points = w.greater(most, x), append(points, x)
	}
	most = w.greatest(most)
	// Of a part that has -Inf alone the exponentials are 0, not those of -Inf - -Inf.
	base := w.Select(w.Compare(scalar.Eq, most, least), zero, most)
	for i, m := range marks {
		x := w.Inline(w.exp, []kernel.Value{w.Sub(points[i], base)})
		w.IfThen(w.IsLess(m.key, w.count), func() { w.StoreShared(w.weights, w.Convert(m.key, scalar.U32), x) })
	}
	return most, nil
}

// folded is how many invocations may have a key, a power of two.
func (f *fewJob) folded() int { return min(f.threads, 1<<codegen.Log2(f.part)) }

// greatest is the greatest of the numbers of those invocations that have a key. A barrier takes as long as some loads from
// shared memory, so that there are two.
func (w *fewWriter) greatest(x kernel.Value) kernel.Value {
	const radix = 16
	n := w.few.folded()
	at := func(v kernel.Value, apart, i int) kernel.Value {
		return w.LoadShared(w.fold, w.Convert(w.Add(v, w.Index(i*apart)), scalar.U32))
	}
	all := func(v kernel.Value, apart, n int) kernel.Value {
		most := at(v, apart, 0)
		for i := 1; i < n; i++ {
			most = w.greater(most, at(v, apart, i))
		}
		return most
	}
	own := w.Convert(w.Invocation(), scalar.U32)
	w.StoreShared(w.fold, own, x)
	w.Barrier()
	if n > radix {
		n /= radix
		w.IfThen(w.IsLess(w.Invocation(), w.Index(n)), func() { w.StoreShared(w.fold, own, all(w.Invocation(), n, radix)) })
		w.Barrier()
	}
	return all(w.Index(0), 1, n)
}

// valued is a vector of values and the key that it is of.
type valued struct {
	key    kernel.Value
	values []kernel.Value
}

// ahead reports whether an invocation loads its first values together with its first keys: they are few enough to be in
// registers meanwhile.
func (f *fewJob) ahead() bool { return f.deep*f.lines+f.early <= fewLoads }

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

// sums gives the sums of the values of the keys, a vector of columns to each of the first invocations, and that of the weights.
// Values of weight 0 are not used. early are the first ones.
func (w *fewWriter) sums(early []valued) (sums []kernel.Value, total kernel.Value) {
	f := w.few
	groups := f.threads / f.columns
	zero := w.Float(scalar.F32, 0)
	sums = make([]kernel.Value, f.valueVector+1)
	for j := range sums {
		sums[j] = zero
	}
	var news []kernel.Value
	if w.newValue != nil {
		c := w.Sub(w.Invocation(), w.Mul(w.Div(w.Invocation(), w.Index(f.columns)), w.Index(f.columns)))
		news = w.vector(w.newValue, f.value.DType, w.Mul(c, w.Index(f.valueVector)), f.valueVector)
	}
	add := func(list []valued, sums []kernel.Value) []kernel.Value {
		sums = append([]kernel.Value(nil), sums...)
		for _, v := range list {
			x := w.weight(v.key)
			none := w.Compare(scalar.Eq, x, zero)
			values := v.values
			if news != nil {
				values = w.SelectAll(w.IsEqual(v.key, w.newValue.key), news, values)
			}
			for j, y := range values {
				sums[j] = w.FMA(x, w.Select(none, zero, y), sums[j])
			}
			sums[f.valueVector] = w.Add(sums[f.valueVector], x)
		}
		return sums
	}
	sums = add(early, sums)
	if f.part > groups*f.early {
		sums = w.Loop(w.Index(groups*f.early), w.count, w.Index(groups*fewValues), sums, func(at kernel.Value, sums []kernel.Value) []kernel.Value {
			return add(w.values(at, fewValues, true), sums)
		})
	}
	sums = w.gather(w.shared, f.threads, f.columns, sums)
	return sums[:f.valueVector], sums[f.valueVector]
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
