package gradient

import (
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/fused"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
)

// perRow is how many rows of a tile an invocation has, rowsPer how many the tile has.
const (
	perRow  = 4
	rowsPer = tile.Down * perRow
)

// foldTypes is how many types totals have at most: each has a shared array.
const foldTypes = 3

// maxCost bounds the operations of a point. A kernel has tile.Cols copies of them.
const maxCost = 320

// maxResults is how many results a kernel has, and maxPerInvocation how many columns of these an invocation.
const (
	maxResults       = 2
	maxPerInvocation = 16
)

// pass is a kernel: it has tiles of the rows of one side, and goes through those of the other one. It folds
// expressions of the tile, or sums rows by them.
type pass struct {
	*Job
	own     int // the side that workgroups have rows of
	folds   []int
	results []int
	space   *tile.Space
	hoisted hoisted // of space, where wide
	innerAt int     // the source that X is; -1 where nothing reads it
	scored  bool    // whether something reads S
	wide    bool    // expressions and folds of narrow floats are of f32, and not rounded
}

// Plan plans the kernels.
func (j *Job) Plan() (*lowering.Plan, error) {
	if m := j.onMatrix(); m != nil {
		return m.plan()
	}
	passes, err := j.passes()
	if err != nil {
		return nil, err
	}
	var programs []*codegen.Program
	for _, p := range passes {
		program, err := p.program()
		if err != nil {
			return nil, err
		}
		programs = append(programs, program)
	}
	var temps []int64
	for i := range j.folds {
		temps = append(temps, int64(j.folds[i].in.Outs[0].Type.Bytes()))
	}
	return codegen.NewPlan(j.target, temps, programs...)
}

// passes are the kernels in their order: those of folds by level, then those of the results.
func (j *Job) passes() (list []*pass, err error) {
	for level, left := 0, len(j.folds); left > 0; level++ {
		p := &pass{Job: j, own: queries}
		for i := range j.folds {
			if j.folds[i].level == level {
				p.folds = append(p.folds, i)
			}
		}
		if left -= len(p.folds); len(p.folds) > 0 {
			list = append(list, p)
		}
	}
	for _, own := range []int{queries, keys} {
		var last *pass
		columns := 0
		for i := range j.results {
			r := &j.results[i]
			if r.own != own {
				continue
			}
			n := tile.PerColumn(j.columnsOf(r))
			if columns += n; last == nil || len(last.results) == maxResults || columns > maxPerInvocation {
				last, columns = &pass{Job: j, own: own}, n
				list = append(list, last)
			}
			last.results = append(last.results, i)
		}
	}
	return list, express(list)
}

// roots are the values that a kernel computes at each point.
func (p *pass) roots() (list []ops.ID) {
	for _, i := range p.folds {
		list = append(list, p.Job.folds[i].in.Ins[0].ID)
	}
	for _, i := range p.results {
		list = append(list, p.Job.results[i].weights)
	}
	return list
}

// express makes the expressions of kernels.
func express(list []*pass) error {
	for _, p := range list {
		if err := p.express(); err != nil {
			return err
		}
	}
	return nil
}

