package gradient

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/fused"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// writer writes a kernel. A workgroup has a block of rows of one side, and goes through those of the other one in blocks.
type writer struct {
	tile.Writer
	pass             *pass
	owners, streamed kernel.Value // how many rows the sides have
	first            kernel.Value // row of the block
	number           kernel.Value // of the matrix
	pairs            []matrices
	places           *tile.Places
	out              int // the first buffer of what it gives
	err              error

	operators, identities []*scalar.Func // of the folds
}

// matrices are the operands of S or X in a kernel.
type matrices struct {
	pair
	sides [2]tile.Matrices
	width kernel.Value
}

// write is the body of the kernel.
func (p *pass) write(e *codegen.Emitter) error {
	line := tile.Block
	for _, i := range p.results {
		line = max(line, tile.Across*tile.PerColumn(p.columnsOf(&p.Job.results[i])))
	}
	w := &writer{Writer: tile.NewWriter(e, perRow, line), pass: p}
	if w.owners, w.streamed = e.NextNumber(), e.NextNumber(); !w.functions() {
		return w.err
	}
	blocks, all := e.NextNumber(), e.NextNumber()
	group := e.Min(e.Group(), e.Sub(all, e.Index(1))) // those beyond the last one repeat it
	number, place := e.DivMod(group, blocks)
	w.number, w.first = number, e.Mul(place, e.Index(rowsPer))
	buffer := 0
	for _, x := range p.pairs() {
		m := matrices{pair: x, width: e.NextNumber()}
		for side := range m.sides {
			m.sides[side] = w.Matrices(buffer, &x.of[side], number)
			buffer++
		}
		w.pairs = append(w.pairs, m)
	}
	w.places = tile.NewPlaces(e, p.space, buffer).Of(number)
	w.out = len(e.Buffers) - len(p.folds) - len(p.results)
	if len(p.folds) > 0 {
		w.fold()
	} else {
		w.sum()
	}
	return w.err
}

// functions compiles the operators of the folds.
func (w *writer) functions() bool {
	for _, i := range w.pass.folds {
		f := &w.pass.Job.folds[i]
		operator, err := codegen.Expression(w.Target, f.in.Op.Info().Code, f.compute, 2, 0)
		if err == nil {
			var identity *scalar.Func
			identity, err = codegen.Expression(w.Target, f.in.Op.Info().Identity, f.compute, 0, 0)
			w.operators, w.identities = append(w.operators, operator), append(w.identities, identity)
		}
		if err != nil {
			w.err = err
		}
	}
	return w.err == nil
}

// pairOf is the pair of S, or of X.
func (w *writer) pairOf(of *[2]tile.Operand) *matrices {
	i := slices.IndexFunc(w.pairs, func(m matrices) bool { return m.of == of })
	if i < 0 {
		return nil
	}
	return &w.pairs[i]
}

// product is the part of S, or of X, that the invocation has of a tile: zeros where nothing reads it.
func (w *writer) product(of *[2]tile.Operand, needed bool, from kernel.Value) []kernel.Value {
	if !needed {
		return slices.Repeat([]kernel.Value{w.Float(scalar.F32, 0)}, perRow*tile.Cols)
	}
	m, own := w.pairOf(of), w.pass.own
	return w.Product(&m.sides[own], &m.sides[1-own], w.first, w.owners, from, w.streamed, m.width, m.fours())
}

// points computes the roots at points of a row of the invocation: the elements of S and of X are given. inside
// tells which of the points are in the matrix.
func (w *writer) points(i, from kernel.Value, s, x []kernel.Value) (roots [][][]kernel.Value, inside []kernel.Value) {
	p := w.pass
	row := w.Min(w.Add(w.first, w.Add(w.Mul(w.Y, w.Index(perRow)), i)), w.Sub(w.owners, w.Index(1)))
	at := [tile.Cols][2][]kernel.Value{} // coordinates, by side
	groups := [2]int{queries: tile.Rows, keys: tile.Columns}
	own := w.places.Split(groups[p.own], row)
	for k := range at {
		other := w.Add(from, w.Add(w.X, w.Index(k*tile.Across)))
		inside = append(inside, w.IsLess(other, w.streamed))
		at[k][p.own] = own
		at[k][1-p.own] = w.places.Split(groups[1-p.own], w.Min(other, w.Sub(w.streamed, w.Index(1))))
	}
	scored, inner := p.Job.scores.Outs[0].Type.DType, p.inner.Outs[0].Type.DType
	dag := p.space.DAG
	roots, err := fused.EvaluateAll(dag, w.Emitter, dag.Outs, tile.Cols, func(n, k int) []kernel.Value {
		switch {
		case n == p.innerAt:
			return w.EncodeParts(inner, x[k:k+1])
		case dag.Sources[n].Kind == codegen.FromContraction:
			return w.EncodeParts(scored, s[k:k+1])
		}
		return w.places.At(n, at[k][queries], at[k][keys])
	})
	if err != nil && w.err == nil {
		w.err = err
	}
	return roots, inside
}

