package graph

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/synth/graph/notation"
)

// threefry is the loop of Nx.Random: rounds of rotations, whose amounts and keys
// take turns.
const threefry = `(%1:u32[8], %2:u32[8], %3:u32, %4:u32, %5:u32) {
  %10:u32, %11:u32[8], %12:u32[8], %13:u32, %14:u32, %15:u32, %16:u8[4], %17:u8[4] = while u32(1), %1, %2, %3, %4, %5, u8[4](13 15 26 6), u8[4](17 29 16 24) condition(%20:u32, %21:u32[8], %22:u32[8], %23:u32, %24:u32, %25:u32, %26:u8[4], %27:u8[4]) {
    %30:u8 = less %20, s32(6)
    give %30
  } body(%40:u32, %41:u32[8], %42:u32[8], %43:u32, %44:u32, %45:u32, %46:u8[4], %47:u8[4]) {
    %50:u32 = add u32(1), %40
    %51:s32, %52:u8[4], %53:u32[8], %54:u32[8] = while s32(0), %46, %41, %42 condition(%60:s32, %61:u8[4], %62:u32[8], %63:u32[8]) {
      %64:u8 = less_equal %60, s32(3)
      give %64
    } body(%70:s32, %71:u8[4], %72:u32[8], %73:u32[8]) {
      %74:s32 = add s32(1), %70
      %75:u32[8] = add %72, %73
      %76:u8[1] = slice %71, %70 starts=[] lengths=[1] strides=[1]
      %77:u8 = squeeze %76 axes=[0]
      %78:u32[8] = left_shift %73, %77
      %79:u32 = subtract u32(32), %77
      %80:u32[8] = right_shift %73, %79
      %81:u32[8] = bitwise_or %78, %80
      %82:u32[8] = bitwise_xor %81, %75
      give %74, %71, %75, %82
    }
    %90:u32[8] = add %43, %53
    %91:u32 = add %44, %40
    %92:u32[8] = add %91, %54
    give %50, %90, %92, %44, %45, %43, %47, %46
  }
  %99:u32 = add %10, u32(1)
  give %11, %12, %99
}
`

// open has a loop whose end a parameter decides, and in it one that is known.
const open = `(%1:s32, %2:f32[3]) {
  %3:s32, %4:f32[3] = while %1, %2 condition(%5:s32, %6:f32[3]) {
    %7:u8 = less %5, s32(5)
    give %7
  } body(%8:s32, %9:f32[3]) {
    %10:s32 = add %8, s32(1)
    %11:s32, %12:f32[3] = while s32(0), %9 condition(%13:s32, %14:f32[3]) {
      %15:u8 = less %13, s32(2)
      give %15
    } body(%16:s32, %17:f32[3]) {
      %18:s32 = add %16, s32(1)
      %19:f32[3] = multiply %17, f32(0.5)
      give %18, %19
    }
    give %10, %12
  }
  give %3, %4
}
`

func parsed(t *testing.T, text string) *ops.Region {
	t.Helper()
	r, err := notation.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestUnroll(t *testing.T) {
	for _, c := range []struct {
		name, text string
		loops      int // that are left
		body       int // instructions of the region itself
	}{
		{"threefry", threefry, 0, 5*(4*5+3) + 1},
		{"open", open, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := parsed(t, c.text)
			before := notation.Print(r)
			u := Unroll(r, onHost)
			if _, err := u.CheckProgram(); err != nil {
				t.Fatalf("%v in\n%s", err, notation.Print(u))
			}
			if got := loops(u); got != c.loops || len(u.Body) != c.body {
				t.Errorf("%d loops and %d instructions, want %d and %d, in\n%s", got, len(u.Body), c.loops, c.body, notation.Print(u))
			}
			if notation.Print(r) != before {
				t.Error("the region that was given is another one")
			}
			same(t, r, u)
		})
	}
}

// loops counts the loops in a region.
func loops(r *ops.Region) (n int) {
	for i := range r.Body {
		if r.Body[i].Op == ops.While {
			n++
		}
		for _, inner := range r.Body[i].Regions {
			n += loops(inner)
		}
	}
	return n
}

