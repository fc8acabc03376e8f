package gradient

import (
	"errors"
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
)

// errPattern says that instructions are no gradient of attention.
var errPattern = errors.New("no gradient of attention")

// sides are the rows that a tile has: queries with what comes for their results, or keys with their values.
const (
	queries = iota
	keys
)

// Job is the gradient of an attention.
type Job struct {
	target  *lowering.Target
	region  *ops.Region
	body    *fusion.Fusion // of the region, with the literals of the instruction in their places
	types   func(ops.ID) ops.Type
	made    map[ops.ID]*ops.Instr
	scores  *ops.Instr // S
	inner   *ops.Instr // X
	batches int
	lengths [2]int // of queries and keys
	depth   int    // of a query
	width   int    // of a value

	scored [2]tile.Operand // Q and K, the operands of S
	valued [2]tile.Operand // dO and V, the operands of X

	folds   []fold
	results []result
}

// fold is a sum or a maximum along the keys; later ones read those of a lower level.
type fold struct {
	in      *ops.Instr
	level   int
	compute ops.DType
}

// result is a product that the region gives.
type result struct {
	in      *ops.Instr
	weights ops.ID // dS or P
	own     int    // the side that its rows are of
	valued  bool   // it sums rows of dO, not of Q or K
	across  bool   // its rows are the last dimension
}

// New is the gradient of attention that an instruction computes. The error wraps ErrUnsupported where it is none, or
// the device cannot carry it out.
func New(in *ops.Instr, t *lowering.Target) (*Job, error) {
	j := &Job{target: t, region: in.Regions[0], body: &fusion.Fusion{}, made: make(map[ops.ID]*ops.Instr)}
	j.read(in)
	for _, f := range []func() error{j.findProducts, j.findResults, j.findFolds, j.findOperands, j.supported} {
		if err := f(); errors.Is(err, errPattern) {
			return nil, fmt.Errorf("%w: %w", lowering.ErrUnsupported, err)
		} else if err != nil {
			return nil, err
		}
	}
	return j, nil
}

// read has parameters as operands, and literals of the instruction in the places of theirs.
func (j *Job) read(in *ops.Instr) {
	types, literal := make(map[ops.ID]ops.Type), make(map[ops.ID]*ops.Literal)
	for i, p := range j.region.Params {
		types[p.ID] = p.Type
		j.body.Ins = append(j.body.Ins, p.ID)
		if i < len(in.Ins) {
			literal[p.ID] = in.Ins[i].Lit
		}
	}
	for _, id := range j.body.Ins {
		j.body.Lits = append(j.body.Lits, literal[id])
	}
	for _, one := range j.region.Body {
		one.Ins = slices.Clone(one.Ins)
		for k, o := range one.Ins {
			switch {
			case o.Lit != nil:
				j.body.Lits = append(j.body.Lits, o.Lit)
			case literal[o.ID] != nil:
				one.Ins[k] = ops.Operand{Lit: literal[o.ID]}
			}
		}
		j.body.Body = append(j.body.Body, one)
		types[one.Outs[0].ID] = one.Outs[0].Type
	}
	for i := range j.body.Body {
		j.made[j.body.Body[i].Outs[0].ID] = &j.body.Body[i]
	}
	j.types = func(id ops.ID) ops.Type { return types[id] }
}

