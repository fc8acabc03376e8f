package program

import (
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/synth"
	passes "nxvk/synth/graph"
)

// onHost computes a scalar of literals, as the executor does.
func onHost(in *ops.Instr) ([]byte, error) {
	var args []fallback.Value
	for _, o := range in.Ins {
		args = append(args, fallback.Value{Type: o.Lit.Type, Data: o.Lit.Data})
	}
	out := fallback.Value{Type: in.Outs[0].Type, Data: make([]byte, in.Outs[0].Type.Bytes())}
	return out.Data, fallback.Run(in, args, []fallback.Value{out})
}

// All numbers come out of one kernel, which computes every word of random bits once.
func TestUniformIsOneKernel(t *testing.T) {
	r := passes.Sink(passes.Unroll(Uniform(1<<20), onHost))
	if _, err := r.CheckProgram(); err != nil {
		t.Fatal(err)
	}
	target := &synth.Target{Addresses: true, Int64: true, Int16: true, Int8: true, Storage16: true, Storage8: true,
		SharedMemory: 48 << 10, MaxInvocations: 1024, SubgroupSize: 32, MaxPush: 256}
	g := &synth.Graph{Params: r.Params, Body: r.Body}
	for _, v := range r.Values {
		g.Keep = append(g.Keep, v.ID)
	}
	types := map[ops.ID]ops.Type{}
	for _, p := range r.Params {
		types[p.ID] = p.Type
	}
	for i := range r.Body {
		for _, o := range r.Body[i].Outs {
			types[o.ID] = o.Type
		}
	}
	large, all := 0, 0
	for _, u := range synth.Fuse(synth.Simplify(g, target, onHost), target) {
		p, err := synth.LowerFusion(&u, func(id ops.ID) ops.Type { return types[id] }, target)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Steps {
			if all++; p.Steps[i].Bytes > 1<<20 {
				large++
			}
		}
	}
	if large != 1 || all > 5 {
		t.Errorf("%d dispatches, of which %d write many numbers; want at most 5 and 1", all, large)
	}
}
