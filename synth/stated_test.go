package synth_test

import (
	"bytes"
	"slices"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/graph/notation"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// stating is a program of one attention, which has a program as its region.
func stating(r *ops.Region) *ops.Region {
	types, _ := r.CheckProgram()
	in := ops.Instr{Op: ops.Attention, Attrs: [][]int{nil}, Regions: []*ops.Region{r}, Outs: []ops.Result{{ID: 1000, Type: types[0]}}}
	for _, p := range r.Params {
		in.Ins = append(in.Ins, ops.Operand{ID: p.ID})
	}
	return &ops.Region{Params: r.Params, Body: []ops.Instr{in}, Values: []ops.Operand{{ID: 1000}}}
}

func attends(in ops.Instr) bool { return in.Op == ops.Attention }

// TestStatedAttention: attention that a program states is one instruction on a GPU, also where the scores are cheaper
// to store. Elsewhere, and where the kernel is switched off, it is its instructions, which give the same bits on the host.
func TestStatedAttention(t *testing.T) {
	off := *synthtest.GPU
	off.Off |= lowering.RuleAttention
	patterns := 0
	for seed := range uint64(40) {
		g := synthtest.DrawAttention(t, seed, 60, 1<<12, ops.F32)
		r := stating(g.Region())
		if _, err := r.CheckProgram(); err != nil {
			t.Fatal(err)
		}
		on := synth.StateAttention(r, evaluate, synthtest.GPU)
		if _, err := on.CheckProgram(); err != nil || !slices.ContainsFunc(on.Body, attends) {
			t.Errorf("seed %d: %v, no attention in\n%s", seed, err, notation.Print(on))
		}
		if slices.ContainsFunc(synth.FindAttention(g.Region(), evaluate, synthtest.GPU).Body, attends) {
			patterns++
		}
		args := make([]fallback.Value, 0, len(r.Params))
		for _, x := range g.Data() {
			args = append(args, fallback.Value{Type: x.Typ, Data: x.Bytes()})
		}
		want, err := fallback.NewEvaluator(r).Eval(args...)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range []*synth.Target{&off, synthtest.CPU, nil} {
			apart := synth.StateAttention(r, evaluate, target)
			got, err := fallback.NewEvaluator(apart).Eval(args...)
			if err != nil || slices.ContainsFunc(apart.Body, attends) || !bytes.Equal(got[0].Data, want[0].Data) {
				t.Errorf("seed %d: %v, other bits of\n%s", seed, err, notation.Print(apart))
			}
		}
	}
	if patterns == 40 {
		t.Error("every attention is found where nothing states it: the test draws nothing that is cheaper apart")
	}
}
