package graph

import (
	"slices"

	"nxvk/ops"
)

// Compare returns a region in which a gather of one element of each row, of a value that is computed
// for it, computes that element from elements of memory (see pick). Where it cannot, it compares the
// index with the positions of the row, and so does its gradient: an indexed_add of one element to each
// row of a constant. The loss of a classifier, such as a cross-entropy over a vocabulary, then needs
// neither the probabilities of all classes nor their gradient of zeros in memory, because comparisons
// are fused with what makes and reads the rows.
//
// The values are the same, bit for bit. An index out of bounds is still an error: a gather from memory
// checks it, and an index that is compared is taken from the positions. The region that is given stays
// as it is.
func Compare(r *ops.Region) *ops.Region {
	c := &comparer{newRewriter(r), map[ops.ID]placed{}}
	c.rewrite = func(in *ops.Instr) bool { return c.pick(in) || c.place(in) || c.total(in) }
	return c.region(r)
}

type comparer struct {
	*rewriter
	placed map[ops.ID]placed
}

// placed is one element in each row of zeros along an axis.
type placed struct {
	axis  int
	value ops.Operand
}

// rows are indices with one place in each row along an axis of a tensor.
type rows struct {
	axis  int         // of the tensor
	index ops.Operand // the places along it
	shape ops.Shape   // of the tensor, with 1 for the axis and for what the indices do not name
}

// rowsOf finds rows of a tensor of shape s in indices of the given axes: a concatenation of the
// positions along all of these but one, and of the indices along that one.
func (c *comparer) rowsOf(indices ops.Operand, axes []int, s ops.Shape) (r rows, ok bool) {
	cat := c.through(indices)
	if cat == nil || cat.Op != ops.Concatenate || len(cat.Ins) != len(axes) {
		return rows{}, false
	}
	grid := cat.Outs[0].Type.Shape
	if cat.Attrs[0][0] != len(grid)-1 {
		return rows{}, false
	}
	grid = grid[:len(grid)-1]
	r = rows{axis: -1, shape: slices.Repeat([]int{1}, len(s))}
	left := slices.Clone(grid) // without what positions count
	last := -1                 // axes of the grid come in the order of those of the tensor
	for _, j := range inOrder(axes) {
		a, part := axes[j], cat.Ins[j]
		along, counts := c.positions(part, grid)
		switch {
		case counts && along > last && grid[along] == s[a]:
			r.shape[a], left[along], last = s[a], 1, along
		case r.axis < 0 && c.indexes(part, grid, cat.Outs[0].Type.DType):
			r.axis, r.index = a, part
		default:
			return rows{}, false
		}
	}
	return r, r.axis >= 0 && left.Size() == 1 && s[r.axis] > 1
}

// inOrder are the places of numbers in a list, the least first.
func inOrder(list []int) []int {
	at := make([]int, len(list))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(i, j int) int { return list[i] - list[j] })
	return at
}

// through is the instruction that makes an operand, before it is reshaped.
func (c *comparer) through(o ops.Operand) *ops.Instr {
	for o.Lit == nil {
		in := c.made[o.ID]
		if in == nil || in.Op != ops.Reshape {
			return in
		}
		o = in.Ins[0]
	}
	return nil
}

// positions reports along which axis of a grid an operand counts.
func (c *comparer) positions(o ops.Operand, grid ops.Shape) (axis int, ok bool) {
	if o.Lit != nil {
		return 0, false
	}
	in := c.made[o.ID]
	if in == nil || in.Op != ops.Iota || len(in.Attrs[0]) != 1 {
		return 0, false
	}
	s, axis := in.Outs[0].Type.Shape, in.Attrs[0][0]
	return axis, axis >= 0 && axis < len(grid) && s.Equal(append(slices.Clone(grid), 1)) && in.Outs[0].Type.DType.IsInteger()
}

// indexes reports whether an operand has an index for each point of a grid, which conversion to the
// type of all indices leaves as it is.
func (c *comparer) indexes(o ops.Operand, grid ops.Shape, to ops.DType) bool {
	if o.Lit != nil {
		return false
	}
	t := c.types[o.ID]
	return t.Size() == grid.Size() && t.DType.IsInteger() && (t.DType == to || to == ops.S64 && t.DType != ops.U64)
}

// pick rewrites a gather of one element of each row of a value that is computed for it alone. Pointwise
// operations compute that element from the elements at its place of their operands, so they are applied to
// these: to elements that are gathered from memory, or found by a comparison in a value that is computed
// in any case. So the logarithm of a softmax at a label is the logit there, less the maximum and the
// logarithm of the sum, and takes no pass over the row.
func (c *comparer) pick(in *ops.Instr) bool {
	if in.Op != ops.Gather && in.Op != ops.TakeAlongAxis || in.Ins[0].Lit != nil || c.uses[in.Ins[0].ID] != 1 {
		return false
	}
	from, x := c.made[in.Ins[0].ID], c.types[in.Ins[0].ID]
	if from == nil || from.Op.Info().Kind != ops.Pointwise || x.DType != in.Outs[0].Type.DType {
		return false
	}
	r, ok := c.picked(in, x.Shape)
	if !ok {
		return false
	}
	p := &picker{comparer: c, in: in, rows: r, shape: x.Shape, ways: map[ops.ID]way{}, stored: map[ops.ID]bool{}, picks: map[ops.ID]ops.Operand{}}
	if !p.plan(in.Ins[0].ID) {
		return false
	}
	c.body = append(c.body, ops.Instr{Op: ops.Reshape, Ins: []ops.Operand{p.element(in.Ins[0])}, Outs: in.Outs})
	return true
}

