package graph

import (
	"strings"
	"testing"
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
		t.Fatalf("%v in\n%s", err, Print(moved))
	}
	out := Print(moved)
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

// TestInvariantState: a constant of the state is made once.
func TestInvariantState(t *testing.T) {
	r := parsed(t, `(%1:f32[4]) {
  %10:s32, %11:f32[4] = while s32(0), %1 condition(%20:s32, %21:f32[4]) {
    %25:u8 = less %20, s32(3)
    give %25
  } body(%30:s32, %31:f32[4]) {
    %40:s32 = add %30, s32(1)
    %41:f32[4] = iota axis=-1
    %42:f32[4] = negate %41
    give %40, %42
  }
  give %11
}
`)
	moved := Invariant(r)
	if body := bodyOf(Print(moved)); strings.Contains(body, "iota") || strings.Contains(body, "negate") {
		t.Errorf("it becomes\n%s", Print(moved))
	}
	same(t, r, moved)
}

// TestInvariantStays: nothing leaves a loop that varies, is quickly computed, or is much to keep.
func TestInvariantStays(t *testing.T) {
	for name, replaced := range map[string][]string{
		"the state":        {"sin %42", "sin %46", "%43:f32[4]", "%43:f32[4,4]"},
		"quickly computed": {"sin %42", "negate %42"},
	} {
		text := strings.NewReplacer(replaced...).Replace(`(%1:f32[4]) {
  %10:s32, %11:f32[4] = while s32(0), %1 condition(%20:s32, %21:f32[4]) {
    %25:u8 = less %20, s32(3)
    give %25
  } body(%30:s32, %31:f32[4]) {
    %40:s32 = add %30, s32(1)
    %42:f32[4] = iota axis=-1
    %46:f32[4] = add %31, %42
    %43:f32[4] = sin %42
    %44:f32[4] = add %46, %43
    give %40, %44
  }
  give %11
}
`)
		text = strings.ReplaceAll(text, "f32[4,4]", "f32[4]")
		r := parsed(t, text)
		if moved := Invariant(r); moved != r {
			t.Errorf("%s leaves the loop:\n%s", name, Print(moved))
		}
	}
	large := strings.NewReplacer("f32[4]", "f32[2097152]").Replace(`(%1:f32[4]) {
  %10:s32, %11:f32[4] = while s32(0), %1 condition(%20:s32, %21:f32[4]) {
    %25:u8 = less %20, s32(3)
    give %25
  } body(%30:s32, %31:f32[4]) {
    %40:s32 = add %30, s32(1)
    %42:f32[4] = iota axis=-1
    %43:f32[4] = sin %42
    %44:f32[4] = add %31, %43
    give %40, %44
  }
  give %11
}
`)
	if r := parsed(t, large); Invariant(r) != r {
		t.Error("a function of two million elements leaves the loop")
	}
}
