package graph

import (
	"math/rand/v2"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth/graph/notation"
)

// invariantLoop has, in its rounds: a table of sines that is the same in all of them, twice, a sum of a value from before the loop that
// the state carries along, a conversion of it, a product of the state, and a loop with a table of its own.
const invariantLoop = `(%1:f32[4,4], %2:s8[4,4]) {
  %10:s32, %11:f32[4,4], %12:s8[4,4] = while s32(0), %1, %2 condition(%20:s32, %21:f32[4,4], %22:s8[4,4]) {
    %25:u8 = less %20, s32(3)
    give %25
  } body(%30:s32, %31:f32[4,4], %32:s8[4,4]) {
    %40:s32 = add %30, s32(1)
    %41:f32[4] = iota axis=-1
    %42:f32[4] = multiply %41, f32(0.25)
    %43:f32[4] = sin %42
    %44:f32[4,4] = broadcast %43 axes=[1]
    %45:s32[4] = sum %32 axes=[1] keep_axes=false
    %46:f32[4,4] = as_type %32
    %47:f32[4,4] = dot %31, %46 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
    %80:f32[4] = iota axis=-1
    %81:f32[4] = multiply %80, f32(0.25)
    %82:f32[4] = sin %81
    %83:f32[4,4] = broadcast %82 axes=[0]
    %84:f32[4,4] = multiply %44, %83
    %48:f32[4,4] = add %47, %84
    %49:f32[4] = as_type %45
    %50:f32[4,4] = broadcast %49 axes=[0]
    %51:f32[4,4] = add %48, %50
    %52:s32, %53:f32[4,4] = while s32(0), %51 condition(%60:s32, %61:f32[4,4]) {
      %62:u8 = less %60, %30
      give %62
    } body(%70:s32, %71:f32[4,4]) {
      %72:s32 = add %70, s32(1)
      %73:f32[4] = cos %43
      %74:f32[4,4] = broadcast %73 axes=[1]
      %75:f32[4,4] = exp %31
      %76:f32[4,4] = multiply %71, %74
      %77:f32[4,4] = add %76, %75
      give %72, %77
    }
    give %40, %53, %32
  }
  give %11
}
`

// TestInvariant: what the same in all rounds and takes long is before its loop, and before all that it is invariant in.
func TestInvariant(t *testing.T) {
	r := parsed(t, invariantLoop)
	moved := Invariant(r)
	if _, err := moved.CheckProgram(); err != nil {
		t.Fatalf("%v in\n%s", err, notation.Print(moved))
	}
	out := notation.Print(moved)
	before, rest, _ := strings.Cut(out, "while")
	body, inner, _ := strings.Cut(rest[strings.Index(rest, "} body("):], "while")
	for place, c := range map[string]struct {
		text string
		has  []string
	}{
		"before the loop":       {before, []string{"iota", "multiply", "sin", "sum %2", "cos"}},
		"in the rounds":         {body, []string{"as_type %32", "dot", "broadcast", "as_type %45", "exp"}},
		"in rounds of the loop": {inner, []string{"multiply", "broadcast"}},
	} {
		for _, op := range c.has {
			if !strings.Contains(c.text, " = "+op) {
				t.Errorf("%s there is no %s:\n%s", place, op, out)
			}
		}
	}
	for _, op := range []string{" sin ", " sum ", " cos ", " exp "} {
		if strings.Count(out, op) != 1 {
			t.Errorf("%d times%sin\n%s", strings.Count(out, op), op, out)
		}
	}
	same(t, r, moved)
}

// inRounds is a loop of three rounds of some instructions, of which %30 counts the rounds and %31 is the state.
func inRounds(body string) string {
	return `(%1:f32[4]) {
  %10:s32, %11:f32[4] = while s32(0), %1 condition(%20:s32, %21:f32[4]) {
    %25:u8 = less %20, s32(3)
    give %25
  } body(%30:s32, %31:f32[4]) {
    %40:s32 = add %30, s32(1)
` + body + `  }
  give %11
}
`
}

// TestInvariantState: a constant of the state is made once.
func TestInvariantState(t *testing.T) {
	r := parsed(t, inRounds(`    %41:f32[4] = iota axis=-1
    %42:f32[4] = negate %41
    give %40, %42
`))
	moved := Invariant(r)
	if body := bodyOf(notation.Print(moved)); strings.Contains(body, "iota") || strings.Contains(body, "negate") {
		t.Errorf("it becomes\n%s", notation.Print(moved))
	}
	same(t, r, moved)
}

