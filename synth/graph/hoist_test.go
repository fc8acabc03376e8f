package graph

import (
	"fmt"
	"strings"
	"testing"

	"nxvk/synth/graph/notation"
)

// cell is a loop as an LSTM has it: rounds multiply one place of a sequence, and the state, by two matrices each.
func cell(start, end, step int) string {
	return fmt.Sprintf(`(%%1:s64[3,9,4], %%2:s64[4,5], %%3:s64[4,5], %%4:s64[5,5], %%5:s64[5,5], %%6:s64[3,5]) {
  %%10:s32, %%11:s64[3,5], %%12:s64[3,9,4], %%13:s64[4,5], %%14:s64[5,5] = while s32(%d), %%6, %%1, %%2, %%4 condition(%%20:s32, %%21:s64[3,5], %%22:s64[3,9,4], %%23:s64[4,5], %%24:s64[5,5]) {
    %%25:u8 = less %%20, s32(%d)
    give %%25
  } body(%%30:s32, %%31:s64[3,5], %%32:s64[3,9,4], %%33:s64[4,5], %%34:s64[5,5]) {
    %%40:s32 = add %%30, s32(%d)
    %%41:s64[3,1,4] = slice %%32, s32(0), %%30, s32(0) starts=[] lengths=[3,1,4] strides=[1,1,1]
    %%42:s64[3,4] = reshape %%41
    %%43:s64[3,5] = dot %%42, %%33 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
    %%44:s64[3,5] = dot %%31, %%34 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
    %%45:s64[3,5] = dot %%42, %%3 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
    %%46:s64[3,5] = dot %%31, %%5 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
    %%47:s64[3,5] = add %%43, %%44
    %%48:s64[3,5] = add %%45, %%46
    %%49:s64[3,5] = multiply %%47, %%48
    give %%40, %%49, %%32, %%33, %%34
  }
  give %%11
}
`, start, end, step)
}

// bodyOf is the text of the body of the one loop of a region.
func bodyOf(text string) string { return text[strings.Index(text, "} body("):] }

// TestHoist: the rows of a sequence are multiplied before the loop, and the state once by all matrices.
func TestHoist(t *testing.T) {
	r := parsed(t, cell(0, 9, 1))
	h := Hoist(r)
	if _, err := h.CheckProgram(); err != nil {
		t.Fatalf("%v in\n%s", err, notation.Print(h))
	}
	out := notation.Print(h)
	if body := bodyOf(out); strings.Count(body, "dot") != 1 || strings.Count(out, "dot") != 3 || strings.Count(out, "concatenate") != 1 {
		t.Errorf("it becomes\n%s", out)
	}
	same(t, r, h)
}

// TestHoistOrders: sequences whose places lie along any axis, matrices of either orientation, bounds of either kind.
func TestHoistOrders(t *testing.T) {
	text := cell(0, 9, 1)
	for name, replaced := range map[string][]string{
		"first axis": {"s64[3,9,4]", "s64[9,3,4]", "s64[3,1,4]", "s64[1,3,4]", "s32(0), %30, s32(0)", "%30, s32(0), s32(0)", "lengths=[3,1,4]", "lengths=[1,3,4]"},
		"transposed": {"s64[4,5]", "s64[5,4]", "%33 contract_left=[1] batch_left=[] contract_right=[0]", "%33 contract_left=[1] batch_left=[] contract_right=[1]",
			"%3 contract_left=[1] batch_left=[] contract_right=[0]", "%3 contract_left=[1] batch_left=[] contract_right=[1]",
			"%34 contract_left=[1] batch_left=[] contract_right=[0]", "%34 contract_left=[1] batch_left=[] contract_right=[1]",
			"%5 contract_left=[1] batch_left=[] contract_right=[0]", "%5 contract_left=[1] batch_left=[] contract_right=[1]"},
		"up to": {"less %20, s32(9)", "less_equal %20, s32(8)"},
	} {
		r := parsed(t, strings.NewReplacer(replaced...).Replace(text))
		h := Hoist(r)
		if _, err := h.CheckProgram(); err != nil {
			t.Fatalf("%s: %v in\n%s", name, err, notation.Print(h))
		}
		if body := bodyOf(notation.Print(h)); strings.Count(body, "dot") != 1 {
			t.Errorf("%s becomes\n%s", name, notation.Print(h))
		}
		same(t, r, h)
	}
}

// TestHoistRefuses: rounds that do not take all places in turn, or that change a matrix, keep their products.
func TestHoistRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		dots int // of the body
	}{
		"few rounds":      {cell(0, 7, 1), 4},
		"later start":     {cell(1, 9, 1), 4},
		"steps":           {cell(0, 9, 2), 4},
		"more rounds":     {cell(0, 11, 1), 2}, // past the end, the slice is the last place
		"matrix changes":  {strings.Replace(cell(0, 9, 1), "give %40, %49, %32, %33, %34", "%50:s64[5,5] = add %34, %34\n    give %40, %49, %32, %33, %50", 1), 2},
		"sequence turns":  {strings.Replace(cell(0, 9, 1), "give %40, %49, %32,", "%50:s64[3,9,4] = add %32, %32\n    give %40, %49, %50,", 1), 2},
		"another counter": {strings.Replace(cell(0, 9, 1), "s32(0), %30, s32(0)", "s32(0), %40, s32(0)", 1), 2},
	} {
		r := parsed(t, c.text)
		h := Hoist(r)
		if _, err := h.CheckProgram(); err != nil {
			t.Fatalf("%s: %v in\n%s", name, err, notation.Print(h))
		}
		if n := strings.Count(bodyOf(notation.Print(h)), "dot"); n != c.dots {
			t.Errorf("%s: %d products in\n%s", name, n, notation.Print(h))
		}
		same(t, r, h)
	}
}
