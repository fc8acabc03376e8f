package exec

import (
	"testing"

	"nxvk/ops"
	"nxvk/ops/shard"
	"nxvk/synth/graph/notation"
)

// crossEntropy is the gradient of a pick of one class in each row, as Nx writes it, and what is made of that.
const crossEntropy = `(%1:s64[8,1], %2:f32[8,100]) {
  %3:f32[8,100] = constant f32(0)
  %4:s32[8,1,1] = iota axis=0
  %5:s64[8,1,1] = reshape %1
  %6:s64[8,1,2] = concatenate %4, %5 axis=2
  %7:s64[8,2] = reshape %6
  %8:f32[8] = constant f32(-0.125)
  %9:f32[8,100] = indexed_add %3, %7, %8 axes=[0,1]
  %10:f32[8,100] = add %9, %2
  give %10
}
`

// TestDividedRows: where rows are divided, so is what is at an index in each of them, and no rank needs the indices of others.
func TestDividedRows(t *testing.T) {
	r, err := notation.Parse(crossEntropy)
	if err != nil {
		t.Fatal(err)
	}
	rows := shard.Sharding{{0}, {}}
	p := newProgram(r, &shard.Share{Shape: []int{2}, Rank: 1, Params: []shard.Sharding{rows, rows}}, nil, nil, nil)
	if p.Err != nil {
		t.Fatal(p.Err)
	}
	for _, in := range p.Share.Region.Body {
		if in.Op.IsCollective() || in.Op == ops.IndexedAdd {
			t.Errorf("the program of a rank has %v in\n%s", in.Op, notation.Print(p.Share.Region))
		}
	}
	if got := p.Share.Values[0]; len(got[0]) != 1 {
		t.Errorf("the sharding of the value is %v, want %v", got, rows)
	}
}