// express makes the expressions of a kernel: of elements of S and X, of what lies in memory, and of folds before.
func (p *pass) express() error {
	u := &fusion.Fusion{Ins: slices.Clone(p.body.Ins), Lits: p.body.Lits}
	foldAt := len(u.Ins)
	stops := make(map[ops.ID]bool)
	for i := range p.Job.folds {
		id := p.Job.folds[i].in.Outs[0].ID
		u.Ins, stops[id] = append(u.Ins, id), true
	}
	inner := p.inner.Outs[0].ID
	innerAt := len(u.Ins)
	u.Ins, stops[inner] = append(u.Ins, inner), true
	need := make(map[ops.ID]bool)
	for _, id := range p.roots() {
		need[id] = true
		u.Outs = append(u.Outs, ops.Result{ID: id, Type: p.types(id)})
	}
	for _, in := range slices.Backward(p.body.Body) {
		id := in.Outs[0].ID
		if !need[id] || stops[id] {
			continue
		}
		u.Body = append(u.Body, in)
		if id == p.Job.scores.Outs[0].ID {
			p.scored = true
			continue
		}
		for _, o := range in.Ins {
			need[o.ID] = need[o.ID] || o.Lit == nil
		}
	}
	slices.Reverse(u.Body)
	types := p.types
	if p.wide {
		types = p.wideTypes()
	}
	dag, err := fusion.NewDAG(u, types)
	if err != nil {
		return fmt.Errorf("%w: %w: %w", lowering.ErrUnsupported, errPattern, err)
	}
	if err := p.locate(dag, foldAt, innerAt); err != nil {
		return err
	}
	if p.wide {
		dag = tile.Widened(dag)
	}
	if c := fused.Cost(dag, p.target); c > maxCost {
		return lowering.Unsupported("scores of %d operations", c)
	}
	p.space = tile.NewSpace(dag, [tile.Groups]int{p.batches, p.lengths[queries], p.lengths[keys]})
	if p.wide {
		p.hoisted = hoist(p.space)
	}
	return nil
}

// wideTypes are the types of values, those of folds as temporaries have them.
func (p *pass) wideTypes() func(ops.ID) ops.Type {
	folds := make(map[ops.ID]ops.Type)
	for i := range p.Job.folds {
		folds[p.Job.folds[i].in.Outs[0].ID] = p.foldType(i)
	}
	return func(id ops.ID) ops.Type {
		if t, ok := folds[id]; ok {
			return t
		}
		return p.types(id)
	}
}

// foldType is the type of a fold that is not rounded.
func (j *Job) foldType(i int) ops.Type {
	t := j.folds[i].in.Outs[0].Type
	if t.DType.IsFloat() {
		t.DType = ops.F32
	}
	return t
}

// locate has the expressions read folds, which are operands from foldAt on, in temporaries, and X, operand innerAt, as the
// kernel has it.
func (p *pass) locate(dag *fusion.DAG, foldAt, innerAt int) error {
	if p.innerAt = -1; len(dag.Checks) > 0 {
		return lowering.Unsupported("scores that are read at indices")
	}
	for i := range dag.Sources {
		s := &dag.Sources[i]
		if s.Kind == codegen.FromInside || s.Kind == codegen.FromCheck || len(s.Shifts) > 0 || s.Buffer.Pair {
			return lowering.Unsupported("scores that are read at computed places")
		}
		if s.Kind != codegen.FromBuffer {
			continue
		}
		switch n := s.Buffer.Ref.Index; {
		case n == innerAt && (p.innerAt >= 0 || !fusion.SameView(dag.Dims, s.View, dag.Full)):
			return lowering.Unsupported("scores that are read in another order")
		case n == innerAt:
			p.innerAt, s.Kind = i, codegen.FromContraction
		case n >= foldAt:
			s.Buffer.Ref = lowering.Ref{Kind: lowering.Temp, Index: n - foldAt}
		}
	}
	return nil
}

// operandOf is the operand of the instruction that a literal of the expressions is.
func (p *pass) operandOf(lit int) (operand int, ok bool) {
	n := len(p.body.Ins)
	lit -= n + len(p.Job.folds) + 1 // see express
	return lit, lit < n
}

// pair is two operands whose rows are multiplied: the rows of the workgroup, and those that it goes through.
type pair struct {
	of      *[2]tile.Operand
	columns int
}

// pairs are the products of a kernel: S, X or both.
func (p *pass) pairs() (list []pair) {
	if p.scored || slices.ContainsFunc(p.results, func(i int) bool { return !p.Job.results[i].valued }) {
		list = append(list, pair{&p.Job.scored, p.depth})
	}
	if p.innerAt >= 0 || slices.ContainsFunc(p.results, func(i int) bool { return p.Job.results[i].valued }) {
		list = append(list, pair{&p.Job.valued, p.width})
	}
	return list
}

