package program

import (
	"encoding/binary"
	"math"

	"nxvk/ops"
)

// graph writes a program, one instruction after the other.
type graph struct {
	ops.Region
	dtype ops.DType // of literals
	next  ops.ID
	types map[ops.ID]ops.Type
}

// node is a value of a graph.
type node = ops.Operand

func newGraph(d ops.DType) *graph { return &graph{dtype: d, types: make(map[ops.ID]ops.Type)} }

func f32(shape ...int) ops.Type { return ops.Type{DType: ops.F32, Shape: shape} }

func f64(shape ...int) ops.Type { return ops.Type{DType: ops.F64, Shape: shape} }

// Number is a literal f32 scalar.
func Number(v float64) ops.Operand { return newGraph(ops.F32).number(v) }

func (g *graph) id(t ops.Type) ops.Result {
	g.next++
	g.types[g.next] = t
	return ops.Result{ID: g.next, Type: t}
}

func (g *graph) param(t ops.Type) node {
	r := g.id(t)
	g.Params = append(g.Params, r)
	return node{ID: r.ID}
}

// number is a literal scalar.
func (g *graph) number(v float64) node {
	data := binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
	if g.dtype == ops.F32 {
		data = binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v)))
	}
	return node{Lit: &ops.Literal{Type: ops.Type{DType: g.dtype}, Data: data}}
}

func (g *graph) typeOf(n node) ops.Type {
	if n.Lit != nil {
		return n.Lit.Type
	}
	return g.types[n.ID]
}

func (g *graph) add(op ops.Op, out ops.Type, attrs [][]int, ins ...node) node {
	r := g.id(out)
	g.Body = append(g.Body, ops.Instr{Op: op, Outs: []ops.Result{r}, Ins: ins, Attrs: attrs})
	return node{ID: r.ID}
}

// point is an operation on the elements of operands that broadcast.
func (g *graph) point(op ops.Op, ins ...node) node {
	out := g.typeOf(ins[0])
	for _, n := range ins[1:] {
		t := g.typeOf(n)
		s, err := ops.Broadcast(out.Shape, t.Shape)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		out.Shape = s
	}
	if op.Info().Result == ops.BoolType {
		out.DType = ops.U8
	}
	return g.add(op, out, nil, ins...)
}

// fold reduces one axis of a matrix; keep leaves it as a dimension of 1.
func (g *graph) fold(op ops.Op, n node, axis int, keep bool) node {
	s := append(ops.Shape{}, g.typeOf(n).Shape...)
	kept := 0
	if s[axis] = 1; !keep {
		s = append(s[:axis], s[axis+1:]...)
	} else {
		kept = 1
	}
	return g.add(op, ops.Type{DType: g.dtype, Shape: s}, [][]int{{axis}, {kept}}, n)
}

// dot multiplies matrices along axis a of the left and axis b of the right one.
func (g *graph) dot(left node, a int, right node, b int) node {
	l, r := g.typeOf(left).Shape, g.typeOf(right).Shape
	return g.add(ops.Dot, f32(l[1-a], r[1-b]), [][]int{{a}, {}, {b}, {}}, left, right)
}

// slice is part of a vector, as a row.
func (g *graph) slice(n node, from, size int) node {
	part := g.add(ops.Slice, ops.Type{DType: g.dtype, Shape: ops.Shape{size}}, [][]int{{from}, {size}, {1}}, n)
	return g.add(ops.Reshape, ops.Type{DType: g.dtype, Shape: ops.Shape{1, size}}, nil, part)
}

// finish ends the program with its values.
func (g *graph) finish(values ...node) *ops.Region {
	g.Values = values
	return &g.Region
}