// picked finds the rows if a gather takes one element of each.
func (c *comparer) picked(in *ops.Instr, s ops.Shape) (r rows, ok bool) {
	if in.Op == ops.Gather {
		r, ok = c.rowsOf(in.Ins[1], in.Attrs[0], s)
		return r, ok && len(in.Attrs[0]) == len(s)
	}
	axis, index := in.Attrs[0][0], in.Ins[1]
	shape := slices.Clone(s)
	shape[axis] = 1
	return rows{axis: axis, index: index, shape: shape}, index.Lit == nil && s[axis] > 1 && in.Outs[0].Type.Shape.Equal(shape)
}

// picker picks one element of each row of values of one shape.
type picker struct {
	*comparer
	in       *ops.Instr // the gather
	rows     rows
	shape    ops.Shape
	ways     map[ops.ID]way
	stored   map[ops.ID]bool // what fromMemory says
	compared int             // values
	found    ops.ID          // the last of these
	picks    map[ops.ID]ops.Operand
}

// way is how the elements of a value are picked.
type way uint8

const (
	gathers  way = iota // from memory
	applies             // from the elements of its operands
	compares            // by comparing the index with the positions
)

// words are the types that have the bits of an element, by their number.
var words = map[int]ops.DType{8: ops.U8, 16: ops.U16, 32: ops.U32}

// plan chooses the ways for a value and for those that it is computed from. One value is compared at most; ok is false if its
// elements have more bits than are compared.
func (p *picker) plan(id ops.ID) (ok bool) {
	p.choose(id)
	if p.compared > 1 {
		p.ways, p.found = map[ops.ID]way{id: compares}, id
	}
	return p.compared == 0 || words[p.types[p.found].DType.Bits()] != 0
}

// choose chooses the way for a value. It is computed from elements where all of them are in memory, or where some operand is
// the same for a whole row and computed, as a maximum is: a comparison would have to wait for that.
func (p *picker) choose(id ops.ID) {
	if _, ok := p.ways[id]; ok {
		return
	}
	in := p.made[id]
	switch {
	case p.inMemory(id):
		p.ways[id] = gathers
	case p.applies(in) && (slices.ContainsFunc(in.Ins, p.waits) || p.fromMemory(id)):
		p.ways[id] = applies
		for _, o := range in.Ins {
			if !p.steady(o) {
				p.choose(o.ID)
			}
		}
	default:
		p.ways[id], p.found = compares, id
		p.compared++
	}
}

// inMemory reports whether a value is in memory in any case: a parameter, or what no pointwise operation joins and several read.
func (p *picker) inMemory(id ops.ID) bool {
	in := p.made[id]
	if in == nil {
		return true
	}
	switch in.Op.Info().Kind {
	case ops.Contract, ops.Window, ops.Order, ops.Scan, ops.Transform, ops.LinAlg, ops.Composite:
		return p.uses[id] > 1
	}
	return false
}

// fromMemory reports whether a value is in memory, or is computed from such values element by element.
func (p *picker) fromMemory(id ops.ID) bool {
	known, ok := p.stored[id]
	if ok {
		return known
	}
	in := p.made[id]
	known = p.inMemory(id) || p.applies(in) && !slices.ContainsFunc(in.Ins, func(o ops.Operand) bool { return !p.steady(o) && !p.fromMemory(o.ID) })
	p.stored[id] = known
	return known
}

// applies reports whether an operation takes elements at one place, of values of the shape and of those that are the same for a row.
func (p *picker) applies(in *ops.Instr) bool {
	return in.Op.Info().Kind == ops.Pointwise && !slices.ContainsFunc(in.Ins, func(o ops.Operand) bool {
		return !p.steady(o) && !p.types[o.ID].Shape.Equal(p.shape)
	})
}

// steady reports whether an operand is the same for all elements of a row.
func (p *picker) steady(o ops.Operand) bool {
	s := p.typeOf(o).Shape
	return len(s) == 0 || len(s) == len(p.shape) && s[p.rows.axis] == 1
}

// waits reports whether an operand is the same for all elements of a row and is computed.
func (p *picker) waits(o ops.Operand) bool { return o.Lit == nil && p.steady(o) && p.made[o.ID] != nil }

