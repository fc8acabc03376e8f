package fusion_test

import (
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/fusion"
	"nxvk/synth/synthtest"
)

// TestVerify: a partition is right, and each of its faults has a sentence that names the operation.
func TestVerify(t *testing.T) {
	draw := func() (*synthtest.Sketch, []fusion.Fusion) {
		g := synthtest.NewSketch(t)
		x := g.Param(ops.F32, 64, 100)
		e := g.Do(ops.Exp, ops.F32, g.Do(ops.Subtract, ops.F32, x, g.Num(ops.F32, 2)))
		r := g.Do(ops.Reverse, ops.F32, g.Do(ops.CumulativeSum, ops.F32, e, synthtest.Attrs{{1}, {0}}), synthtest.Attrs{{0}})
		g.Return(g.Do(ops.Tanh, ops.F32, g.Do(ops.Add, ops.F32, r, g.Num(ops.F32, 3))), e)
		return g, synth.Fuse(&g.Graph, synthtest.GPU)
	}
	stages := func() (*synthtest.Sketch, []fusion.Fusion) {
		g, list := draw()
		whole := list[len(list)-1]
		u := fusion.Fusion{Stages: []fusion.Fusion{whole}, Outs: whole.Outs}
		u.GatherStages()
		list[len(list)-1] = u
		return g, list
	}
	last := func(list []fusion.Fusion) *fusion.Fusion { return &list[len(list)-1] }
	for _, c := range []struct {
		want  string
		draw  func() (*synthtest.Sketch, []fusion.Fusion)
		spoil func(list []fusion.Fusion) []fusion.Fusion
	}{
		{"", draw, func(list []fusion.Fusion) []fusion.Fusion { return list }},
		{"", stages, func(list []fusion.Fusion) []fusion.Fusion { return list }},
		{"fusion 1 of 2: it reads %3, which is not made before: %4:f32[64,100] = cumulative_sum %3", draw,
			func(list []fusion.Fusion) []fusion.Fusion { return list[1:] }},
		{"no fusion gives %7, which is needed: %7:f32[64,100] = tanh %6", draw,
			func(list []fusion.Fusion) []fusion.Fusion { return list[:2] }},
		{"gives %3, which is there: %3:f32[64,100] = exp", draw,
			func(list []fusion.Fusion) []fusion.Fusion { return append(list, list[0]) }},
		{"no instruction makes its result %99", draw, func(list []fusion.Fusion) []fusion.Fusion {
			last(list).Outs = append(last(list).Outs, ops.Result{ID: 99})
			return list
		}},
		{"%5 is not an operand and not made before: %6:f32[64,100] = add %5", draw, func(list []fusion.Fusion) []fusion.Fusion {
			last(list).Body = last(list).Body[1:]
			return list
		}},
		{"a literal is not an operand: %6:f32[64,100] = add", draw, func(list []fusion.Fusion) []fusion.Fusion {
			last(list).Lits = nil
			return list
		}},
		{"a result has no id: %0:f32[64,100] = exp", draw, func(list []fusion.Fusion) []fusion.Fusion {
			list[0].Body[1].Outs = []ops.Result{{Type: list[0].Body[1].Outs[0].Type}}
			return list
		}},
		{"the concatenation %3 is no result", draw, func(list []fusion.Fusion) []fusion.Fusion {
			last(list).Whole = []ops.ID{3}
			return list
		}},
		{"as a stage, fusion 1 of 1: %5 is not an operand", stages, func(list []fusion.Fusion) []fusion.Fusion {
			last(list).Stages[0].Body = last(list).Stages[0].Body[1:]
			return list
		}},
		{"abreast of others, fusion 1 of 1: it reads %4", stages, func(list []fusion.Fusion) []fusion.Fusion {
			u := last(list)
			u.Abreast, u.Stages, u.Ins, u.Body = u.Stages, nil, nil, nil
			u.Outs = nil
			return list
		}},
		{"no part gives its result %7", stages, func(list []fusion.Fusion) []fusion.Fusion {
			last(list).Stages[0].Outs = last(list).Stages[0].Body[1].Outs
			return list
		}},
	} {
		g, list := c.draw()
		err := fusion.Verify(&g.Graph, c.spoil(list))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("got %v, want %q, of\n%s", err, c.want, synthtest.Show(list))
		}
	}
}
