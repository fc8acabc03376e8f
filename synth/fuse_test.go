package synth

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/spirv/spirvtest"
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

// padded4 ends memory at a whole word, as kernels may assume.
func padded4(b []byte) []byte { return append(b, 0, 0, 0)[:(len(b)+3)/4*4] }

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
		outs := runPlan(g.t, p, u.Outs, operands, lits)
		for k, o := range u.Outs {
			vs[o.ID] = outs[k]
		}
	}
}

// runPlan runs the steps of a plan. Memory that nobody has written has a pattern.
func runPlan(t testing.TB, p *Plan, results []ops.Result, operands [][]byte, lits []tensor) [][]byte {
	t.Helper()
	fresh := func(n int) []byte { return padded4(bytes.Repeat([]byte{0xa5}, n)) }
	if p.Alias >= 0 {
		return [][]byte{operands[p.Alias]}
	}
	var outs, temps [][]byte
	for _, r := range results {
		outs = append(outs, fresh(r.Type.Bytes()))
	}
	for _, n := range p.Temps {
		temps = append(temps, fresh(int(n)))
	}
	for _, s := range p.Steps {
		if _, done := validated.LoadOrStore(s.Kernel.Name, true); !done {
			spirvtest.Validate(t, s.Kernel.Code)
		}
		var bufs [][]byte
		for _, a := range s.Args {
			bufs = append(bufs, map[RefKind][][]byte{Operand: operands, Result: outs, Temp: temps}[a.Ref.Kind][a.Ref.Index])
		}
		push := slices.Clone(s.Push)
		for _, l := range s.Lits {
			putLiteral(push[l.Offset:], l.As, lits[l.Operand])
		}
		if s.Kernel.Addresses {
			push = push[8*len(bufs):]
		}
		kernel.Run(s.Kernel.IR, bufs, push, s.Grid)
	}
	return outs
}

// putLiteral writes a number as a type has it.
func putLiteral(b []byte, as ops.DType, x tensor) {
	switch {
	case !as.IsInteger():
		putFloat(b, as, 0, x.at(0))
	case x.n != nil:
		putInt(b, as.Size(), 0, x.n[0])
	default:
		putInt(b, as.Size(), 0, int64(x.f[0]))
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

// want reports whether the units are so many.
func wantUnits(t *testing.T, units []Unit, n int) {
	t.Helper()
	if len(units) != n {
		t.Errorf("got %d units, want %d:\n%s", len(units), n, show(units))
	}
}

// A chain of operations on elements, with a broadcast, is one kernel.
func TestFusePointwise(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		g := newSketch(t)
		x, b, y := g.param(ops.F32, 6, 8), g.param(ops.F32, 8), g.param(ops.F32, 6, 8)
		s := g.do(ops.Add, ops.F32, g.do(ops.Multiply, ops.F32, x, y), b)
		e := g.do(ops.Tanh, ops.F32, s)
		r := g.do(ops.Multiply, ops.F32, e, g.do(ops.Subtract, ops.F32, g.num(ops.F32, 1), e))
		c := g.do(ops.Greater, ops.U8, r, g.num(ops.F32, 0.1))
		g.keep(r, c)
		wantUnits(t, g.check(target, 1), 1)
	})
}

// What is folded is made while it is folded; what becomes of the result is in the
// same kernel.
func TestFuseReduction(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, shape := range []ops.Shape{{5, 256}, {8, 2000}, {3, 7}, {8, 24}} {
			for axis := range shape {
				g := newSketch(t)
				x, y := g.param(ops.F32, shape...), g.param(ops.BF16, shape...)
				e := g.do(ops.Multiply, ops.F32, g.do(ops.Tanh, ops.F32, x), y)
				s := g.do(ops.Sum, ops.F32, e, attrs{{axis}, {0}})
				b := g.param(ops.F32, g.types[s.ID].Shape...)
				g.keep(g.do(ops.Exp, ops.F32, g.do(ops.Subtract, ops.F32, s, b)))
				wantUnits(t, g.check(target, 3), 1)
			}
		}
	})
}

// Reductions of the same elements are one kernel.
func TestFuseReductions(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		g := newSketch(t)
		x := g.param(ops.F32, 40, 130)
		over := attrs{{0}, {0}}
		g.keep(g.do(ops.Sum, ops.F32, x, over), g.do(ops.ReduceMax, ops.F32, x, over),
			g.do(ops.Sum, ops.F32, g.do(ops.Multiply, ops.F32, x, x), over), g.do(ops.Any, ops.U8, x, over))
		wantUnits(t, g.check(target, 4), 1)
	})
}

// softmax is that of the last axis.
func (g *sketch) softmax(x ops.Operand) ops.Operand {
	d, last := g.typeOf(x).DType, len(g.typeOf(x).Shape)-1
	e := g.do(ops.Exp, d, g.do(ops.Subtract, d, x, g.do(ops.ReduceMax, d, x, attrs{{last}, {1}})))
	return g.do(ops.Divide, d, e, g.do(ops.Sum, d, e, attrs{{last}, {1}}))
}

