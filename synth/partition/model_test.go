package partition_test

import (
	"maps"
	"slices"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/fusion"
	"nxvk/synth/graph"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
	"nxvk/test/draw/model"
	"nxvk/test/fewtest"
)

// straight are the parts of a region between loops, each with the values that the region needs after it.
func straight(t testing.TB, r *ops.Region, types map[ops.ID]ops.Type, visit func(g *synthtest.Sketch)) {
	note := func(list []ops.Result) {
		for _, o := range list {
			types[o.ID] = o.Type
		}
	}
	note(r.Params)
	for i := range r.Body {
		note(r.Body[i].Outs)
	}
	for lo := 0; lo < len(r.Body); lo++ {
		for _, inner := range r.Body[lo].Regions {
			straight(t, inner, types, visit)
		}
		hi := lo
		for hi < len(r.Body) && r.Body[hi].Op != ops.While {
			hi++
		}
		if hi > lo {
			visit(part(t, r, lo, hi, types))
			lo = hi - 1
		}
	}
}

// part is a part of a region as a graph.
func part(t testing.TB, r *ops.Region, lo, hi int, types map[ops.ID]ops.Type) *synthtest.Sketch {
	g := synthtest.NewSketch(t)
	g.Types, g.Host = types, onHost(t, types)
	g.Body = r.Body[lo:hi]
	made := make(map[ops.ID]bool)
	for i := range g.Body {
		for _, o := range g.Body[i].Ins {
			if o.Lit == nil && !made[o.ID] {
				g.Params, made[o.ID] = append(g.Params, ops.Result{ID: o.ID, Type: types[o.ID]}), true
			}
		}
		for _, o := range g.Body[i].Outs {
			made[o.ID] = true
		}
	}
	for i := hi; i < len(r.Body); i++ {
		for _, o := range append(capturedBy(&r.Body[i]), r.Body[i].Ins...) {
			if o.Lit == nil && made[o.ID] {
				g.Keep = append(g.Keep, o.ID)
			}
		}
	}
	for _, o := range r.Values {
		if o.Lit == nil && made[o.ID] {
			g.Keep = append(g.Keep, o.ID)
		}
	}
	return g
}

// capturedBy are the operands of the instructions inside of one.
func capturedBy(in *ops.Instr) (list []ops.Operand) {
	for _, r := range in.Regions {
		list = append(list, r.Values...)
		for i := range r.Body {
			list = append(append(list, r.Body[i].Ins...), capturedBy(&r.Body[i])...)
		}
	}
	return list
}

// onHost computes an instruction with package fallback.
func onHost(t testing.TB, types map[ops.ID]ops.Type) func(in *ops.Instr, args [][]byte) [][]byte {
	return func(in *ops.Instr, data [][]byte) [][]byte {
		args, outs := make([]fallback.Value, len(data)), make([]fallback.Value, len(in.Outs))
		for i, o := range in.Ins {
			typ := types[o.ID]
			if o.Lit != nil {
				typ = o.Lit.Type
			}
			args[i] = fallback.Value{Type: typ, Data: data[i]}
		}
		list := make([][]byte, len(outs))
		for i, o := range in.Outs {
			list[i] = make([]byte, o.Type.Bytes())
			outs[i] = fallback.Value{Type: o.Type, Data: list[i]}
		}
		if err := fallback.Run(in, args, outs); err != nil {
			t.Fatal(err)
		}
		return list
	}
}

// prepared is a region as a device gets it, before it is cut into fusions.
func prepared(r *ops.Region, t *lowering.Target) *ops.Region {
	r = graph.Sink(graph.Unroll(r, nil))
	return synth.FindAttention(synth.Rewrite(synth.FindGradients(r, nil, t), t), nil, t)
}

// checkModel partitions a model and verifies what it has become: each fusion has kernels. If it is to run, the fusions give the bits of the instructions one by one.
func checkModel(t *testing.T, target *lowering.Target, seed uint64, size model.Size, layers int, run bool) (instrs int) {
	m := model.Draw(seed, size, layers)
	data := m.Data()
	types := make(map[ops.ID]ops.Type)
	straight(t, prepared(m.Program(), target), types, func(g *synthtest.Sketch) {
		instrs += len(g.Body)
		simple := synth.Simplify(&g.Graph, target, nil)
		for _, body := range []*fusion.Graph{&g.Graph, simple} {
			fusions := synth.Fuse(body, target)
			if err := synth.Verify(&g.Graph, fusions); err != nil {
				t.Fatalf("seed %d, %s: %v", seed, m.Title, err)
			}
			if body != simple {
				continue
			}
			for i := range fusions {
				if _, err := synth.LowerFusion(&fusions[i], func(id ops.ID) ops.Type { return types[id] }, target); err != nil {
					t.Fatalf("seed %d, %s: %v in\n%v", seed, m.Title, err, &fusions[i])
				}
			}
			if !run {
				continue
			}
			g.CheckOn(target, fusions, func() synthtest.Values {
				vs := g.Inputs(seed) // of a part behind or in a loop
				for i, p := range m.Params {
					if vs[p.ID] != nil {
						vs[p.ID] = append(append([]byte(nil), data[i]...), 0, 0, 0)
					}
				}
				return vs
			})
		}
		if t.Failed() {
			t.Fatalf("seed %d, %s", seed, m.Title)
		}
	})
	return instrs
}

// found are small models that were cut wrongly once.
var found = map[uint64]string{
	10002: "operands that are read in several ways take more addresses than push constants hold",
	10003: "an update is in the kernel that makes its tensor",
}

// TestModels: the fusions of whole models are verified, and those of small ones give the bits of the instructions one by one.
func TestModels(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		all := 0
		for seed := range uint64(fewtest.Of(60, 6)) {
			all += checkModel(t, target, seed, model.Size(seed%3), 12, false)
		}
		for seed := range found {
			all += checkModel(t, target, seed, model.Small, 3, true)
		}
		for seed := range uint64(fewtest.Of(12, 2)) {
			all += checkModel(t, target, 1000+seed, model.Small, 3, true)
		}
		t.Logf("%d instructions", all)
	})
}

// TestModelsWithout: models are cut right without each of the rules.
func TestModelsWithout(t *testing.T) {
	for i, name := range slices.Sorted(maps.Keys(lowering.RulesByName)) {
		if !fewtest.OneIn(6, i) {
			continue
		}
		for which, target := range synthtest.Targets {
			t.Run(name+" "+which, func(t *testing.T) {
				off, seed := synthtest.Without(target, lowering.RulesByName[name]), uint64(5000+10*i)
				checkModel(t, off, seed, model.Large, 6, false)
				checkModel(t, off, seed+1, model.Small, 2, true)
			})
		}
	}
}
