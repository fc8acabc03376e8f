package graph_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/synth/graph"
	"nxvk/synth/graph/notation"
)

// TestIntegers: products of 32 bits read operands of 8 bits as they are, of any shape and layout, and give the same
// bits. Operands of different types, and those of which only one has 8 bits, stay.
func TestIntegers(t *testing.T) {
	narrow := 0
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 8))
		m, k, n := 1+rnd.IntN(9), 1+rnd.IntN(300), 1+rnd.IntN(9)
		types := []string{"s8", "u8", "s8", "u8", "s16"}
		a, b := types[rnd.IntN(len(types))], types[rnd.IntN(len(types))]
		if rnd.IntN(2) == 0 {
			b = a
		}
		out := []string{"s32", "u32"}[rnd.IntN(2)]
		left, right, cl, cr := fmt.Sprintf("[%d,%d]", m, k), fmt.Sprintf("[%d,%d]", k, n), 1, 0
		if rnd.IntN(2) == 0 {
			left, cl = fmt.Sprintf("[%d,%d]", k, m), 0
		}
		if rnd.IntN(2) == 0 {
			right, cr = fmt.Sprintf("[%d,%d]", n, k), 1
		}
		text := fmt.Sprintf(`(%%1:%s%s, %%2:%s%s) {
  %%3:%s%s = as_type %%1
  %%4:%s%s = as_type %%2
  %%5:%s[%d,%d] = dot %%3, %%4 contract_left=[%d] batch_left=[] contract_right=[%d] batch_right=[]
  give %%5
}
`, a, left, b, right, out, left, out, right, out, m, n, cl, cr)
		r, err := notation.Parse(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		got := graph.Integers(r)
		if _, err := got.CheckProgram(); err != nil {
			t.Fatalf("seed %d: %v in\n%s", seed, err, notation.Print(got))
		}
		reads := strings.Contains(notation.Print(got), "dot %1, %2 ")
		if want := a == b && a != "s16"; reads != want {
			t.Errorf("seed %d: reads %s and %s as they are is %v in\n%s", seed, a, b, reads, notation.Print(got))
		}
		if reads {
			narrow++
		}
		var args []fallback.Value
		for _, p := range r.Params {
			v := fallback.Value{Type: p.Type, Data: make([]byte, p.Type.Bytes())}
			for i := range v.Data {
				v.Data[i] = byte(rnd.Uint32())
			}
			args = append(args, v)
		}
		if before, after := eval(t, r, args), eval(t, got, args); !bytes.Equal(before, after) {
			t.Errorf("seed %d: other bits of\n%s", seed, notation.Print(got))
		}
	}
	if narrow < 20 {
		t.Errorf("%d products were rewritten", narrow)
	}
}

func eval(t *testing.T, r *ops.Region, args []fallback.Value) []byte {
	t.Helper()
	out, err := fallback.NewEvaluator(r).Eval(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out[0].Data
}