// fold folds expressions along the keys.
func (w *writer) fold() {
	p, n := w.pass, len(w.pass.folds)
	var init []kernel.Value // by row, then by fold
	for range perRow {
		for _, f := range w.identities {
			init = append(init, w.InlineAll(f, nil)[0])
		}
	}
	totals := w.Loop(w.Index(0), w.streamed, w.Index(tile.Block), init, func(from kernel.Value, acc []kernel.Value) []kernel.Value {
		s, x := w.product(&p.Job.scored, p.scored, from), w.product(&p.Job.valued, p.innerAt >= 0, from)
		return w.apart(w.Each(perRow, w.together(s, x, acc), func(i kernel.Value, g []kernel.Value) []kernel.Value {
			roots, inside := w.points(i, from, g[:tile.Cols], g[tile.Cols:2*tile.Cols])
			out := slices.Clone(g)
			for r := range roots {
				f := &p.Job.folds[p.folds[r]]
				typ := p.types(f.in.Ins[0].ID).DType
				at := 2*tile.Cols + r
				for k, v := range roots[r] {
					v = w.ConvertParts(v, typ, f.compute)
					out[at] = w.Select(inside[k], w.InlineAll(w.operators[r], []kernel.Value{out[at], v[0]})[0], out[at])
				}
			}
			return out
		}), n)
	})
	if w.err == nil {
		w.storeFolds(totals)
	}
}

// together groups elements of S and X, and what else there is, by row.
func (w *writer) together(s, x, more []kernel.Value) (groups []kernel.Value) {
	n := len(more) / perRow
	for i := range perRow {
		groups = slices.Concat(groups, s[i*tile.Cols:(i+1)*tile.Cols], x[i*tile.Cols:(i+1)*tile.Cols], more[i*n:(i+1)*n])
	}
	return groups
}

// apart are the last n values of each group.
func (w *writer) apart(groups []kernel.Value, n int) (last []kernel.Value) {
	size := len(groups) / perRow
	for i := range perRow {
		last = append(last, groups[(i+1)*size-n:(i+1)*size]...)
	}
	return last
}

// storeFolds joins the totals that the invocations of a line have of each row, and stores them.
func (w *writer) storeFolds(totals []kernel.Value) {
	p, n := w.pass, len(w.pass.folds)
	arrays := map[scalar.Type]int{}
	row := w.Add(w.first, w.Invocation())
	for r, i := range p.folds {
		f := &p.Job.folds[i]
		array, ok := arrays[w.Type(totals[r])]
		if !ok {
			array = w.Shared(w.Type(totals[r]), rowsPer*tile.Across)
			arrays[w.Type(totals[r])] = array
		}
		w.Barrier()
		for k := range perRow {
			at := w.Add(w.Mul(w.Add(w.Mul(w.Y, w.Index(perRow)), w.Index(k)), w.Index(tile.Across)), w.X)
			w.StoreShared(array, w.Convert(at, scalar.U32), totals[k*n+r])
		}
		w.Barrier()
		mine := w.And2(w.IsLess(w.Invocation(), w.Index(rowsPer)), w.IsLess(row, w.owners))
		w.IfThen(mine, func() {
			load := func(x kernel.Value) kernel.Value {
				at := w.Add(w.Mul(w.Invocation(), w.Index(tile.Across)), x)
				return w.LoadShared(array, w.Convert(at, scalar.U32))
			}
			total := w.Loop(w.Index(1), w.Index(tile.Across), w.Index(1), []kernel.Value{load(w.Index(0))}, func(x kernel.Value, acc []kernel.Value) []kernel.Value {
				return w.InlineAll(w.operators[r], []kernel.Value{acc[0], load(x)})
			})
			at := w.Add(w.Mul(w.number, w.owners), row)
			w.Put(w.out+r, at, w.EncodeResult(total, f.compute, f.in.Outs[0].Type.DType)...)
		})
	}
}