// same compares what two regions give for the same arguments.
func same(t *testing.T, a, b *ops.Region) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 3 {
		var args []fallback.Value
		for _, p := range a.Params {
			v := fallback.Value{Type: p.Type, Data: make([]byte, p.Type.Bytes())}
			for i := range v.Data {
				v.Data[i] = byte(rnd.Uint32())
			}
			if p.Type.DType == ops.S32 { // a counter
				clear(v.Data)
			}
			args = append(args, v)
		}
		want, err := fallback.NewEvaluator(a).Eval(args...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := fallback.NewEvaluator(b).Eval(args...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !bytes.Equal(got[i].Data, want[i].Data) {
				t.Errorf("value %d is %x, want %x", i, got[i].Data, want[i].Data)
			}
		}
	}
}

// Loops that would become too long, compute more than elements, or whose predicate
// is not known stay.
func TestUnrollRefuses(t *testing.T) {
	const form = `(%1:f32[4,4], %9:s32) {
  %2:s32, %3:f32[4,4] = while START, %1 condition(%4:s32, %5:f32[4,4]) {
    %6:u8 = less %4, s32(END)
    give %6
  } body(%7:s32, %8:f32[4,4]) {
    %10:s32 = add %7, s32(1)
    %11:f32[4,4] = WORK
    give %10, %11
  }
  give %2, %3
}
`
	fill := func(start, end, work string) string {
		text := bytes.ReplaceAll([]byte(form), []byte("START"), []byte(start))
		text = bytes.ReplaceAll(text, []byte("END"), []byte(end))
		return string(bytes.ReplaceAll(text, []byte("WORK"), []byte(work)))
	}
	for _, c := range []struct {
		name, start, end, work string
		loops                  int
	}{
		{"short", "s32(0)", "64", "negate %8", 0},
		{"never", "s32(0)", "0", "negate %8", 0},
		{"long", "s32(0)", "65", "negate %8", 1},
		{"endless", "s32(6)", "2147483647", "negate %8", 1},
		{"unknown", "%9", "4", "negate %8", 1},
		{"products", "s32(0)", "4", "cumulative_sum %8 axis=0 reverse=false", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := parsed(t, fill(c.start, c.end, c.work))
			u := Unroll(r, onHost)
			if got := loops(u); got != c.loops {
				t.Errorf("%d loops, want %d, in\n%s", got, c.loops, notation.Print(u))
			}
			if c.name != "endless" {
				same(t, r, u)
			}
		})
	}
}

// TestUnrollMany: each loop of a program is unrolled, however much the others become, up to a bound
// for all.
func TestUnrollMany(t *testing.T) {
	const rounds, work = 50, 8
	for _, c := range []struct{ loops, left int }{{6, 0}, {maxWritten/(rounds*work) + 3, 3}} {
		var b strings.Builder
		b.WriteString("(%1:f32[4]) {\n")
		id, x := 1, 1
		for range c.loops {
			n := id
			fmt.Fprintf(&b, "  %%%d:s32, %%%d:f32[4] = while s32(0), %%%d condition(%%%d:s32, %%%d:f32[4]) {\n", n+1, n+2, x, n+3, n+4)
			fmt.Fprintf(&b, "    %%%d:u8 = less %%%d, s32(%d)\n    give %%%d\n  } body(%%%d:s32, %%%d:f32[4]) {\n", n+5, n+3, rounds, n+5, n+6, n+7)
			fmt.Fprintf(&b, "    %%%d:s32 = add %%%d, s32(1)\n", n+8, n+6)
			for k := range work {
				fmt.Fprintf(&b, "    %%%d:f32[4] = negate %%%d\n", n+9+k, n+7+k+min(k, 1))
			}
			fmt.Fprintf(&b, "    give %%%d, %%%d\n  }\n", n+8, n+8+work)
			id, x = n+9+work, n+2
		}
		fmt.Fprintf(&b, "  give %%%d\n}\n", x)
		r := parsed(t, b.String())
		if got := loops(Unroll(r, onHost)); got != c.left {
			t.Errorf("of %d loops %d are left, want %d", c.loops, got, c.left)
		}
	}
}
