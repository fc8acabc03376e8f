package graph

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/synth/graph/notation"
)

// grower makes random code of what the rules look for: views of views, numbers
// that change nothing, the same again.
type grower struct {
	r     *rand.Rand
	code  ops.Region
	pool  []ops.Operand
	types map[ops.ID]ops.Type
}

var growTypes = []ops.DType{ops.F32, ops.S32, ops.U8, ops.S64, ops.BF16, ops.U32, ops.F64, ops.S8, ops.U64}

func grow(seed uint64, n int) *ops.Region {
	g := &grower{r: rand.New(rand.NewPCG(seed, 3)), types: make(map[ops.ID]ops.Type)}
	for range 3 {
		t := ops.Type{DType: g.dtype()}
		for range g.r.IntN(4) {
			t.Shape = append(t.Shape, 1+g.r.IntN(4))
		}
		id := ops.ID(len(g.types) + 1)
		g.types[id] = t
		g.code.Params = append(g.code.Params, ops.Result{ID: id, Type: t})
		g.pool = append(g.pool, ops.Operand{ID: id})
	}
	for range n {
		g.step()
	}
	for range 3 {
		o := g.pool[max(g.r.IntN(len(g.pool)), g.r.IntN(len(g.pool)))]
		if !slices.Contains(g.code.Values, o) {
			g.code.Values = append(g.code.Values, o)
		}
	}
	return &g.code
}

func (g *grower) dtype() ops.DType { return growTypes[g.r.IntN(len(growTypes))] }

func (g *grower) pick() ops.Operand { return g.pool[max(g.r.IntN(len(g.pool)), g.r.IntN(len(g.pool)))] }

// num is a literal that many rules look for.
func (g *grower) num() ops.Operand {
	d := []ops.DType{ops.S32, ops.U8, ops.S64}[g.r.IntN(3)]
	n := []int{0, 0, 1, 1, -1, 255, 2}[g.r.IntN(7)]
	data := make([]byte, d.Size())
	for i := range data {
		data[i] = byte(n >> (8 * i))
	}
	return ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: d}, Data: data}}
}

func (g *grower) typeOf(o ops.Operand) ops.Type {
	if o.Lit != nil {
		return o.Lit.Type
	}
	return g.types[o.ID]
}

// add takes an instruction where it is well formed.
func (g *grower) add(in ops.Instr, out ops.Type) {
	types := make([]ops.Type, len(in.Ins))
	for i, o := range in.Ins {
		types[i] = g.typeOf(o)
	}
	in.Outs = []ops.Result{{ID: ops.ID(len(g.types) + 1), Type: out}}
	if infer := in.Op.Info().Infer; infer != nil && out.Shape == nil {
		if shapes, err := infer(&in, types); err == nil {
			in.Outs[0].Type.Shape = shapes[0]
		}
	}
	if in.Check(types) != nil || in.Outs[0].Type.Size() > 500 {
		return
	}
	g.types[in.Outs[0].ID] = in.Outs[0].Type
	g.code.Body = append(g.code.Body, in)
	g.pool = append(g.pool, ops.Operand{ID: in.Outs[0].ID})
}

func (g *grower) step() {
	x := g.pick()
	t := g.typeOf(x)
	n := len(t.Shape)
	do := func(op ops.Op, out ops.Type, ins []ops.Operand, attrs ...[]int) {
		g.add(ops.Instr{Op: op, Ins: ins, Attrs: attrs}, out)
	}
	same, one := ops.Type{DType: t.DType}, []ops.Operand{x}
	switch g.r.IntN(12) {
	case 0:
		do([]ops.Op{ops.Negate, ops.BitwiseNot, ops.Abs}[g.r.IntN(3)], same, one)
	case 1:
		do(ops.AsType, ops.Type{DType: g.dtype()}, one)
	case 2, 3:
		op := []ops.Op{ops.Add, ops.Subtract, ops.Multiply, ops.Quotient, ops.BitwiseAnd, ops.BitwiseOr, ops.BitwiseXor, ops.LeftShift}[g.r.IntN(8)]
		pair := []ops.Operand{x, g.num()}
		if g.r.IntN(3) == 0 {
			slices.Reverse(pair)
		}
		do(op, same, pair)
	case 4:
		do([]ops.Op{ops.Add, ops.Multiply, ops.Max}[g.r.IntN(3)], same, []ops.Operand{x, g.pick()})
	case 5:
		do(ops.Constant, ops.Type{DType: g.dtype(), Shape: append(ops.Shape{}, t.Shape...)}, []ops.Operand{g.num()})
	case 6:
		do(ops.Transpose, same, one, g.r.Perm(n))
	case 7:
		do(ops.Reverse, same, one, g.r.Perm(n)[:g.r.IntN(n+1)])
	case 8:
		g.slice(x, t)
	case 9:
		axes := g.r.Perm(n + 1)[:n]
		wide := make(ops.Shape, n+1)
		for i := range wide {
			wide[i] = 1 + g.r.IntN(3)
		}
		for i, a := range axes {
			wide[a] = t.Shape[i]
		}
		do(ops.BroadcastTo, ops.Type{DType: t.DType, Shape: wide}, one, axes)
	case 10:
		do(ops.Reshape, ops.Type{DType: t.DType, Shape: ops.Shape{t.Size()}}, one)
		do(ops.Bitcast, ops.Type{DType: g.dtype()}, one)
	case 11:
		if len(g.code.Body) > 0 {
			again := g.code.Body[g.r.IntN(len(g.code.Body))]
			g.add(again, again.Outs[0].Type)
		}
	}
}

