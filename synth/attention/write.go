package attention

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// writer writes the kernel. A workgroup has a block of queries, and goes through the keys in
// blocks of their own. Invocation (x, y) has the queries y·perRow, y·perRow+1, … of the block, and
// every sixteenth key and column of values from x on.
type writer struct {
	*codegen.Emitter
	job  *job
	x, y kernel.Value // of the invocation
	exp  *scalar.Func
	div  *scalar.Func

	queries, keys, depth, width kernel.Value
	first                       kernel.Value // query of the block
	query, key, value           matrices
	logits                      *logits
	left, right, rowMax         int // shared arrays
}

// write is the body of the kernel.
func (j *job) write(e *codegen.Emitter) (err error) {
	w := &writer{Emitter: e, job: j}
	if err = w.functions(); err != nil {
		return err
	}
	w.queries, w.keys, w.depth, w.width = e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	blocks, all := e.NextNumber(), e.NextNumber()
	group := e.Min(e.Group(), e.Sub(all, e.Index(1))) // those beyond the last one repeat it
	number, place := e.DivMod(group, blocks)
	w.first = e.Mul(place, e.Index(j.queriesPer()))
	w.y, w.x = e.DivMod(e.Invocation(), e.Index(across))
	w.query, w.key, w.value = w.matrices(0, &j.query, number), w.matrices(1, &j.key, number), w.matrices(2, &j.value, number)
	w.left = e.Shared(scalar.F32, deep*w.job.lineOf())
	w.right = e.Shared(scalar.F32, deep*max(block, across*j.perCol))
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
		scores := w.scores(from)
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

// fma is x·y + z, rounded once.
func (w *writer) fma(x, y, z kernel.Value) kernel.Value {
	return w.Prim(scalar.Fma, scalar.F32, x, y, z)
}

// scores computes the products of the block's queries with a block of keys: for each query of the
// invocation, those of its keys.
func (w *writer) scores(from kernel.Value) []kernel.Value {
	zero := make([]kernel.Value, w.job.perRow*keysPer)
	for i := range zero {
		zero[i] = w.Float(scalar.F32, 0)
	}
	return w.Loop(w.Index(0), w.depth, w.Index(deep), zero, func(at kernel.Value, sums []kernel.Value) []kernel.Value {
		q := w.loadAcross(&w.query, w.job.queriesPer(), w.first, w.queries, at)
		k := w.loadAcross(&w.key, block, from, w.keys, at)
		w.Barrier()
		w.storeAcross(w.left, q, w.job.queriesPer(), w.job.lineOf())
		w.storeAcross(w.right, k, block, block)
		w.Barrier()
		return w.multiply(sums, keysPer, block)
	})
}

// multiply adds the products of the two shared arrays, deep of them for each sum. An invocation has
// some lines of the left one, and n elements of the right one, across apart.
func (w *writer) multiply(sums []kernel.Value, n, line int) []kernel.Value {
	const together = 4
	row := w.Convert(w.Mul(w.y, w.Index(w.job.perRow)), scalar.U32)
	column := w.Convert(w.x, scalar.U32)
	number := func(n int) kernel.Value { return w.Int(scalar.U32, n) }
	return w.Loop(number(0), number(deep), number(together), sums, func(at kernel.Value, sums []kernel.Value) []kernel.Value {
		sums = append([]kernel.Value(nil), sums...)
		left := w.Add(w.Mul(at, number(w.job.lineOf())), row)
		right := w.Add(w.Mul(at, number(line)), column)
		for k := range together {
			var a, b []kernel.Value
			for i := range w.job.perRow {
				a = append(a, w.LoadShared(w.left, w.Add(left, number(k*w.job.lineOf()+i))))
			}
			for i := range n {
				b = append(b, w.LoadShared(w.right, w.Add(right, number(k*line+i*across))))
			}
			for i := range a {
				for l := range b {
					sums[i*n+l] = w.fma(a[i], b[l], sums[i*n+l])
				}
			}
		}
		return sums
	})
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
	groups = w.each(r, groups, func(_ kernel.Value, g []kernel.Value) []kernel.Value {
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
	return append(append(now, tails...), w.addValues(from, weights, sums)...)
}

// each computes f of n groups of values, one after the other. The groups rotate through the rounds of
// a loop, so that the kernel has the code of f once. f also takes the number of the group.
func (w *writer) each(n int, groups []kernel.Value, f func(i kernel.Value, group []kernel.Value) []kernel.Value) []kernel.Value {
	size := len(groups) / n
	return w.Loop(w.Index(0), w.Index(n), w.Index(1), groups, func(i kernel.Value, groups []kernel.Value) []kernel.Value {
		return append(slices.Clone(groups[size:]), f(i, groups[:size])...)
	})
}

// greater is the greater of two numbers, the first where one is none.
func (w *writer) greater(x, y kernel.Value) kernel.Value {
	return w.Select(w.Compare(scalar.Lt, x, y), y, x)
}

// addValues adds the values of a block of keys, sixteen at a time: those with number k of each
// invocation, which have the weights k·perRow, k·perRow+1, and so on.
func (w *writer) addValues(from kernel.Value, weights, sums []kernel.Value) []kernel.Value {
	r := w.job.perRow
	at := w.Convert(w.Add(w.Mul(w.x, w.Index(w.job.lineOf())), w.Mul(w.y, w.Index(r))), scalar.U32)
	state := w.Loop(w.Index(0), w.Index(keysPer), w.Index(1), append(weights, sums...), func(k kernel.Value, state []kernel.Value) []kernel.Value {
		v := w.loadAlong(w.Add(from, w.Mul(k, w.Index(across))))
		w.Barrier()
		for i, x := range state[:r] {
			w.StoreShared(w.left, w.Add(at, w.Int(scalar.U32, i)), x)
		}
		w.storeAlong(v)
		w.Barrier()
		weights := append(slices.Clone(state[r:r*keysPer]), state[:r]...)
		return append(weights, w.multiply(state[r*keysPer:], w.job.perCol, across*w.job.perCol)...)
	})
	return state[r*keysPer:]
}

// reduce joins the values that the invocations of a line have for each query, and gives the totals
// to all of them.
func (w *writer) reduce(xs []kernel.Value, join func(x, y kernel.Value) kernel.Value) []kernel.Value {
	n := w.job.queriesPer()
	u32 := func(v kernel.Value) kernel.Value { return w.Convert(v, scalar.U32) }
	row := w.Mul(w.y, w.Index(w.job.perRow))
	w.Barrier()
	for i, x := range xs {
		w.StoreShared(w.left, u32(w.Add(w.Mul(w.x, w.Index(n)), w.Add(row, w.Index(i)))), x)
	}
	w.Barrier()
	parts := local / n
	each := across / parts
	part, query := w.DivMod(w.Invocation(), w.Index(n))
	var held []kernel.Value
	for i := range each {
		held = append(held, w.LoadShared(w.left, u32(w.Add(w.Mul(w.Add(w.Mul(part, w.Index(each)), w.Index(i)), w.Index(n)), query))))
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
	w.each(w.job.perRow, groups, func(i kernel.Value, g []kernel.Value) []kernel.Value {
		at := w.Add(w.first, w.Add(w.Mul(w.y, w.Index(w.job.perRow)), i))
		begin := w.Mul(w.Add(w.Mul(w.logits.number, w.queries), at), w.width)
		sums := w.each(c, g[:c], func(k kernel.Value, one []kernel.Value) []kernel.Value {
			column := w.Add(w.x, w.Mul(k, w.Index(across)))
			result := w.InlineEach(w.div, [][]kernel.Value{{one[0], g[c]}})[0]
			w.IfThen(w.And2(w.IsLess(at, w.queries), w.IsLess(column, w.width)), func() {
				w.Put(len(w.Buffers)-1, w.Add(begin, column), w.EncodeResult(result, ops.F32, w.job.result)...)
			})
			return one
		})
		return append(sums, g[c])
	})
}
