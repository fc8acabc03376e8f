package attention

import (
	"fmt"

	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// A query at a time, as a generation has it, gives each head a workgroup, which is few for a device. So the keys of a
// query are divided among several. What joins the parts is so little work that the kernel which reads the results does it
// first, each of its workgroups for itself (see fused.PlanAttention and codegen.Chain), and no dispatch more is needed.

// Bounds of parts that a reader joins.
const (
	maxJoined   = 16      // parts of a query: an invocation has all of them in registers
	joinedBytes = 1 << 17 // of all parts: each workgroup of the reader reads them
	fewHeads    = 64      // queries, from which on they are workgroups enough
	partKeys    = 128     // keys of a part, at most: those that a workgroup has in flight
	joinVector  = 4       // columns of an invocation
)

// share divides the keys of a query into parts that a reader joins, where there are few queries and these are of one
// position. It reports whether it does.
func (f *fewJob) share() bool {
	if s := f.shape; len(s) > 3 && s[0] > 1 || f.queries > 1 || f.rows() > fewHeads || f.width%joinVector != 0 {
		return false
	}
	parts := min(maxJoined, ceil(f.keys, partKeys), joinedBytes/(4*f.rows()*f.width))
	if parts < 2 || ceil(f.keys, parts) > fewKeys*f.threads {
		return false
	}
	f.part = tile.Whole(ceil(f.keys, parts), fewTeam)
	return true
}

// joinable reports whether an invocation joins all parts of a query for some columns.
func (f *fewJob) joinable() bool {
	return f.parts > 1 && f.parts <= maxJoined && f.width%joinVector == 0 && f.rows()*f.parts*f.width*4 <= joinedBytes
}

// temps are the bytes of the temporaries of parts.
func (f *fewJob) temps() []int64 {
	n := int64(f.rows() * f.parts)
	return []int64{n * int64(4*f.width), n * 8}
}

// columnJoining is the kernel that joins the parts of a query, some columns by an invocation.
func (f *fewJob) columnJoining() *codegen.Program {
	units := f.rows() * f.width / joinVector
	groups := func(local int) int { return ceil(units, local) }
	p := &codegen.Program{Local: uint32(f.threads), Groups: groups(f.threads), Fit: groups, Body: f.joinColumn, Index: codegen.IndexType(f.rows() * f.parts * f.width),
		Key: fmt.Sprintf("few parts=%d to %v", f.parts, f.result), Numbers: []int{f.width / joinVector, units}}
	for _, b := range []codegen.Buffer{f.sums(lowering.Read), f.tails(lowering.Read)} {
		p.Buffers, p.Bytes = append(p.Buffers, b), p.Bytes+b.Bytes
	}
	f.addResult(p)
	return p
}

// joinColumn is the body of columnJoining. All parts are read before the first is used.
func (f *fewJob) joinColumn(e *codegen.Emitter) error {
	w := &writer{Writer: tile.Writer{Emitter: e}, job: f.job}
	if err := w.functions(); err != nil {
		return err
	}
	line, all := e.NextNumber(), e.NextNumber()
	at := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
	e.IfThen(e.IsLess(at, all), func() {
		query, c := e.DivMod(at, line)
		first := e.Mul(query, e.Index(f.parts))
		var tails, sums [][]kernel.Value
		for i := range f.parts {
			part := e.Add(first, e.Index(i))
			tails = append(tails, e.Fetch(1, part, 2))
			sums = append(sums, e.Fetch(0, e.Add(e.Mul(part, line), c), joinVector))
		}
		out, total := w.joinAll(tails, sums)
		w.storeResults(at, out, total)
	})
	return nil
}

// joinAll joins parts: tails are their greatest logits and the sums of their weights, sums those of values.
func (w *writer) joinAll(tails, sums [][]kernel.Value) (out []kernel.Value, total kernel.Value) {
	least, zero := w.Const(scalar.F32, 0xff800000), w.Float(scalar.F32, 0)
	most := tails[0][0]
	for _, t := range tails[1:] {
		most = w.greater(most, t[0])
	}
	// Of parts that have -Inf alone the exponentials are 0, not those of -Inf - -Inf.
	base := w.Select(w.Compare(scalar.Eq, most, least), zero, most)
	var args [][]kernel.Value
	for _, t := range tails {
		args = append(args, []kernel.Value{w.Sub(t[0], base)})
	}
	scales := w.InlineEach(w.exp, args)
	total, out = zero, make([]kernel.Value, len(sums[0]))
	for c := range out {
		out[c] = zero
	}
	for i, s := range scales {
		total = w.FMA(tails[i][1], s[0], total)
		for c := range out {
			out[c] = w.FMA(sums[i][c], s[0], out[c])
		}
	}
	return out, total
}

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