// element is what has the elements of a value, one of each row.
func (p *picker) element(o ops.Operand) ops.Operand {
	if p.steady(o) {
		return o
	}
	if e, ok := p.picks[o.ID]; ok {
		return e
	}
	e := p.pickOf(o)
	p.picks[o.ID] = e
	return e
}

func (p *picker) pickOf(o ops.Operand) ops.Operand {
	typ := ops.Type{DType: p.types[o.ID].DType, Shape: p.rows.shape}
	switch p.ways[o.ID] {
	case gathers:
		out := ops.Type{DType: typ.DType, Shape: p.in.Outs[0].Type.Shape}
		return p.add(ops.Reshape, typ, nil, p.add(p.in.Op, out, p.in.Attrs, o, p.in.Ins[1]))
	case applies:
		in := p.made[o.ID]
		var ins []ops.Operand
		for _, a := range in.Ins {
			ins = append(ins, p.element(a))
		}
		return p.add(in.Op, typ, in.Attrs, ins...)
	}
	// The largest of the bits of the element and of zeros is the element.
	bits := words[typ.DType.Bits()]
	word := p.add(ops.Bitcast, ops.Type{DType: bits, Shape: p.shape}, nil, o)
	one := p.add(ops.Select, ops.Type{DType: bits, Shape: p.shape}, nil, p.compare(p.rows, p.shape), word, number(bits))
	most := p.add(ops.ReduceMax, ops.Type{DType: bits, Shape: p.rows.shape}, [][]int{{p.rows.axis}, {1}}, one)
	return p.add(ops.Bitcast, typ, nil, most)
}

// place rewrites an indexed_add of one element to each row of a constant.
func (c *comparer) place(in *ops.Instr) bool {
	if in.Op != ops.IndexedAdd || in.Ins[0].Lit != nil || in.Ins[2].Lit != nil {
		return false
	}
	out, target := in.Outs[0].Type, c.made[in.Ins[0].ID]
	if target == nil || target.Op != ops.Constant || !widened(out.DType, target.Ins[0].Lit.Type.DType) || !widened(out.DType, target.Outs[0].Type.DType) ||
		!widened(out.DType, c.types[in.Ins[2].ID].DType) ||
		len(in.Attrs[0]) != len(out.Shape) {
		return false
	}
	r, ok := c.rowsOf(in.Ins[1], in.Attrs[0], out.Shape)
	if !ok {
		return false
	}
	here, nothing := c.compare(r, out.Shape), target.Ins[0]
	update := c.add(ops.Reshape, ops.Type{DType: c.types[in.Ins[2].ID].DType, Shape: r.shape}, nil, in.Ins[2])
	sum := c.add(ops.Add, ops.Type{DType: out.DType, Shape: r.shape}, nil, nothing, update)
	c.body = append(c.body, ops.Instr{Op: ops.Select, Ins: []ops.Operand{here, sum, nothing}, Outs: in.Outs})
	if !slices.ContainsFunc(nothing.Lit.Data, func(b byte) bool { return b != 0 }) {
		c.placed[in.Outs[0].ID] = placed{r.axis, sum}
	}
	return true
}

// total rewrites the sum of rows of zeros with one other element each, which is that element.
func (c *comparer) total(in *ops.Instr) bool {
	if in.Op != ops.Sum || in.Ins[0].Lit != nil {
		return false
	}
	p, ok := c.placed[in.Ins[0].ID]
	if !ok || len(in.Attrs[0]) != 1 || in.Attrs[0][0] != p.axis || in.Outs[0].Type.DType != c.types[in.Ins[0].ID].DType {
		return false
	}
	c.body = append(c.body, ops.Instr{Op: ops.Reshape, Ins: []ops.Operand{p.value}, Outs: in.Outs})
	return true
}

// widened reports whether conversion of floats of another type, or of the same, leaves them as they are.
func widened(d, other ops.DType) bool {
	return d == other || d == ops.F32 && (other == ops.BF16 || other == ops.F16)
}

// compare tells where in a tensor of shape s the indices of its rows point.
func (c *comparer) compare(r rows, s ops.Shape) ops.Operand {
	n := s[r.axis]
	index := c.add(ops.Reshape, ops.Type{DType: c.types[r.index.ID].DType, Shape: r.shape}, nil, r.index)
	known := c.add(ops.Iota, ops.Type{DType: ops.S32, Shape: ops.Shape{n}}, [][]int{{0}})
	index = c.add(ops.Take, ops.Type{DType: ops.S32, Shape: r.shape}, [][]int{{0}}, known, index)
	line := slices.Repeat(ops.Shape{1}, len(s))
	line[r.axis] = n
	place := c.add(ops.Iota, ops.Type{DType: ops.S32, Shape: line}, [][]int{{r.axis}})
	return c.add(ops.Equal, ops.Type{DType: ops.U8, Shape: s}, nil, place, index)
}

// number is the zero of a type.
func number(d ops.DType) ops.Operand {
	return ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: d}, Data: make([]byte, d.Size())}}
}