// findProducts finds S, which maxima are of, and X.
func (j *Job) findProducts() error {
	given := make(map[ops.ID]bool)
	for _, v := range j.region.Values {
		given[v.ID] = true
	}
	var products []*ops.Instr
	for i := range j.body.Body {
		in := &j.body.Body[i]
		if in.Op == ops.Dot && !given[in.Outs[0].ID] {
			products = append(products, in)
		}
		if in.Op == ops.Dot && (in.Ins[0].Lit != nil || in.Ins[1].Lit != nil) {
			return fmt.Errorf("%w: an operand is a literal", errPattern)
		}
	}
	if len(products) != 2 {
		return fmt.Errorf("%w: %d products are not results", errPattern, len(products))
	}
	for i, s := range products {
		if j.feedsMaximum(s) {
			j.scores, j.inner = s, products[1-i]
		}
	}
	if j.scores == nil || j.feedsMaximum(j.inner) || !j.scores.Outs[0].Type.Shape.Equal(j.inner.Outs[0].Type.Shape) {
		return fmt.Errorf("%w: no product has the logits", errPattern)
	}
	a, q, k := j.scores.Attrs, j.types(j.scores.Ins[0].ID).Shape, j.types(j.scores.Ins[1].ID).Shape
	j.batches = tile.Size(q, a[1])
	j.lengths = [2]int{tile.Size(q, tile.Others(q, a[0], a[1])), tile.Size(k, tile.Others(k, a[2], a[3]))}
	j.depth, j.width = tile.Size(q, a[0]), tile.Size(j.types(j.inner.Ins[0].ID).Shape, j.inner.Attrs[0])
	if j.batches*j.lengths[queries]*j.lengths[keys]*j.depth*j.width == 0 {
		return fmt.Errorf("%w: a matrix is empty", errPattern)
	}
	return nil
}

// feedsMaximum reports whether a maximum depends on a product.
func (j *Job) feedsMaximum(product *ops.Instr) bool {
	for i := range j.body.Body {
		in := &j.body.Body[i]
		if in.Op == ops.ReduceMax && j.depends(in.Outs[0].ID, product) {
			return true
		}
	}
	return false
}

// depends reports whether a value depends on an instruction.
func (j *Job) depends(id ops.ID, on *ops.Instr) bool {
	seen := make(map[ops.ID]bool)
	var visit func(id ops.ID) bool
	visit = func(id ops.ID) bool {
		in := j.made[id]
		if in == nil || seen[id] {
			return false
		}
		seen[id] = true
		return in == on || slices.ContainsFunc(in.Ins, func(o ops.Operand) bool { return o.Lit == nil && visit(o.ID) })
	}
	return visit(id)
}

// axesOf are the axes of the scores of a side, and of the batch.
func (j *Job) axesOf() (batch []int, sides [2][]int) {
	a, s := j.scores.Attrs, j.scores.Outs[0].Type.Shape
	n := len(a[1])
	rows := len(j.types(j.scores.Ins[0].ID).Shape) - len(a[0]) - n
	for i := range s {
		switch {
		case i < n:
			batch = append(batch, i)
		case i < n+rows:
			sides[queries] = append(sides[queries], i)
		default:
			sides[keys] = append(sides[keys], i)
		}
	}
	return batch, sides
}

// findResults finds what each product that the region gives is.
func (j *Job) findResults() error {
	for _, v := range j.region.Values {
		in := j.made[v.ID]
		if v.Lit != nil || in == nil || in.Op != ops.Dot {
			return fmt.Errorf("%w: a result is no product", errPattern)
		}
		r, ok := j.resultOf(in, 0)
		if !ok {
			r, ok = j.resultOf(in, 1)
		}
		if !ok {
			return fmt.Errorf("%w: a product has other operands", errPattern)
		}
		j.results = append(j.results, r)
	}
	return nil
}

