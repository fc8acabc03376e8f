package synthtest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
)

// Sketch is a graph in the making.
type Sketch struct {
	fusion.Graph
	T     testing.TB
	Types map[ops.ID]ops.Type

	// Host computes products and convolutions, whose kernels are not written in Go and cannot be interpreted. A sketch without
	// it is not run where it has any.
	Host func(in *ops.Instr, args [][]byte) [][]byte
}

func NewSketch(t testing.TB) *Sketch { return &Sketch{T: t, Types: map[ops.ID]ops.Type{}} }

func (g *Sketch) id(typ ops.Type) ops.ID {
	id := ops.ID(len(g.Types) + 1)
	g.Types[id] = typ
	return id
}

func (g *Sketch) Param(d ops.DType, dims ...int) ops.Operand {
	typ := Type(d, dims...)
	id := g.id(typ)
	g.Params = append(g.Params, ops.Result{ID: id, Type: typ})
	return ops.Operand{ID: id}
}

// Num is a scalar literal.
func (g *Sketch) Num(d ops.DType, x float64) ops.Operand {
	v := Tensor{Typ: Type(d), F: []float64{x}, N: []int64{int64(x)}}
	return ops.Operand{Lit: &ops.Literal{Type: v.Typ, Data: v.Bytes()}}
}

// complex is a scalar literal.
func (g *Sketch) complex(re, im float64) ops.Operand {
	v := Tensor{Typ: Type(ops.C64), F: []float64{re, im}}
	return ops.Operand{Lit: &ops.Literal{Type: v.Typ, Data: v.Bytes()}}
}

// Attrs are the attributes of an instruction that a sketch does.
type Attrs [][]int

// Do adds an instruction whose result has elements of type d; its shape follows.
func (g *Sketch) Do(op ops.Op, d ops.DType, args ...any) ops.Operand {
	g.T.Helper()
	in := ops.Instr{Op: op, Attrs: [][]int{}}
	var types []ops.Type
	out := ops.Type{DType: d}
	for _, a := range args {
		switch a := a.(type) {
		case ops.Operand:
			in.Ins = append(in.Ins, a)
			types = append(types, g.TypeOf(a))
		case Attrs:
			in.Attrs = a
		case ops.Shape:
			out.Shape = a
		}
	}
	in.Outs = []ops.Result{{Type: out}}
	if infer := op.Info().Infer; infer != nil && out.Shape == nil {
		shapes, err := infer(&in, types)
		if err != nil {
			g.T.Fatalf("%v%v: %v", op, types, err)
		}
		in.Outs[0].Type.Shape = shapes[0]
	}
	if err := in.Check(types); err != nil {
		g.T.Fatalf("%v%v: %v", op, types, err)
	}
	in.Outs[0].ID = g.id(in.Outs[0].Type)
	g.Body = append(g.Body, in)
	return ops.Operand{ID: in.Outs[0].ID}
}

func (g *Sketch) TypeOf(o ops.Operand) ops.Type {
	if o.Lit != nil {
		return o.Lit.Type
	}
	return g.Types[o.ID]
}

func (g *Sketch) Return(os ...ops.Operand) {
	for _, o := range os {
		g.Keep = append(g.Keep, o.ID)
	}
}

// Region is the graph as a program.
func (g *Sketch) Region() *ops.Region {
	r := &ops.Region{Params: g.Params, Body: g.Body}
	for _, id := range g.Keep {
		r.Values = append(r.Values, ops.Operand{ID: id})
	}
	return r
}

// Values is memory by value.
type Values map[ops.ID][]byte

// Inputs gives the parameters random elements.
func (g *Sketch) Inputs(seed uint64) Values {
	vs := Values{}
	for i, p := range g.Params {
		vs[p.ID] = padded4(Random(p.Type, seed+uint64(i)).Bytes())
	}
	return vs
}

// Carry runs fusions on memory, and gives the values that failed checks make errors.
func (g *Sketch) Carry(target *lowering.Target, fusions []fusion.Fusion, vs Values) (wrong map[ops.ID]bool) {
	g.T.Helper()
	wrong = map[ops.ID]bool{}
	g.carry(target, fusions, vs, wrong)
	return wrong
}