// layerNorm normalises the last axis, with a scale and a bias.
func (g *sketch) layerNorm(x, scale, bias ops.Operand) ops.Operand {
	d, shape := g.typeOf(x).DType, g.typeOf(x).Shape
	last := len(shape) - 1
	n := g.num(ops.S32, float64(shape[last]))
	mean := func(v ops.Operand) ops.Operand {
		return g.do(ops.Divide, d, g.do(ops.Sum, d, v, attrs{{last}, {1}}), n)
	}
	c := g.do(ops.Subtract, d, x, mean(x))
	s := g.do(ops.Rsqrt, d, g.do(ops.Add, d, mean(g.do(ops.Multiply, d, c, c)), g.num(ops.F32, 1e-5)))
	return g.do(ops.Add, d, g.do(ops.Multiply, d, g.do(ops.Multiply, d, c, s), scale), bias)
}

// Rows that fit are loaded once: reductions and what looks at the same rows are
// one kernel.
func TestFuseRows(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, n := range []int{3, 12, 64, 130, 1000, 1027, 4096, 9000, 9002} {
			g := newSketch(t)
			x := g.param(ops.F32, 20, n)
			g.keep(g.softmax(x))
			wantUnits(t, g.check(target, 5), 1)

			g = newSketch(t)
			x = g.param(ops.F32, 4, 5, n)
			g.keep(g.layerNorm(x, g.param(ops.F32, n), g.param(ops.F32, n)))
			wantUnits(t, g.check(target, 6), 1)
		}
	})
}

// A view of a view has strides, or the space must be cut, or there are none.
func TestThrough(t *testing.T) {
	for _, c := range []struct {
		name string
		dims []int
		v    view
		s    ops.Shape
		w    view
		want view
		err  error
	}{
		{"whole", []int{2, 3}, dense(ops.Shape{2, 3}), ops.Shape{2, 3}, view{0, []int{3, 1}}, view{0, []int{3, 1}}, nil},
		{"scalar", []int{2, 3}, dense(ops.Shape{2, 3}), ops.Shape{2, 3}, view{0, []int{0, 0}}, view{0, []int{0, 0}}, nil},
		{"row", []int{2, 3}, dense(ops.Shape{2, 3}), ops.Shape{2, 3}, view{0, []int{0, 1}}, view{0, []int{0, 1}}, nil},
		{"transposed", []int{3, 2}, view{0, []int{1, 3}}, ops.Shape{2, 3}, view{0, []int{1, 2}}, view{0, []int{2, 1}}, nil},
		{"backward", []int{6}, view{5, []int{-1}}, ops.Shape{6}, view{10, []int{-2}}, view{0, []int{2}}, nil},
		{"flat over a column", []int{6}, view{0, []int{1}}, ops.Shape{2, 3}, view{0, []int{1, 0}}, view{}, &splitError{0, 3}},
		{"across rows", []int{3}, view{1, []int{1}}, ops.Shape{2, 3}, view{0, []int{1, 0}}, view{}, errView},
		{"no part of a row", []int{2, 3}, dense(ops.Shape{2, 3}), ops.Shape{3, 2}, view{0, []int{1, 0}}, view{}, errView},
	} {
		got, err := through(c.dims, c.v, c.s, c.w)
		switch {
		case fmt.Sprint(err) != fmt.Sprint(c.err):
			t.Errorf("%s: error %v, want %v", c.name, err, c.err)
		case err == nil && !sameView(c.dims, got, c.want):
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// A kernel has room for so many buffers; what takes more is several units.
func TestUnitsFit(t *testing.T) {
	for _, target := range []*Target{gpu, cpu} {
		g := newSketch(t)
		sum := g.param(ops.F32, 30)
		for range 60 {
			sum = g.do(ops.Tanh, ops.F32, g.do(ops.Add, ops.F32, sum, g.param(ops.F32, 30)))
		}
		g.keep(sum)
		units := g.check(target, 8)
		if n := len(units); n < 2 || n > 10 {
			t.Errorf("%d units", n)
		}
	}
}

// What nobody wants is not computed, and what is read by something that has a
// kernel of its own lies in memory.
func TestUnitsKeep(t *testing.T) {
	g := newSketch(t)
	x := g.param(ops.F32, 4, 6)
	a := g.do(ops.Exp, ops.F32, x)
	g.do(ops.Log, ops.F32, a)
	s := g.do(ops.CumulativeSum, ops.F32, g.do(ops.Transpose, ops.F32, a, attrs{{1, 0}}), attrs{{0}, {0}})
	g.keep(g.do(ops.Negate, ops.F32, s))
	units := g.check(gpu, 2)
	for _, u := range units {
		for i := range u.Body {
			if u.Body[i].Op == ops.Log {
				t.Errorf("what nobody wants is computed:\n%s", show(units))
			}
		}
	}
}

// A large transposition, which a kernel of its own does better, is not looked
// through; a small one is. Both may be kept besides.
func TestFuseTransposition(t *testing.T) {
	for _, n := range []int{16, 300} {
		for _, kept := range []bool{false, true} {
			g := newSketch(t)
			x := g.param(ops.F32, n, 256)
			y := g.do(ops.Transpose, ops.F32, x, attrs{{1, 0}})
			g.keep(g.do(ops.Exp, ops.F32, g.do(ops.Negate, ops.F32, y)))
			if kept {
				g.keep(y)
			}
			units := g.check(gpu, 4)
			want := 1
			if n == 300 || kept {
				want = 2
			}
			wantUnits(t, units, want)
			reads := units[len(units)-1].Ins[0]
			if small := n == 16; small != (reads == x.ID) {
				t.Errorf("%d by 256: the last unit reads %d:\n%s", n, reads, show(units))
			}
		}
	}
}
