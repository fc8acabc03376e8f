package graph

import (
	"strings"
	"testing"

	"nxvk/synth/graph/notation"
)

// TestSwap: a transposed product is a product of the operands in the other order, also in the body of a loop.
func TestSwap(t *testing.T) {
	for name, text := range map[string]string{
		"gradient": `(%1:s64[2,5,3], %2:s64[2,5,4]) {
  %3:s64[3,4] = dot %1, %2 contract_left=[0,1] batch_left=[] contract_right=[0,1] batch_right=[]
  %4:s64[4,3] = transpose %3 axes=[1,0]
  give %4
}
`,
		"batch, and several free axes": `(%1:s64[2,5,3,2], %2:s64[2,4,5]) {
  %3:s64[2,3,2,4] = dot %1, %2 contract_left=[1] batch_left=[0] contract_right=[2] batch_right=[0]
  %4:s64[2,4,3,2] = transpose %3 axes=[0,3,1,2]
  give %4
}
`,
		"loop": `(%1:s64[3,3], %9:s32) {
  %2:s32, %3:s64[3,3] = while %9, %1 condition(%4:s32, %5:s64[3,3]) {
    %6:u8 = less %4, s32(2)
    give %6
  } body(%7:s32, %8:s64[3,3]) {
    %10:s32 = add %7, s32(1)
    %11:s64[3,3] = dot %8, %1 contract_left=[0] batch_left=[] contract_right=[0] batch_right=[]
    %12:s64[3,3] = transpose %11 axes=[1,0]
    give %10, %12
  }
  give %3
}
`,
	} {
		r := parsed(t, text)
		s := Swap(r)
		if _, err := s.CheckProgram(); err != nil {
			t.Fatalf("%s: %v in\n%s", name, err, notation.Print(s))
		}
		if out := notation.Print(s); strings.Contains(out, "transpose") || strings.Count(out, "dot") != 1 || notation.Print(r) != text {
			t.Errorf("%s becomes\n%s", name, out)
		}
		same(t, r, s)
	}
}

// TestSwapRefuses: a product that something else reads, and other permutations, stay.
func TestSwapRefuses(t *testing.T) {
	const product = "(%1:f32[2,5,3], %2:f32[2,5,4]) {\n  %3:f32[2,3,4] = dot %1, %2 contract_left=[1] batch_left=[0] contract_right=[1] batch_right=[0]\n"
	for _, text := range []string{
		product + "  %4:f32[2,4,3] = transpose %3 axes=[0,2,1]\n  give %3, %4\n}\n",
		product + "  %4:f32[3,2,4] = transpose %3 axes=[1,0,2]\n  give %4\n}\n",
		product + "  %4:f32[4,3,2] = transpose %3 axes=[2,1,0]\n  give %4\n}\n",
	} {
		if r := parsed(t, text); Swap(r) != r {
			t.Errorf("it becomes\n%s", notation.Print(Swap(r)))
		}
	}
}
