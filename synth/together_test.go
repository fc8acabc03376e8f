package synth_test

import (
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/attention"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// Long products begin together where short kernels follow, and nothing else waits for more than it reads.
func TestTogether(t *testing.T) {
	matrices := *synthtest.GPU
	matrices.MaxPush = 256
	matrices.Matrices = []synth.Matrix{{Type: ops.F16, M: 16, N: 16, K: 16}}
	dot := func(d ops.DType, m, n, k int) (*ops.Instr, []ops.Type) {
		return synthtest.Instr(ops.Dot, synthtest.Type(d, m, n), []int{1}, []int{}, []int{0}, []int{}), []ops.Type{synthtest.Type(d, m, k), synthtest.Type(d, k, n)}
	}
	conv := func(b, channels, side, filters int) (*ops.Instr, []ops.Type) {
		out := synthtest.Type(ops.F32, b, filters, (side+1)/2, (side+1)/2)
		first := []int{0, 1, 2, 3}
		return synthtest.Instr(ops.Conv, out, []int{2, 2}, []int{1, 1, 1, 1}, []int{1, 1}, []int{1, 1}, []int{1}, []int{1}, first, first, first),
			[]ops.Type{synthtest.Type(ops.F32, b, channels, side, side), synthtest.Type(ops.F32, filters, channels, 3, 3)}
	}
	heads := func(n, length int) (*ops.Instr, []ops.Type) {
		x := attention.NewExample(ops.F16, n, length, 64, "no mask")
		return x.Instr, x.Types
	}
	for _, c := range []struct {
		name string
		want int // the step with a barrier, or -1
		plan func() (*ops.Instr, []ops.Type)
	}{
		{"a product that is not shared", -1, func() (*ops.Instr, []ops.Type) { return dot(ops.F32, 317, 1039, 64) }},
		{"shares", 0, func() (*ops.Instr, []ops.Type) { return dot(ops.F32, 317, 1039, 1868) }},
		{"shares of few rows", 0, func() (*ops.Instr, []ops.Type) { return dot(ops.F32, 64, 1024, 1536) }},
		{"short shares", -1, func() (*ops.Instr, []ops.Type) { return dot(ops.F32, 45, 230, 512) }},
		{"shares on matrix hardware", 0, func() (*ops.Instr, []ops.Type) { return dot(ops.F16, 512, 512, 16384) }},
		{"short shares on matrix hardware", -1, func() (*ops.Instr, []ops.Type) { return dot(ops.F16, 45, 230, 4096) }},
		{"sums that are copied to the result", 0, func() (*ops.Instr, []ops.Type) { return conv(32, 64, 16, 128) }},
		{"few of them", -1, func() (*ops.Instr, []ops.Type) { return conv(1, 64, 16, 64) }},
		{"parts of an attention", 0, func() (*ops.Instr, []ops.Type) { return heads(2, 2048) }},
		{"an attention in one kernel", -1, func() (*ops.Instr, []ops.Type) { return heads(64, 1024) }},
	} {
		in, types := c.plan()
		if in.Ins == nil {
			in.Ins = []ops.Operand{{ID: 1}, {ID: 2}}
		}
		p, err := synth.Lower(in, types, &matrices)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if c.want >= 0 && len(p.Steps) == 1 {
			t.Errorf("%s: it is one kernel", c.name)
		}
		for i, s := range p.Steps {
			if s.Barrier != (i == c.want) {
				t.Errorf("%s: a barrier of step %d of %d is %v", c.name, i, len(p.Steps), s.Barrier)
			}
		}
		p, err = synth.Lower(in, types, synthtest.CPU)
		if err == nil && hasBarrier(p) {
			t.Errorf("%s: a processor waits", c.name)
		}
	}
}

func hasBarrier(p *lowering.Plan) bool {
	for _, s := range p.Steps {
		if s.Barrier {
			return true
		}
	}
	return false
}
