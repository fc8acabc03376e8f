package synth

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"nxvk/ops"
)

// sketch is a graph in the making.
type sketch struct {
	Graph
	t     testing.TB
	types map[ops.ID]ops.Type
	lits  []*ops.Literal
}

func newSketch(t testing.TB) *sketch { return &sketch{t: t, types: map[ops.ID]ops.Type{}} }

func (g *sketch) id(typ ops.Type) ops.ID {
	id := ops.ID(len(g.types) + 1)
	g.types[id] = typ
	return id
}

func (g *sketch) param(d ops.DType, dims ...int) ops.Operand {
	typ := typ(d, dims...)
	id := g.id(typ)
	g.Params = append(g.Params, ops.Result{ID: id, Type: typ})
	return ops.Operand{ID: id}
}

// num is a scalar literal.
func (g *sketch) num(d ops.DType, x float64) ops.Operand {
	v := tensor{typ: typ(d), f: []float64{x}, n: []int64{int64(x)}}
	return ops.Operand{Lit: &ops.Literal{Type: v.typ, Data: v.bytes()}}
}

// complex is a scalar literal.
func (g *sketch) complex(re, im float64) ops.Operand {
	v := tensor{typ: typ(ops.C64), f: []float64{re, im}}
	return ops.Operand{Lit: &ops.Literal{Type: v.typ, Data: v.bytes()}}
}

// attrs are the attributes of an instruction that a sketch does.
type attrs [][]int

// do adds an instruction whose result has elements of type d; its shape follows.
func (g *sketch) do(op ops.Op, d ops.DType, args ...any) ops.Operand {
	g.t.Helper()
	in := ops.Instr{Op: op, Attrs: [][]int{}}
	var types []ops.Type
	out := ops.Type{DType: d}
	for _, a := range args {
		switch a := a.(type) {
		case ops.Operand:
			in.Ins = append(in.Ins, a)
			types = append(types, g.typeOf(a))
		case attrs:
			in.Attrs = a
		case ops.Shape:
			out.Shape = a
		}
	}
	in.Outs = []ops.Result{{Type: out}}
	if infer := op.Info().Infer; infer != nil && out.Shape == nil {
		shapes, err := infer(&in, types)
		if err != nil {
			g.t.Fatalf("%v%v: %v", op, types, err)
		}
		in.Outs[0].Type.Shape = shapes[0]
	}
	if err := in.Check(types); err != nil {
		g.t.Fatalf("%v%v: %v", op, types, err)
	}
	in.Outs[0].ID = g.id(in.Outs[0].Type)
	g.Body = append(g.Body, in)
	return ops.Operand{ID: in.Outs[0].ID}
}

func (g *sketch) typeOf(o ops.Operand) ops.Type {
	if o.Lit != nil {
		return o.Lit.Type
	}
	return g.types[o.ID]
}

func (g *sketch) keep(os ...ops.Operand) {
	for _, o := range os {
		g.Keep = append(g.Keep, o.ID)
	}
}

// values is memory by value.
type values map[ops.ID][]byte

// inputs gives the parameters random elements.
func (g *sketch) inputs(seed uint64) values {
	vs := values{}
	for i, p := range g.Params {
		vs[p.ID] = padded4(random(p.Type, seed+uint64(i)).bytes())
	}
	return vs
}

// carry runs units on memory.
func (g *sketch) carry(target *Target, units []Unit, vs values) {
	g.t.Helper()
	for i := range units {
		u := &units[i]
		p, err := LowerUnit(u, func(id ops.ID) ops.Type {
			if !slices.Contains(u.Ins, id) {
				g.t.Fatalf("unit %d: the type of %d is asked, which it does not read", i, id)
			}
			return g.types[id]
		}, target)
		if err != nil {
			g.t.Fatalf("unit %d, %v: %v", i, u, err)
		}
		var operands [][]byte
		for _, id := range u.Ins {
			if vs[id] == nil {
				g.t.Fatalf("unit %d reads %d, which is not there:\n%s", i, id, show(units))
			}
			operands = append(operands, vs[id])
		}
		lits := make([]tensor, len(u.Ins))
		for _, l := range u.Lits {
			operands, lits = append(operands, padded4(slices.Clone(l.Data))), append(lits, fromBytes(l.Type, l.Data))
		}
		var sizes []int
		for _, o := range u.Outs {
			sizes = append(sizes, o.Type.Bytes())
		}
		outs := execute(g.t, p, sizes, operands, lits)
		for k, o := range u.Outs {
			vs[o.ID] = outs[k]
		}
	}
}

