package graph

import (
	"slices"

	"nxvk/ops"
)

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