// slice looks at a part, from starts that are clamped.
func (g *grower) slice(x ops.Operand, t ops.Type) {
	var at, length, stride []int
	ins := []ops.Operand{x}
	literal := g.r.IntN(2) == 0
	for _, d := range t.Shape {
		length, stride = append(length, 1+g.r.IntN(d)), append(stride, 1+g.r.IntN(2))
		if literal {
			ins = append(ins, g.num())
		} else {
			at = append(at, g.r.IntN(d+1))
		}
	}
	g.add(ops.Instr{Op: ops.Slice, Ins: ins, Attrs: [][]int{at, length, stride}}, ops.Type{DType: t.DType})
}

// special are bits of floats that arithmetic does not leave alone.
var special = []uint32{0, 1 << 31, 1, 0x80000001, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffc12345, math.Float32bits(1.5)}

// inputs gives the parameters random bits, special ones among them.
func inputs(r *ops.Region, seed uint64) map[ops.ID][]byte {
	rnd := rand.New(rand.NewPCG(seed, 9))
	vs := make(map[ops.ID][]byte)
	for _, p := range r.Params {
		b := make([]byte, p.Type.Bytes())
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		if p.Type.DType == ops.F32 {
			for i := 0; i < len(b); i += 4 {
				for k, x := 0, special[rnd.IntN(len(special))]; k < 4; k++ {
					b[i+k] = byte(x >> (8 * k))
				}
			}
		}
		vs[p.ID] = b
	}
	return vs
}

// carry computes straight-line code on the host, one instruction after the other.
func carry(t *testing.T, r *ops.Region, vs map[ops.ID][]byte) [][]byte {
	t.Helper()
	types := make(map[ops.ID]ops.Type)
	for _, p := range r.Params {
		types[p.ID] = p.Type
	}
	for i := range r.Body {
		in := &r.Body[i]
		var args []fallback.Value
		for _, o := range in.Ins {
			if o.Lit != nil {
				args = append(args, fallback.Value{Type: o.Lit.Type, Data: o.Lit.Data})
			} else {
				args = append(args, fallback.Value{Type: types[o.ID], Data: vs[o.ID]})
			}
		}
		out := in.Outs[0]
		types[out.ID], vs[out.ID] = out.Type, make([]byte, out.Type.Bytes())
		if err := fallback.Run(in, args, []fallback.Value{{Type: out.Type, Data: vs[out.ID]}}); err != nil {
			t.Fatalf("%s: %v", notation.Line(in), err)
		}
	}
	var out [][]byte
	for _, o := range r.Values {
		out = append(out, vs[o.ID])
	}
	return out
}

// No bit changes, whichever passes run: NaNs of both kinds, negative zeros and
// subnormal numbers included.
func TestRandom(t *testing.T) {
	less := make(map[string]int)
	for seed := range uint64(600) {
		r := grow(seed, 5+int(seed%40))
		want := carry(t, r, inputs(r, seed))
		for k := range len(Passes) + 1 {
			name := "all"
			o := Options{Eval: onHost}
			if k < len(Passes) {
				name = Passes[k].Name
				o.Off = func(pass string) bool { return pass != name }
			}
			s := checked(t, r, o)
			less[name] += len(r.Body) - len(s.Body)
			for i, got := range carry(t, s, inputs(r, seed)) {
				if !bytes.Equal(got, want[i]) {
					t.Fatalf("seed %d, %s, value %%%d: got %x, want %x, of\n%sin\n%s", seed, name, r.Values[i].ID, got, want[i], notation.Print(s), notation.Print(r))
				}
			}
		}
	}
	t.Logf("instructions less: %v", less)
	for _, name := range []string{"all", "simplify", "common", "dead"} {
		if less[name] == 0 {
			t.Errorf("%s has never left out an instruction", name)
		}
	}
}

// With every pass off the code stays as it is.
func TestOff(t *testing.T) {
	r := grow(1, 40)
	s := Simplify(r, Options{Off: func(string) bool { return true }, Eval: onHost})
	if notation.Print(s) != notation.Print(r) {
		t.Errorf("got\n%s\nwant\n%s", notation.Print(s), notation.Print(r))
	}
}
