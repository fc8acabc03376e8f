package graph

import (
	"strings"
	"testing"

	"nxvk/synth/graph/notation"
)

// TestFoldTransposes: a product reads transposed operands as they lie, also in the body of a loop.
func TestFoldTransposes(t *testing.T) {
	for name, text := range map[string]string{
		"keys of a cache": `(%1:s64[2,3,1,4], %2:s64[2,5,3,4]) {
  %3:s64[2,3,5,4] = transpose %2 axes=[0,2,1,3]
  %4:s64[2,3,1,5] = dot %1, %3 contract_left=[3] batch_left=[0,1] contract_right=[3] batch_right=[0,1]
  give %4
}
`,
		"values of a cache": `(%1:s64[2,3,1,5], %2:s64[2,5,3,4]) {
  %3:s64[2,3,5,4] = transpose %2 axes=[0,2,1,3]
  %4:s64[2,3,1,4] = dot %1, %3 contract_left=[3] batch_left=[0,1] contract_right=[2] batch_right=[0,1]
  give %4
}
`,
		"both": `(%1:s64[5,2,4], %2:s64[3,2,4]) {
  %3:s64[2,5,4] = transpose %1 axes=[1,0,2]
  %4:s64[2,3,4] = transpose %2 axes=[1,0,2]
  %5:s64[2,5,3] = dot %3, %4 contract_left=[2] batch_left=[0] contract_right=[2] batch_right=[0]
  give %5
}
`,
		"loop": `(%1:s64[3,2,3], %9:s32) {
  %2:s32, %3:s64[3,2,3] = while %9, %1 condition(%4:s32, %5:s64[3,2,3]) {
    %6:u8 = less %4, s32(2)
    give %6
  } body(%7:s32, %8:s64[3,2,3]) {
    %10:s32 = add %7, s32(1)
    %11:s64[2,3,3] = transpose %8 axes=[1,0,2]
    %12:s64[3,2,3] = dot %1, %11 contract_left=[0,1] batch_left=[] contract_right=[1,0] batch_right=[]
    %13:s64[3,2,3] = add %8, %8
    give %10, %13
  }
  give %3
}
`,
	} {
		if name == "loop" { // whose product must be read
			text = strings.Replace(text, "%12:s64[3,2,3]", "%12:s64[3,3]", 1)
			text = strings.Replace(text, "    %13:s64[3,2,3] = add %8, %8\n", "    %14:s64[3,1,3] = reshape %12\n    %13:s64[3,2,3] = add %14, %8\n", 1)
		}
		r := parsed(t, text)
		s := FoldTransposes(r)
		if _, err := s.CheckProgram(); err != nil {
			t.Fatalf("%s: %v in\n%s", name, err, notation.Print(s))
		}
		if out := notation.Print(s); strings.Contains(out, "transpose") || strings.Count(out, "dot") != 1 || notation.Print(r) != text {
			t.Errorf("%s becomes\n%s", name, out)
		}
		same(t, r, s)
	}
}

// TestFoldTransposesRefuses: what something else reads stays, what would change the last axis or the order of the results, and what is
// transposed once for all rounds of a loop.
func TestFoldTransposesRefuses(t *testing.T) {
	for _, text := range []string{
		"(%1:f32[4,2], %2:f32[3,4]) {\n  %3:f32[4,3] = transpose %2 axes=[1,0]\n  %4:f32[2,3] = dot %1, %3 contract_left=[0] batch_left=[] contract_right=[0] batch_right=[]\n  give %4\n}\n",
		"(%1:f32[4], %2:f32[2,3,4]) {\n  %3:f32[3,2,4] = transpose %2 axes=[1,0,2]\n  %4:f32[3,2] = dot %3, %1 contract_left=[2] batch_left=[] contract_right=[0] batch_right=[]\n  give %4\n}\n",
		"(%1:f32[2,4], %2:f32[3,2,4]) {\n  %3:f32[2,3,4] = transpose %2 axes=[1,0,2]\n  %4:f32[2,3] = dot %3, %1 contract_left=[2] batch_left=[0] contract_right=[1] batch_right=[0]\n  give %3, %4\n}\n",
		"(%1:f32, %2:f32[3]) {\n  %3:f32 = transpose %1 axes=[]\n  %4:f32[3] = dot %3, %2 contract_left=[] batch_left=[] contract_right=[] batch_right=[]\n  give %4\n}\n",
		`(%1:f32[3,2,4], %9:s32, %14:f32[2,4]) {
  %2:f32[2,3,4] = transpose %1 axes=[1,0,2]
  %3:s32, %4:f32[2,4] = while %9, %14 condition(%5:s32, %6:f32[2,4]) {
    %7:u8 = less %5, s32(2)
    give %7
  } body(%8:s32, %10:f32[2,4]) {
    %11:s32 = add %8, s32(1)
    %12:f32[2,3] = dot %10, %2 contract_left=[1] batch_left=[0] contract_right=[2] batch_right=[0]
    %13:f32[2,4] = pad %12, f32(0) config=[0,0,0,0,1,0]
    give %11, %13
  }
  give %4
}
`,
	} {
		if r := parsed(t, text); FoldTransposes(r) != r {
			t.Errorf("it becomes\n%s", notation.Print(FoldTransposes(r)))
		}
	}
}
