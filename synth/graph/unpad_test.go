package graph

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth/graph/notation"
)

// TestUnpad: products of a padded value read the value, and give what they gave. Integers show that, as their sums have
// no order. The axes of both operands come in any order, and zeros are before and after the value along any but a batch axis.
func TestUnpad(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 1))
	for range 40 {
		// Axis 0 of the batch, then 1 and 2 free, 3 and 4 contracted, in an order of their own for each operand.
		low, high, size := [5]int{}, [5]int{}, [5]int{2, 1 + rnd.IntN(6), 12, 20, 1 + rnd.IntN(9)}
		for axis := 1; axis < 5; axis++ {
			low[axis], high[axis] = rnd.IntN(3), rnd.IntN(3)
		}
		size[2] = leastPadded/(size[0]*size[1]*size[3]*size[4]) + 1
		side, left, right := rnd.IntN(2), after(rnd.Perm(4)), after(rnd.Perm(3)) // the other operand: batch, free, contracted twice
		var inner, padded, other ops.Shape
		var config []int
		for _, axis := range left {
			inner, padded = append(inner, size[axis]), append(padded, low[axis]+size[axis]+high[axis])
			config = append(config, low[axis], high[axis], 0)
		}
		of := []int{0, -1, 3, 4}
		for _, k := range right {
			if k == 1 {
				other = append(other, 3)
			} else {
				other = append(other, low[of[k]]+size[of[k]]+high[of[k]])
			}
		}
		place := func(perm []int, k int) int {
			for i, p := range perm {
				if p == k {
					return i
				}
			}
			return -1
		}
		var free ops.Shape
		for _, axis := range left {
			if axis == 1 || axis == 2 {
				free = append(free, low[axis]+size[axis]+high[axis])
			}
		}
		names, out := "%3, %2", append(ops.Shape{2}, append(free, 3)...)
		axes := [4][]int{{place(left, 3), place(left, 4)}, {place(left, 0)}, {place(right, 2), place(right, 3)}, {place(right, 0)}}
		if side == 1 {
			names, out = "%2, %3", append(ops.Shape{2, 3}, free...)
			axes = [4][]int{axes[2], axes[3], axes[0], axes[1]}
		}
		list := func(n []int) string { return strings.ReplaceAll(fmt.Sprint(n), " ", ",") }
		text := fmt.Sprintf("(%%1:s64%s, %%2:s64%s) {\n  %%3:s64%s = pad %%1, s64(0) config=%s\n  %%4:s64%s = dot %s contract_left=%s batch_left=%s contract_right=%s batch_right=%s\n  give %%4\n}\n",
			list(inner), list(other), list(padded), list(config), list(out), names, list(axes[0]), list(axes[1]), list(axes[2]), list(axes[3]))
		r := parsed(t, text)
		s := Unpad(r)
		if _, err := s.CheckProgram(); err != nil {
			t.Fatalf("%v in\n%s", err, notation.Print(s))
		}
		if notation.Print(r) != text || strings.Contains(notation.Print(s), "pad %1") {
			t.Fatalf("%sbecomes\n%s", text, notation.Print(s))
		}
		same(t, r, s)
	}
}

// TestUnpadSlice: the gradient of a slice, as Nx writes it, is not put into zeros.
func TestUnpadSlice(t *testing.T) {
	r := parsed(t, `(%1:s64[2,15,5000], %2:s64[5000,4], %3:s64[2,16,4]) {
  %4:s64[2,16,5000] = constant s64(0)
  %5:s64[2,15,5000] = pad %1, s64(0) config=[0,0,0,0,0,0,0,0,0]
  %6:s64[2,16,5000] = put_slice %4, %5, s32(0), s32(1), s32(0) starts=[]
  %7:s64[2,16,4] = dot %6, %2 contract_left=[2] batch_left=[] contract_right=[0] batch_right=[]
  %8:s64[5000,4] = dot %6, %3 contract_left=[0,1] batch_left=[] contract_right=[0,1] batch_right=[]
  give %7, %8
}
`)
	u := Unpad(r)
	if text := notation.Print(u); strings.Contains(text, "put_slice") || !strings.Contains(text, "config=[0,0,0,1,0,0,0,0,0]") {
		t.Errorf("it becomes\n%s", text)
	}
	same(t, r, u)
}

// after is a permutation behind axis 0.
func after(perm []int) []int {
	list := []int{0}
	for _, k := range perm {
		list = append(list, k+1)
	}
	return list
}

// TestUnpadRefuses: a value stays padded that something else reads, with other numbers than zero, along the batch or
// between its elements, and a small one.
func TestUnpadRefuses(t *testing.T) {
	for name, c := range map[string][4]string{
		"another reader": {"300,300", "301,300", "f32(0) config=[0,1,0,0,0,0]", "%3, %4"},
		"another number": {"300,300", "301,300", "f32(1) config=[0,1,0,0,0,0]", "%4"},
		"between":        {"300,300", "599,300", "f32(0) config=[0,0,1,0,0,0]", "%4"},
		"cropped":        {"300,300", "299,300", "f32(0) config=[0,-1,0,0,0,0]", "%4"},
		"small":          {"3,300", "4,300", "f32(0) config=[0,1,0,0,0,0]", "%4"},
	} {
		rows, _, _ := strings.Cut(c[1], ",")
		r := parsed(t, fmt.Sprintf("(%%1:f32[%s], %%2:f32[300,2]) {\n  %%3:f32[%s] = pad %%1, %s\n  %%4:f32[%s,2] = dot %%3, %%2 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]\n  give %s\n}\n",
			c[0], c[1], c[2], rows, c[3]))
		if u := Unpad(r); u != r {
			t.Errorf("%s becomes\n%s", name, notation.Print(u))
		}
	}
	r := parsed(t, `(%1:f32[300,300], %2:f32[301,400]) {
  %3:f32[300,301] = pad %1, f32(0) config=[0,0,0,0,1,0]
  %4:f32[300,400] = dot %3, %2 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
  give %4
}
`)
	if u := Unpad(r); u != r {
		t.Errorf("a value beside a larger one becomes\n%s", notation.Print(u))
	}
	r = parsed(t, `(%1:f32[2,300,300], %2:f32[3,300,2]) {
  %3:f32[3,300,300] = pad %1, f32(0) config=[0,1,0,0,0,0,0,0,0]
  %4:f32[3,300,2] = dot %3, %2 contract_left=[2] batch_left=[0] contract_right=[1] batch_right=[0]
  give %4
}
`)
	if u := Unpad(r); u != r {
		t.Errorf("a padded batch becomes\n%s", notation.Print(u))
	}
}