// one is the unit of a single instruction.
func one(in *ops.Instr) Unit {
	u := Unit{Body: []ops.Instr{*in}, Outs: in.Outs}
	for _, o := range in.Ins {
		if o.Lit != nil {
			u.Lits = append(u.Lits, o.Lit)
		} else if !slices.Contains(u.Ins, o.ID) {
			u.Ins = append(u.Ins, o.ID)
		}
	}
	return u
}

// check runs the graph in units and instruction by instruction; what is kept
// must be the same bits. Products of matrices, whose kernels are not written in
// Go, are not run.
func (g *sketch) check(target *Target, seed uint64) []Unit {
	g.t.Helper()
	units := Units(&g.Graph, target)
	if slices.ContainsFunc(g.Body, func(in ops.Instr) bool { return in.Op == ops.Dot }) {
		return units
	}
	fused, plain := g.inputs(seed), g.inputs(seed)
	g.carry(target, units, fused)
	var ones []Unit
	for i := range g.Body {
		ones = append(ones, one(&g.Body[i]))
	}
	g.carry(target, ones, plain)
	for _, id := range g.Keep {
		n := g.types[id].Bytes()
		if got, want := fused[id][:n], plain[id][:n]; !bytes.Equal(got, want) {
			g.t.Fatalf("value %d, %v: got %v, want %v, of\n%sin\n%s", id, g.types[id],
				fromBytes(g.types[id], got), fromBytes(g.types[id], want), &g.Graph, show(units))
		}
	}
	return units
}

// String is the graph, an instruction a line.
func (g *Graph) String() string {
	var b strings.Builder
	for _, p := range g.Params {
		fmt.Fprintf(&b, "%%%d = param %v%v\n", p.ID, p.Type.DType, p.Type.Shape)
	}
	for i := range g.Body {
		fmt.Fprintln(&b, line(&g.Body[i]))
	}
	fmt.Fprintf(&b, "keep %v\n", g.Keep)
	return b.String()
}

func line(in *ops.Instr) string {
	var b strings.Builder
	for _, o := range in.Outs {
		fmt.Fprintf(&b, "%%%d ", o.ID)
	}
	fmt.Fprintf(&b, "= %v", in.Op)
	for _, o := range in.Ins {
		if o.Lit != nil {
			x := fromBytes(o.Lit.Type, o.Lit.Data)
			if o.Lit.Type.DType.IsComplex() {
				fmt.Fprintf(&b, " %v:%v", x.number(0), o.Lit.Type.DType)
				continue
			}
			fmt.Fprintf(&b, " %v:%v", x.at(0), o.Lit.Type.DType)
			continue
		}
		fmt.Fprintf(&b, " %%%d", o.ID)
	}
	for _, a := range in.Attrs {
		fmt.Fprintf(&b, " %v", a)
	}
	fmt.Fprintf(&b, " %v%v", in.Outs[0].Type.DType, in.Outs[0].Type.Shape)
	return b.String()
}

// show is units as text.
func show(units []Unit) string {
	var b strings.Builder
	for _, u := range units {
		fmt.Fprintf(&b, "unit %v ->", u.Ins)
		for _, o := range u.Outs {
			fmt.Fprintf(&b, " %d", o.ID)
		}
		b.WriteByte('\n')
		for i := range u.Body {
			fmt.Fprintf(&b, "  %s\n", line(&u.Body[i]))
		}
	}
	return b.String()
}
