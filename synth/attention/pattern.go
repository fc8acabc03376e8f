package attention

import (
	"errors"
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/fused"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// errPattern says that instructions are no attention.
var errPattern = errors.New("no attention")

// The groups of dimensions of a tensor: see tile.Operand.
const (
	batch   = tile.Batch
	rows    = tile.Rows
	columns = tile.Columns
	groups  = tile.Groups
)

// pattern is the attention of a region.
type pattern struct {
	body    *fusion.Fusion // the region, with the operands of the instruction
	types   func(ops.ID) ops.Type
	made    map[ops.ID]*ops.Instr
	scores  *ops.Instr // the first product
	output  *ops.Instr // the second one
	logits  ops.ID     // what the softmax is taken of
	dag     *fusion.DAG
	batches int
	queries int // rows of a matrix of scores
	keys    int // columns
	depth   int // of a query
	width   int // of a value

	query, key, value operand
}

type operand = tile.Operand

// parse finds the attention that a region is. Parameters are operands; literals of the
// instruction take the places of theirs.
func parse(in *ops.Instr) (*pattern, error) {
	r := in.Regions[0]
	p := &pattern{made: make(map[ops.ID]*ops.Instr), body: &fusion.Fusion{}}
	types := make(map[ops.ID]ops.Type)
	literal := make(map[ops.ID]*ops.Literal)
	for i, param := range r.Params {
		types[param.ID] = param.Type
		p.body.Ins = append(p.body.Ins, param.ID)
		if i < len(in.Ins) && in.Ins[i].Lit != nil {
			literal[param.ID] = in.Ins[i].Lit
		}
	}
	for _, param := range p.body.Ins {
		p.body.Lits = append(p.body.Lits, literal[param]) // operand len(Ins)+i stands for operand i
	}
	for _, one := range r.Body {
		one.Ins = slices.Clone(one.Ins)
		for k, o := range one.Ins {
			switch lit := literal[o.ID]; {
			case o.Lit == nil && lit != nil:
				one.Ins[k] = ops.Operand{Lit: lit}
			case o.Lit != nil:
				p.body.Lits = append(p.body.Lits, o.Lit)
			}
		}
		p.body.Body = append(p.body.Body, one)
		for _, o := range one.Outs {
			types[o.ID] = o.Type
		}
	}
	for i := range p.body.Body {
		p.made[p.body.Body[i].Outs[0].ID] = &p.body.Body[i]
	}
	p.types = func(id ops.ID) ops.Type { return types[id] }
	p.output, p.scores = p.made[r.Values[0].ID], p.body.Contraction()
	if p.output == nil || p.output.Op != ops.Dot || p.scores == nil || p.scores == p.output {
		return nil, fmt.Errorf("%w: two products are needed", errPattern)
	}
	return p, p.find()
}

// find finds the parts.
func (p *pattern) find() error {
	if p.output.Ins[0].Lit != nil || p.output.Ins[1].Lit != nil || p.scores.Ins[0].Lit != nil || p.scores.Ins[1].Lit != nil {
		return fmt.Errorf("%w: an operand is a literal", errPattern)
	}
	if err := p.findSoftmax(p.output.Ins[0].ID); err != nil {
		return err
	}
	if err := p.findScores(); err != nil {
		return err
	}
	return p.findOperands()
}

// before is the part of the region that computes a value from the scores.
func (p *pattern) before(id ops.ID) *fusion.Fusion {
	need := map[ops.ID]bool{id: true}
	u := &fusion.Fusion{Ins: p.body.Ins, Lits: p.body.Lits, Outs: []ops.Result{{ID: id, Type: p.types(id)}}}
	for i := len(p.body.Body) - 1; i >= 0; i-- {
		in := &p.body.Body[i]
		if !need[in.Outs[0].ID] {
			continue
		}
		u.Body = append(u.Body, *in)
		if in == p.scores {
			continue
		}
		for _, o := range in.Ins {
			if o.Lit == nil {
				need[o.ID] = true
			}
		}
	}
	slices.Reverse(u.Body)
	return u
}

// findSoftmax finds what the weights are the softmax of.
func (p *pattern) findSoftmax(weights ops.ID) error {
	u := p.before(weights)
	if u.FirstReduction() == nil || u.Contraction() == nil {
		return fmt.Errorf("%w: there is no softmax", errPattern)
	}
	dag, err := fusion.NewDAG(u, p.types)
	if err != nil {
		return fmt.Errorf("%w: %w", errPattern, err)
	}
	t := &tree{dag}
	out := t.float(dag.Outs[0])
	exp, sum, ok := t.quotient(out)
	if !ok {
		return fmt.Errorf("%w: the weights are no quotient", errPattern)
	}
	total, ok := t.fold(sum, ops.Sum)
	diff := t.apply(t.float(exp), ops.Exp)
	if !ok || t.float(total.Args[0]) != t.float(exp) || diff == nil {
		return fmt.Errorf("%w: the weights are no exponentials over their sum", errPattern)
	}
	sub := t.apply(t.float(diff.Args[0]), ops.Subtract)
	if sub == nil {
		return fmt.Errorf("%w: no maximum is subtracted", errPattern)
	}
	most, ok := t.fold(t.float(sub.Args[1]), ops.ReduceMax)
	if !ok || most.Args[0] != sub.Args[0] || sub.In.Ins[0].Lit != nil {
		return fmt.Errorf("%w: another maximum is subtracted", errPattern)
	}
	p.logits = sub.In.Ins[0].ID
	shape := p.types(p.logits).Shape
	p.keys = strided.Product(dag.Layout.Reduced)
	for _, f := range []*fusion.Expr{total, most} {
		if !lastAxes(f.In.Attrs[0], f.Types[0].Shape, p.keys) {
			return fmt.Errorf("%w: the softmax is not along the last axes", errPattern)
		}
	}
	if !shape.Equal(sub.In.Outs[0].Type.Shape) || !p.types(p.logits).DType.IsFloat() {
		return fmt.Errorf("%w: the logits are broadcast", errPattern)
	}
	return nil
}

// lastAxes reports whether axes are the last of a shape, and have n elements.
func lastAxes(axes []int, s ops.Shape, n int) bool {
	for i, d := range s {
		if d > 1 && slices.Contains(axes, i) != (i >= len(s)-len(axes)) {
			return false
		}
	}
	product := 1
	for _, a := range axes {
		product *= s[a]
	}
	return product == n
}

// findScores follows the logits back to the first product, and compares the sizes of the two.
func (p *pattern) findScores() (err error) {
	if p.dag, err = fusion.NewDAG(p.before(p.logits), p.types); err != nil {
		return fmt.Errorf("%w: %w", errPattern, err)
	}
	if len(p.dag.Checks) > 0 {
		return fmt.Errorf("%w: the logits read at indices", errPattern)
	}
	from := false
	for i := range p.dag.Sources {
		s := &p.dag.Sources[i]
		from = from || s.Kind == codegen.FromContraction
		if s.Kind == codegen.FromInside || s.Kind == codegen.FromCheck || len(s.Shifts) > 0 || s.Buffer.Pair {
			return fmt.Errorf("%w: the logits read at computed places", errPattern)
		}
	}
	shape, a := p.scores.Outs[0].Type.Shape, p.scores.Attrs
	p.batches = strided.Product(shape[:len(a[1])])
	if p.keys == 0 || !from || shape.Size() == 0 || shape.Size()%(p.batches*p.keys) != 0 {
		return fmt.Errorf("%w: the logits do not depend on the scores", errPattern)
	}
	p.queries = shape.Size() / (p.batches * p.keys)
	q := p.types(p.scores.Ins[0].ID).Shape
	if tile.Size(q, tile.Others(q, a[0], a[1])) != p.queries {
		return fmt.Errorf("%w: the softmax is along other axes than the keys", errPattern)
	}
	w, b := p.types(p.output.Ins[0].ID).Shape, p.output.Attrs
	if !isRange(b[1], 0) || tile.Size(w, b[1]) != p.batches || !isRange(b[0], len(w)-len(b[0])) || tile.Size(w, b[0]) != p.keys {
		return fmt.Errorf("%w: the second product has another batch", errPattern)
	}
	return nil
}

// findOperands finds where queries, keys and values are in memory.
func (p *pattern) findOperands() (err error) {
	a, b := p.scores.Attrs, p.output.Attrs
	q, k, v := p.scores.Ins[0].ID, p.scores.Ins[1].ID, p.output.Ins[1].ID
	p.depth = tile.Size(p.types(q).Shape, a[0])
	if p.query, err = p.operand(q, a[1], tile.Others(p.types(q).Shape, a[0], a[1]), a[0]); err != nil {
		return err
	}
	if p.key, err = p.operand(k, a[3], tile.Others(p.types(k).Shape, a[2], a[3]), a[2]); err != nil {
		return err
	}
	free := tile.Others(p.types(v).Shape, b[2], b[3])
	p.width = tile.Size(p.types(v).Shape, free)
	p.value, err = p.operand(v, b[3], b[2], free)
	return err
}

// operand finds the matrices of a value, by its axes of the batch, the rows and the columns.
func (p *pattern) operand(id ops.ID, parts ...[]int) (o operand, err error) {
	if o, err = tile.NewOperand(p.body, id, p.types, parts...); err != nil {
		err = fmt.Errorf("%w: %w", errPattern, err)
	}
	return o, err
}

// isRange reports whether axes are first, first+1, and so on.
func isRange(axes []int, first int) bool {
	for i, a := range axes {
		if a != first+i {
			return false
		}
	}
	return true
}

// cost counts the primitive operations of a logit.
func (p *pattern) cost(t *lowering.Target) int { return fused.Cost(p.dag, t) }
