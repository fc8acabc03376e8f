package graph

import (
	"encoding/binary"
	"math"
	"testing"

	"nxvk/ops"
	"nxvk/synth/graph/notation"
)

// TestFold computes numbers of numbers, in the body of a loop, too, and nothing that depends on a parameter. A tensor of
// one number becomes that number where another operand has the shape of the result.
func TestFold(t *testing.T) {
	r := parsed(t, `(%1:f32[4]) {
  %2:f32 = sqrt s32(64)
  %3:f32 = divide s32(1), %2
  %4:f32[4] = multiply %1, %3
  %5:f32[4] = while %4 condition(%6:f32[4]) {
    %7:u8 = less s32(2), s32(1)
    give %7
  } body(%8:f32[4]) {
    %9:f32 = add %3, s32(1)
    %10:f32[4] = add %8, %9
    give %10
  }
  %11:u8[1,1] = constant u8(1)
  %12:u8[4,4] = iota axis=0
  %13:u8[4,4] = logical_and %12, %11
  %14:u8[4,1] = iota axis=0
  %15:u8[1,1] = logical_and %11, %11
  give %5, %13, %14, %15
}`)
	calls := 0
	folded := Fold(r, func(in *ops.Instr) ([]byte, error) {
		calls++
		if in.Outs[0].Type.DType == ops.U8 {
			return []byte{0}, nil
		}
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(calls))), nil
	})
	var seen []ops.Op
	var walk func(r *ops.Region)
	walk = func(r *ops.Region) {
		for i := range r.Body {
			seen = append(seen, r.Body[i].Op)
			for _, inner := range r.Body[i].Regions {
				walk(inner)
			}
		}
	}
	walk(folded)
	if lit := folded.Body[2].Ins[1].Lit; lit == nil || folded.Body[2].Ins[0].Lit != nil {
		t.Errorf("the product takes no number, the code is\n%s", notation.Print(folded))
	}
	want := []ops.Op{ops.Constant, ops.Constant, ops.Multiply, ops.While, ops.Constant, ops.Constant, ops.Add, ops.Constant, ops.Iota, ops.LogicalAnd, ops.Iota, ops.LogicalAnd}
	if calls != 4 || len(seen) != len(want) {
		t.Fatalf("%d numbers are computed, the code is\n%s", calls, notation.Print(folded))
	}
	for i := range want {
		if seen[i] != want[i] {
			t.Errorf("instruction %d is %v, want %v", i, seen[i], want[i])
		}
	}
	if n := len(folded.Body); folded.Body[n-3].Ins[1].Lit == nil || folded.Body[n-1].Ins[0].Lit != nil {
		t.Errorf("a tensor of one number is not that number in\n%s", notation.Print(folded))
	}
	if r.Body[0].Op != ops.Sqrt || Fold(folded, func(in *ops.Instr) ([]byte, error) { return in.Ins[0].Lit.Data, nil }) != folded {
		t.Error("a region is changed that has been given, or folded twice")
	}
}
