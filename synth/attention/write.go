package attention

import (
	"nxvk/ops"
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// writer writes the kernel. A workgroup has a block of queries, and goes through the keys in
// blocks of their own.
type writer struct {
	tile.Writer
	job *job
	exp *scalar.Func
	div *scalar.Func

	queries, keys, depth, width kernel.Value
	first                       kernel.Value // query of the block
	query, key, value           tile.Matrices
	logits                      *logits
	rowMax                      int // a shared array
}

// write is the body of the kernel.
func (j *job) write(e *codegen.Emitter) (err error) {
	w := &writer{Writer: tile.NewWriter(e, j.perRow, max(block, across*j.perCol)), job: j}
	if err = w.functions(); err != nil {
		return err
	}
	w.queries, w.keys, w.depth, w.width = e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	blocks, all := e.NextNumber(), e.NextNumber()
	group := e.Min(e.Group(), e.Sub(all, e.Index(1))) // those beyond the last one repeat it
	number, place := e.DivMod(group, blocks)
	w.first = e.Mul(place, e.Index(j.queriesPer()))
	w.query, w.key, w.value = w.Matrices(0, &j.query, number), w.Matrices(1, &j.key, number), w.Matrices(2, &j.value, number)
	w.rowMax = e.Shared(scalar.F32, local)
	w.logits = w.newLogits(3).of(number)
	return w.stream()
}

// functions compiles the functions of the softmax.
func (w *writer) functions() (err error) {
	for _, f := range []struct {
		op    ops.Op
		arity int
		to    **scalar.Func
	}{{ops.Exp, 1, &w.exp}, {ops.Divide, 2, &w.div}} {
		if *f.to, err = codegen.Expression(w.Target, f.op.Info().Code, ops.F32, f.arity, 0); err != nil {
			return err
		}
	}
	return nil
}

// stream goes through the keys.
func (w *writer) stream() (err error) {
	zero, least := w.Float(scalar.F32, 0), w.Const(scalar.F32, 0xff800000)
	var init []kernel.Value
	r, c := w.job.perRow, w.job.perCol
	for range r {
		init = append(init, least)
	}
	for range r + r*c {
		init = append(init, zero)
	}
	state := w.Loop(w.Index(0), w.keys, w.Index(block), init, func(from kernel.Value, state []kernel.Value) []kernel.Value {
		scores := w.Product(&w.query, &w.key, w.first, w.queries, from, w.keys, w.depth, w.job.exactDepth)
		var points []kernel.Value
		if points, err = w.logits.at(scores, from); err != nil {
			return state
		}
		return w.accumulate(from, points, state[:r], state[r:2*r], state[2*r:])
	})
	if err != nil {
		return err
	}
	w.store(w.reduce(state[r:2*r], func(x, y kernel.Value) kernel.Value { return w.Add(x, y) }), state[2*r:])
	return nil
}

// accumulate adds a block of keys to the sums: maxima, sums of exponentials, and sums of values.
func (w *writer) accumulate(from kernel.Value, points, most, total, sums []kernel.Value) []kernel.Value {
	r := w.job.perRow
	least := w.Const(scalar.F32, 0xff800000)
	local := make([]kernel.Value, r)
	for i := range local {
		local[i] = points[i*keysPer]
		for _, x := range points[i*keysPer+1 : (i+1)*keysPer] {
			local[i] = w.greater(local[i], x)
		}
	}
	block := w.reduce(local, w.greater)
	var groups []kernel.Value // of a row: its points, its maxima before and after, the sum before
	for i := range r {
		groups = append(append(groups, points[i*keysPer:(i+1)*keysPer]...), most[i], w.greater(most[i], block[i]), total[i])
	}
	groups = w.Each(r, groups, func(_ kernel.Value, g []kernel.Value) []kernel.Value {
		before, now, tail := g[keysPer], g[keysPer+1], g[keysPer+2]
		// Of a row that has -Inf alone so far, the exponentials are 0, not those of -Inf - -Inf.
		from := w.Select(w.Compare(scalar.Eq, now, least), w.Float(scalar.F32, 0), now)
		args := [][]kernel.Value{{w.Sub(before, from)}}
		for _, x := range g[:keysPer] {
			args = append(args, []kernel.Value{w.Sub(x, from)})
		}
		exps := w.InlineEach(w.exp, args)
		scale := exps[0][0]
		tail = w.Mul(tail, scale)
		var weights []kernel.Value
		for _, x := range exps[1:] {
			weights, tail = append(weights, x[0]), w.Add(tail, x[0])
		}
		return append(weights, scale, now, tail)
	})
	var now, tails, weights []kernel.Value
	sums = append([]kernel.Value(nil), sums...)
	for i := range r {
		g := groups[i*(keysPer+3) : (i+1)*(keysPer+3)]
		now, tails = append(now, g[keysPer+1]), append(tails, g[keysPer+2])
		for c := range w.job.perCol {
			sums[i*w.job.perCol+c] = w.Mul(sums[i*w.job.perCol+c], g[keysPer])
		}
	}
	for k := range keysPer {
		for i := range r {
			weights = append(weights, groups[i*(keysPer+3)+k])
		}
	}
	return append(append(now, tails...), w.Sum(&w.value, from, w.keys, w.width, w.job.perCol, w.job.exactWidth, weights, sums)...)
}

// greater is the greater of two numbers, the first where one is none.
func (w *writer) greater(x, y kernel.Value) kernel.Value {
	return w.Select(w.Compare(scalar.Lt, x, y), y, x)
}

// reduce joins the values that the invocations of a line have for each query, and gives the totals
// to all of them.
func (w *writer) reduce(xs []kernel.Value, join func(x, y kernel.Value) kernel.Value) []kernel.Value {
	n := w.job.queriesPer()
	u32 := func(v kernel.Value) kernel.Value { return w.Convert(v, scalar.U32) }
	row := w.Mul(w.Y, w.Index(w.job.perRow))
	w.Barrier()
	for i, x := range xs {
		w.StoreShared(w.Left, u32(w.Add(w.Mul(w.X, w.Index(n)), w.Add(row, w.Index(i)))), x)
	}
	w.Barrier()
	parts := local / n
	each := across / parts
	part, query := w.DivMod(w.Invocation(), w.Index(n))
	var held []kernel.Value
	for i := range each {
		held = append(held, w.LoadShared(w.Left, u32(w.Add(w.Mul(w.Add(w.Mul(part, w.Index(each)), w.Index(i)), w.Index(n)), query))))
	}
	w.StoreShared(w.rowMax, u32(w.Invocation()), halve(held, join))
	w.Barrier()
	out := make([]kernel.Value, len(xs))
	for i := range out {
		held = held[:0]
		for p := range parts {
			held = append(held, w.LoadShared(w.rowMax, u32(w.Add(row, w.Index(p*n+i)))))
		}
		out[i] = halve(held, join)
	}
	return out
}

// halve joins a power of two of values by halves.
func halve(xs []kernel.Value, join func(x, y kernel.Value) kernel.Value) kernel.Value {
	for len(xs) > 1 {
		half := len(xs) / 2
		joined := make([]kernel.Value, half)
		for i := range joined {
			joined[i] = join(xs[i], xs[half+i])
		}
		xs = joined
	}
	return xs[0]
}

// store divides the sums by the totals and stores the results.
func (w *writer) store(total, sums []kernel.Value) {
	c := w.job.perCol
	var groups []kernel.Value
	for i, n := range total {
		groups = append(append(groups, sums[i*c:(i+1)*c]...), n)
	}
	w.Each(w.job.perRow, groups, func(i kernel.Value, g []kernel.Value) []kernel.Value {
		at := w.Add(w.first, w.Add(w.Mul(w.Y, w.Index(w.job.perRow)), i))
		begin := w.Mul(w.Add(w.Mul(w.logits.Number, w.queries), at), w.width)
		sums := w.Each(c, g[:c], func(k kernel.Value, one []kernel.Value) []kernel.Value {
			column := w.Add(w.X, w.Mul(k, w.Index(across)))
			result := w.InlineEach(w.div, [][]kernel.Value{{one[0], g[c]}})[0]
			w.IfThen(w.And2(w.IsLess(at, w.queries), w.IsLess(column, w.width)), func() {
				w.Put(len(w.Buffers)-1, w.Add(begin, column), w.EncodeResult(result, ops.F32, w.job.result)...)
			})
			return one
		})
		return append(sums, g[c])
	})
}