// TestInvariantStays: nothing leaves a loop that varies, is quickly computed, or is much to keep.
func TestInvariantStays(t *testing.T) {
	for name, replaced := range map[string][]string{
		"the state":        {"sin %42", "sin %46"},
		"quickly computed": {"sin %42", "negate %42"},
	} {
		text := strings.NewReplacer(replaced...).Replace(inRounds(`    %42:f32[4] = iota axis=-1
    %46:f32[4] = add %31, %42
    %43:f32[4] = sin %42
    %44:f32[4] = add %46, %43
    give %40, %44
`))
		r := parsed(t, text)
		if moved := Invariant(r); moved != r {
			t.Errorf("%s leaves the loop:\n%s", name, notation.Print(moved))
		}
	}
	large := strings.NewReplacer("f32[4]", "f32[2097152]").Replace(inRounds(`    %42:f32[4] = iota axis=-1
    %43:f32[4] = sin %42
    %44:f32[4] = add %31, %43
    give %40, %44
`))
	if r := parsed(t, large); Invariant(r) != r {
		t.Error("a function of two million elements leaves the loop")
	}
}

// TestRandomInvariant: random code in a loop, of whose state some is the same in all rounds, gives the same with what is invariant
// before it; functions take the place of some of its instructions.
func TestRandomInvariant(t *testing.T) {
	moved := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		code := grow(seed, 30)
		for i := range code.Body {
			in := &code.Body[i]
			if unary := in.Op == ops.Negate || in.Op == ops.Abs; unary && in.Outs[0].Type.DType.IsFloat() {
				in.Op = []ops.Op{ops.Sin, ops.Exp, ops.Tanh}[r.IntN(3)]
			}
		}
		loop := looped(code, r)
		if _, err := loop.CheckProgram(); err != nil {
			t.Fatalf("seed %d: %v in\n%s", seed, err, notation.Print(loop))
		}
		out := Invariant(loop)
		if _, err := out.CheckProgram(); err != nil {
			t.Fatalf("seed %d: %v in\n%s", seed, err, notation.Print(out))
		}
		if out != loop {
			moved++
			same(t, loop, out)
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s\nbecomes\n%s", seed, notation.Print(loop), notation.Print(out))
		}
	}
	if moved < 50 {
		t.Errorf("of 300 loops %d have something invariant", moved)
	}
}

// looped is a loop of three rounds, whose state are the parameters of a region. Each is the same in all rounds, or a value of the
// region where one has its type.
func looped(code *ops.Region, r *rand.Rand) *ops.Region {
	next := code.LastID()
	result := func(typ ops.Type) ops.Result {
		next++
		return ops.Result{ID: next, Type: typ}
	}
	number := func(n byte) ops.Operand {
		return ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: ops.S32}, Data: []byte{n, 0, 0, 0}}}
	}
	counter := ops.Type{DType: ops.S32}
	count := result(counter)
	step := ops.Instr{Op: ops.Add, Ins: []ops.Operand{{ID: count.ID}, number(1)}, Outs: []ops.Result{result(counter)}}
	body := &ops.Region{Params: append([]ops.Result{count}, code.Params...), Body: append([]ops.Instr{step}, code.Body...),
		Values: []ops.Operand{{ID: step.Outs[0].ID}}}
	outer, cond := &ops.Region{}, &ops.Region{Params: []ops.Result{result(counter)}}
	loop := ops.Instr{Op: ops.While, Attrs: [][]int{nil, nil}, Ins: []ops.Operand{number(0)}, Outs: []ops.Result{result(counter)}}
	for _, p := range code.Params {
		value := ops.Operand{ID: p.ID}
		for i := range code.Body {
			if o := code.Body[i].Outs[0]; o.Type.Equal(p.Type) && r.IntN(4) == 0 {
				value = ops.Operand{ID: o.ID}
			}
		}
		body.Values = append(body.Values, value)
		in, out := result(p.Type), result(p.Type)
		outer.Params = append(outer.Params, in)
		loop.Ins, loop.Outs = append(loop.Ins, ops.Operand{ID: in.ID}), append(loop.Outs, out)
		cond.Params = append(cond.Params, result(p.Type))
		outer.Values = append(outer.Values, ops.Operand{ID: out.ID})
	}
	less := ops.Instr{Op: ops.Less, Ins: []ops.Operand{{ID: cond.Params[0].ID}, number(3)}, Outs: []ops.Result{result(ops.Type{DType: ops.U8})}}
	cond.Body, cond.Values = []ops.Instr{less}, []ops.Operand{{ID: less.Outs[0].ID}}
	loop.Regions = []*ops.Region{cond, body}
	outer.Body = []ops.Instr{loop}
	return outer
}