func (g *Sketch) carry(target *lowering.Target, fusions []fusion.Fusion, vs Values, wrong map[ops.ID]bool) {
	g.T.Helper()
	for i := range fusions {
		u := &fusions[i]
		p, err := synth.LowerFusion(u, func(id ops.ID) ops.Type {
			if !slices.Contains(u.Ins, id) {
				g.T.Fatalf("fusion %d: the type of %d is asked, which it does not read", i, id)
			}
			return g.Types[id]
		}, target)
		if err != nil {
			g.T.Fatalf("fusion %d, %v: %v", i, u, err)
		}
		if g.Host != nil && slices.ContainsFunc(u.Body, multiplies) {
			g.carryWithProducts(target, u, vs, wrong)
			continue
		}
		var operands [][]byte
		for _, id := range u.Ins {
			if vs[id] == nil {
				g.T.Fatalf("fusion %d reads %d, which is not there:\n%s", i, id, Show(fusions))
			}
			operands = append(operands, vs[id])
		}
		lits := make([]Tensor, len(u.Ins))
		for _, l := range u.Lits {
			operands, lits = append(operands, padded4(slices.Clone(l.Data))), append(lits, FromBytes(l.Type, l.Data))
		}
		var sizes []int
		for _, o := range u.Outs {
			sizes = append(sizes, o.Type.Bytes())
		}
		memory := memories{lowering.Operand: operands}
		outs := executeIn(g.T, p, sizes, memory, lits)
		needs := u.Needs()
		for k, o := range u.Outs {
			vs[o.ID] = outs[k]
			wrong[o.ID] = slices.ContainsFunc(needs[k].Ins, func(i int) bool { return wrong[u.Ins[i]] })
			for c, failed := range memory.failed() {
				wrong[o.ID] = wrong[o.ID] || failed && slices.Contains(needs[k].Body, p.Checks[c].Instr)
			}
		}
	}
}

// multiplies reports whether an instruction is a product or a convolution.
func multiplies(in ops.Instr) bool {
	return in.Op == ops.Dot || in.Op == ops.Conv || in.Op == ops.Attention
}

// carryWithProducts carries out the instructions of a fusion one by one: the host its products, kernels the others. Only the
// results of the fusion are there after it.
func (g *Sketch) carryWithProducts(target *lowering.Target, u *fusion.Fusion, vs Values, wrong map[ops.ID]bool) {
	g.T.Helper()
	inner, bad := Values{}, map[ops.ID]bool{}
	for _, id := range u.Ins {
		inner[id], bad[id] = vs[id], wrong[id]
	}
	for i := range u.Body {
		in := &u.Body[i]
		if !multiplies(*in) {
			g.carry(target, []fusion.Fusion{One(in)}, inner, bad)
			continue
		}
		var args [][]byte
		for _, o := range in.Ins {
			if o.Lit != nil {
				args = append(args, o.Lit.Data)
				continue
			}
			if inner[o.ID] == nil {
				g.T.Fatalf("%s reads %d, which is not there", line(in), o.ID)
			}
			args = append(args, inner[o.ID][:g.Types[o.ID].Bytes()])
			bad[in.Outs[0].ID] = bad[in.Outs[0].ID] || bad[o.ID]
		}
		for k, out := range g.Host(in, args) {
			inner[in.Outs[k].ID], bad[in.Outs[k].ID] = padded4(out), bad[in.Outs[0].ID]
		}
	}
	for _, o := range u.Outs {
		vs[o.ID], wrong[o.ID] = inner[o.ID], bad[o.ID]
	}
}

// Check runs the graph in fusions and instruction by instruction, on random elements; what is kept
// must be the same bits.
func (g *Sketch) Check(target *lowering.Target, seed uint64) []fusion.Fusion {
	g.T.Helper()
	return g.CheckOn(target, synth.Fuse(&g.Graph, target), func() Values { return g.Inputs(seed) })
}

// CheckOn runs fusions of the graph, and the graph instruction by instruction, on some elements; what is kept must be the same
// bits.
func (g *Sketch) CheckOn(target *lowering.Target, fusions []fusion.Fusion, inputs func() Values) []fusion.Fusion {
	g.T.Helper()
	if err := synth.Verify(&g.Graph, fusions); err != nil {
		g.T.Fatalf("%v, of\n%sin\n%s", err, String(&g.Graph), Show(fusions))
	}
	if g.Host == nil && slices.ContainsFunc(g.Body, multiplies) {
		return fusions
	}
	fused, plain := inputs(), inputs()
	bad := g.Carry(target, fusions, fused)
	var ones []fusion.Fusion
	for i := range g.Body {
		ones = append(ones, One(&g.Body[i]))
	}
	want := g.Carry(target, ones, plain)
	for _, id := range g.Keep {
		if bad[id] != want[id] {
			g.T.Fatalf("value %d: the checks make it wrong: %v, want %v, of\n%sin\n%s", id, bad[id], want[id], String(&g.Graph), Show(fusions))
		}
		n := g.Types[id].Bytes()
		if got, want := fused[id][:n], plain[id][:n]; !bytes.Equal(got, want) {
			g.T.Fatalf("value %d, %v: got %v, want %v, of\n%sin\n%s", id, g.Types[id],
				FromBytes(g.Types[id], got), FromBytes(g.Types[id], want), String(&g.Graph), Show(fusions))
		}
	}
	return fusions
}

// String is the graph, an instruction a line.
func String(g *fusion.Graph) string {
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
			x := FromBytes(o.Lit.Type, o.Lit.Data)
			if o.Lit.Type.DType.IsComplex() {
				fmt.Fprintf(&b, " %v:%v", x.Number(0), o.Lit.Type.DType)
				continue
			}
			fmt.Fprintf(&b, " %v:%v", x.At(0), o.Lit.Type.DType)
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

// Show is fusions as text.
func Show(fusions []fusion.Fusion) string {
	var b strings.Builder
	for _, u := range fusions {
		fmt.Fprintf(&b, "fusion %v ->", u.Ins)
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
