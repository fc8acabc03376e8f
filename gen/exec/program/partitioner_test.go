package program

import (
	"errors"
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth/synthtest"
)

// TestPartitionInParts: long straight-line code is partitioned part by part, and may be stopped
// before each. What it computes is complete.
func TestPartitionInParts(t *testing.T) {
	const count = 2*longestPart + 10
	typ := ops.Type{DType: ops.F32, Shape: []int{64, 64}}
	r := &ops.Region{Params: []ops.Result{{ID: 1, Type: typ}}}
	for id := ops.ID(2); id < count+2; id++ {
		// Every result is needed, so that none is left out.
		r.Body = append(r.Body, ops.Instr{Op: ops.Multiply, Ins: []ops.Operand{{ID: id - 1}, {ID: 1}}, Outs: []ops.Result{{ID: id, Type: typ}}})
		r.Values = append(r.Values, ops.Operand{ID: id})
	}
	p := New(r, nil, nil, nil)
	if p.Err != nil {
		t.Fatal(p.Err)
	}
	partition := func(parts int) (body *Block, made int, err error) {
		c := NewPartitioner(synthtest.GPU, nil, p, nil)
		stop := errors.New("stop")
		c.yield = func() error {
			if parts--; parts < 0 {
				return stop
			}
			return nil
		}
		if body, err = c.Partition(p.Body); err != nil && !errors.Is(err, stop) {
			t.Fatal(err)
		}
		for _, f := range c.fusions {
			made += len(f.Body)
		}
		return body, made, err
	}
	for parts, want := range []int{0, longestPart, 2 * longestPart} {
		if _, made, err := partition(parts); err == nil || made != want {
			t.Errorf("stopped before part %d: %d instructions are in fusions (%v), want %d", parts, made, err, want)
		}
	}
	body, made, err := partition(3)
	if err != nil || made != count {
		t.Fatalf("%d instructions are in fusions (%v), want %d", made, err, count)
	}
	var outs []ops.ID
	for i := range body.Steps {
		for _, o := range body.Steps[i].In.Outs {
			outs = append(outs, o.ID)
		}
	}
	for _, v := range body.Values {
		if !slices.Contains(outs, v.ID) {
			t.Fatalf("no step makes the value %d", v.ID)
		}
	}
}