// resultOf is a product whose operand k has the weights.
func (j *Job) resultOf(in *ops.Instr, k int) (r result, ok bool) {
	batch, sides := j.axesOf()
	mine, others := in.Attrs[2*k:2*k+2], in.Attrs[2-2*k:4-2*k]
	r = result{in: in, weights: in.Ins[k].ID, across: k == 1}
	if !j.types(r.weights).Shape.Equal(j.scores.Outs[0].Type.Shape) || !slices.Equal(mine[1], batch) || !j.depends(r.weights, j.scores) {
		return r, false
	}
	of, streamed := j.scores, keys
	switch {
	case slices.Equal(mine[0], sides[keys]):
		r.own = queries
	case slices.Equal(mine[0], sides[queries]):
		r.own, streamed = keys, queries
	default:
		return r, false
	}
	if r.own == keys && !j.depends(r.weights, j.inner) { // the weights of values, whose gradient it is
		r.valued, of = true, j.inner
	}
	operand := in.Ins[1-k]
	shape, a := j.types(operand.ID).Shape, of.Attrs[2*streamed:2*streamed+2]
	return r, operand.ID == of.Ins[streamed].ID && slices.Equal(others[1], a[1]) && slices.Equal(others[0], tile.Others(shape, a[0], a[1]))
}

// findFolds finds the reductions of expressions of the scores, and their order.
func (j *Job) findFolds() error {
	_, sides := j.axesOf()
	level := make(map[ops.ID]int) // of values: how many folds one after the other they need
	for i := range j.body.Body {
		in := &j.body.Body[i]
		n := 0
		for _, o := range in.Ins {
			n = max(n, level[o.ID])
		}
		if in.Op.Info().Kind == ops.Reduce {
			from := j.types(in.Ins[0].ID)
			f := fold{in: in, level: n, compute: codegen.ComputeClass(in, []ops.Type{from})}
			if in.Op != ops.Sum && in.Op != ops.ReduceMax || in.Ins[0].Lit != nil || !slices.Equal(in.Attrs[0], sides[keys]) ||
				!from.Shape.Equal(j.scores.Outs[0].Type.Shape) {
				return fmt.Errorf("%w: a reduction is not along the keys", errPattern)
			}
			j.folds = append(j.folds, f)
			n++
		}
		level[in.Outs[0].ID] = n
	}
	return nil
}

// findOperands finds where the matrices are in memory.
func (j *Job) findOperands() error {
	for _, x := range []struct {
		of *ops.Instr
		to *[2]tile.Operand
	}{{j.scores, &j.scored}, {j.inner, &j.valued}} {
		for side := range x.to {
			id, a := x.of.Ins[side].ID, x.of.Attrs[2*side:2*side+2]
			o, err := tile.NewOperand(j.body, id, j.types, a[1], tile.Others(j.types(id).Shape, a[0], a[1]), a[0])
			if err != nil {
				return fmt.Errorf("%w: %w", errPattern, err)
			}
			x.to[side] = o
		}
	}
	return nil
}

// maxColumns is how many columns a query or a value has at most: an invocation has its columns in registers.
const maxColumns = 256

// supported reports whether the device carries the kernels out.
func (j *Job) supported() error {
	t := j.target
	list := []ops.DType{j.scores.Outs[0].Type.DType, j.inner.Outs[0].Type.DType}
	for side := range 2 {
		list = append(list, j.scored[side].DType, j.valued[side].DType)
	}
	for _, r := range j.results {
		list = append(list, r.in.Outs[0].Type.DType, j.types(r.weights).DType)
	}
	for _, d := range list {
		if d.Wide() != ops.F32 || !t.Narrow(lowering.ElemOf[d]) {
			return lowering.Unsupported("the gradient of attention of %v", d)
		}
	}
	for _, f := range j.folds {
		if d := f.compute.Wide(); d != ops.F32 && d != ops.U32 && d != ops.S32 {
			return lowering.Unsupported("reductions of %v", d)
		}
	}
	switch {
	case t.CPU:
		return lowering.Unsupported("the gradient of attention in few kernels, on a processor")
	case t.MaxInvocations < tile.Local:
		return lowering.Unsupported("workgroups of %d invocations", tile.Local)
	case max(j.depth, j.width) > maxColumns:
		return lowering.Unsupported("queries of %d columns, values of %d", j.depth, j.width)
	case j.sharedBytes() > t.SharedMemory:
		return lowering.Unsupported("workgroups of %d bytes of shared memory", j.sharedBytes())
	}
	return nil
}