// fours reports whether the rows of a pair are loaded four columns at a time.
func (x pair) fours() bool {
	return x.columns%4 == 0 && x.of[queries].InGroups(4) && x.of[keys].InGroups(4)
}

// program is the kernel and its dispatch.
func (p *pass) program() (*codegen.Program, error) {
	owners, streamed := p.lengths[p.own], p.lengths[1-p.own]
	blocks := (owners + rowsPer - 1) / rowsPer
	g := &codegen.Program{Local: tile.Local, Groups: p.batches * blocks, Body: p.write,
		Numbers: []int{owners, streamed, blocks, p.batches * blocks},
		Key:     fmt.Sprintf("gradient of attention own=%d inner=%d scored=%v", p.own, p.innerAt, p.scored)}
	extent := p.space.Extent()
	points := int64(p.batches) * int64(owners) * int64(streamed)
	for _, x := range p.pairs() {
		g.Numbers = append(g.Numbers, x.columns)
		g.Flops += 2 * points * int64(x.columns)
		g.Key += fmt.Sprintf(" columns=%d fours=%v", tile.PerColumn(x.columns), x.fours())
		for side := range x.of {
			o := &x.of[side]
			g.AddBuffer(o.Buffer, o.Extent(), o.Size())
			g.Numbers = append(g.Numbers, o.Numbers()...)
			g.Key += fmt.Sprintf(" %v%s", o.DType, o.Describe())
			extent = max(extent, o.Extent())
		}
	}
	if err := p.space.AddTo(g, p.operandOf); err != nil {
		return nil, err
	}
	g.Numbers, g.Key = append(g.Numbers, p.space.Numbers()...), g.Key+p.space.Describe()
	for _, b := range p.outs() {
		g.Buffers, g.Bytes = append(g.Buffers, b), g.Bytes+b.Bytes
		extent = max(extent, int(b.Bytes)/b.Size())
	}
	for _, i := range p.folds {
		f := p.Job.folds[i].in
		g.Key += fmt.Sprintf(" %v of %v to %v", f.Op, p.types(f.Ins[0].ID).DType, f.Outs[0].Type.DType)
	}
	for _, i := range p.results {
		r := &p.Job.results[i]
		g.Key += fmt.Sprintf(" %v by %v valued=%v across=%v", r.in.Outs[0].Type.DType, p.types(r.weights).DType, r.valued, r.across)
		g.Flops += 2 * points * int64(p.columnsOf(r))
	}
	g.Index = codegen.IndexType(extent)
	return g, nil
}

// outs are the buffers of what a kernel gives.
func (p *pass) outs() (list []codegen.Buffer) {
	add := func(r lowering.Ref, t ops.Type) {
		b := codegen.BufferOf(r, t.DType)
		b.Access, b.Bytes = lowering.Write, int64(t.Size()*b.Size())
		list = append(list, b)
	}
	for _, i := range p.folds {
		add(lowering.Ref{Kind: lowering.Temp, Index: i}, p.Job.folds[i].in.Outs[0].Type)
	}
	for _, i := range p.results {
		add(lowering.Ref{Kind: lowering.Result, Index: i}, p.Job.results[i].in.Outs[0].Type)
	}
	return list
}

// columnsOf is how many columns a result has.
func (j *Job) columnsOf(r *result) int {
	if r.valued {
		return j.width
	}
	return j.depth
}

// sharedBytes is the shared memory of a workgroup, at most; see write.
func (j *Job) sharedBytes() int {
	return 4 * (tile.Deep*tile.LineOf(perRow) + tile.Deep*max(tile.Block, tile.Across*tile.PerColumn(max(j.depth, j.width))) + foldTypes*rowsPer*tile.Across)
}
