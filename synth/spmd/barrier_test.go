package spmd

import (
	"testing"

	"nxvk/ops"
	"nxvk/ops/shard"
	"nxvk/synth/graph/notation"
)

// TestBarrier: each result of a barrier is divided as its operand is, and nothing is exchanged for that.
func TestBarrier(t *testing.T) {
	r, err := notation.Parse(`(%1:f32[8,4], %2:f32[6]) {
  %3:f32[8,4], %4:f32[6] = optimization_barrier %1, %2
  %5:f32[8,4] = sin %3
  give %5, %4
}
`)
	if err != nil {
		t.Fatal(err)
	}
	divided := shard.Sharding{{0}, {}}
	got, err := Partition(r, &shard.Share{Shape: []int{2}, Rank: 1, Params: []shard.Sharding{divided, {{}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := got.Region.CheckProgram(); err != nil {
		t.Fatal(err)
	}
	if len(got.Notes) > 0 {
		t.Errorf("the barrier takes %v", got.Notes)
	}
	b := got.Region.Body[0]
	if b.Op != ops.OptimizationBarrier || !b.Outs[0].Type.Shape.Equal(ops.Shape{4, 4}) || !b.Outs[1].Type.Shape.Equal(ops.Shape{6}) {
		t.Errorf("got %v", notation.Line(&b))
	}
}