// sum sums rows of the other side by expressions.
func (w *writer) sum() {
	p := w.pass
	var init []kernel.Value
	sizes := make([]int, len(p.results)) // sums of an invocation
	for n, i := range p.results {
		sizes[n] = perRow * tile.PerColumn(p.columnsOf(&p.Job.results[i]))
		init = append(init, slices.Repeat([]kernel.Value{w.Float(scalar.F32, 0)}, sizes[n])...)
	}
	sums := w.Loop(w.Index(0), w.streamed, w.Index(tile.Block), init, func(from kernel.Value, sums []kernel.Value) (out []kernel.Value) {
		s, x := w.product(&p.Job.scored, p.scored, from), w.product(&p.Job.valued, p.innerAt >= 0, from)
		weights := w.Each(perRow, w.together(s, x, nil), func(i kernel.Value, g []kernel.Value) []kernel.Value { return w.weights(i, from, g) })
		for n, i := range p.results {
			m := w.operandOf(&p.Job.results[i])
			var mine []kernel.Value // by column of the tile, then by row
			for k := range tile.Cols {
				for r := range perRow {
					mine = append(mine, weights[(r*maxResults+n)*tile.Cols+k])
				}
			}
			out = append(out, w.Sum(&m.sides[1-p.own], from, w.streamed, m.width, sizes[n]/perRow, m.fours(), mine, sums[:sizes[n]])...)
			sums = sums[sizes[n]:]
		}
		return out
	})
	for n := range p.results {
		w.storeSums(n, sums[:sizes[n]])
		sums = sums[sizes[n]:]
	}
}

// weights are the expressions of a row by which the results sum, in the places of S and X: zeros beyond the last row of
// the other side.
func (w *writer) weights(i, from kernel.Value, g []kernel.Value) []kernel.Value {
	roots, inside := w.points(i, from, g[:tile.Cols], g[tile.Cols:])
	zero := w.Float(scalar.F32, 0)
	out := slices.Repeat([]kernel.Value{zero}, maxResults*tile.Cols)
	for n := range roots {
		typ := w.pass.types(w.pass.Job.results[w.pass.results[n]].weights).DType
		for k, v := range roots[n] {
			out[n*tile.Cols+k] = w.Select(inside[k], w.ConvertParts(v, typ, ops.F32)[0], zero)
		}
	}
	return out
}

// operandOf is the pair whose rows a result sums.
func (w *writer) operandOf(r *result) *matrices {
	if r.valued {
		return w.pairOf(&w.pass.Job.valued)
	}
	return w.pairOf(&w.pass.Job.scored)
}

// storeSums stores the sums of a result.
func (w *writer) storeSums(n int, sums []kernel.Value) {
	r := &w.pass.Job.results[w.pass.results[n]]
	width := w.operandOf(r).width
	columns := len(sums) / perRow
	w.Each(perRow, sums, func(i kernel.Value, sums []kernel.Value) []kernel.Value {
		row := w.Add(w.first, w.Add(w.Mul(w.Y, w.Index(perRow)), i))
		return w.Each(columns, sums, func(k kernel.Value, one []kernel.Value) []kernel.Value {
			column := w.Add(w.X, w.Mul(k, w.Index(tile.Across)))
			at := w.Add(w.Mul(w.Add(w.Mul(w.number, w.owners), row), width), column)
			if r.across {
				at = w.Add(w.Mul(w.Add(w.Mul(w.number, width), column), w.owners), row)
			}
			w.IfThen(w.And2(w.IsLess(row, w.owners), w.IsLess(column, width)), func() {
				w.Put(w.out+n, at, w.EncodeResult(one, ops.F32, r.in.Outs[0].Type.DType)...)
			})
			return one
		})
	})
}
