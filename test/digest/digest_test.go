package main

import (
	"slices"
	"sync"
	"testing"

	"nxvk/ops"
	"nxvk/ops/example"
	"nxvk/synth"
)

func lines(t *testing.T, seed uint64, count int) (list []string) {
	t.Helper()
	columns, end, err := columnsFor(false, false)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	var one sync.Mutex
	for _, p := range programs(seed, count) {
		list = append(list, line(p, columns, &one))
	}
	return list
}

// The same seed gives the same lines, and another one other operands.
func TestDeterministic(t *testing.T) {
	const count = 80
	first := lines(t, 1, count)
	if again := lines(t, 1, count); !slices.Equal(first, again) {
		t.Error("the second run of a seed differs from the first")
	}
	if other := lines(t, 2, count); slices.Equal(first, other) {
		t.Error("the lines do not depend on the seed")
	}
}

// The programs have every operation of the table that computes, and every kind.
func TestPrograms(t *testing.T) {
	have := make(map[ops.Op]int)
	var count func(r *ops.Region)
	count = func(r *ops.Region) {
		for i := range r.Body {
			have[r.Body[i].Op]++
			for _, inner := range r.Body[i].Regions {
				count(inner)
			}
		}
	}
	leapfrogs := 0
	for _, p := range programs(1, 1000) {
		count(p.region)
		if p.leapfrog {
			leapfrogs++
		}
	}
	for op := range ops.Count {
		if _, _, ok := example.Of(op, ops.F32); ok && have[op] == 0 {
			t.Errorf("no program has %v", op)
		}
	}
	if have[ops.While] == 0 || have[ops.Branch] == 0 || leapfrogs == 0 {
		t.Errorf("%d loops, %d branches, %d densities", have[ops.While], have[ops.Branch], leapfrogs)
	}
}

// Whatever a device sees of a plan makes a difference.
func TestPlanText(t *testing.T) {
	text := func(change func(p *synth.Plan)) string {
		k := &synth.Kernel{Code: []uint32{1, 2, 3}, Buffers: 1, Local: [3]uint32{64, 1, 1}}
		p := &synth.Plan{Alias: -1, Temps: []int64{4}, Steps: []synth.Step{{Kernel: k, Push: []byte{1},
			Args: []synth.Arg{{Access: synth.Read}}, Lits: []synth.Lit{{As: ops.F32}}, Grid: [3]uint32{1, 1, 1}}}}
		change(p)
		h := newHash()
		writePlan(h, p, nil)
		return sum(h)
	}
	same := text(func(*synth.Plan) {})
	for name, change := range map[string]func(p *synth.Plan){
		"code":     func(p *synth.Plan) { p.Steps[0].Kernel.Code[2]++ },
		"grid":     func(p *synth.Plan) { p.Steps[0].Grid[2]++ },
		"push":     func(p *synth.Plan) { p.Steps[0].Push[0]++ },
		"buffer":   func(p *synth.Plan) { p.Steps[0].Args[0].Ref.Kind++ },
		"literal":  func(p *synth.Plan) { p.Steps[0].Lits[0].As = ops.F64 },
		"local":    func(p *synth.Plan) { p.Steps[0].Kernel.Local[0]++ },
		"temps":    func(p *synth.Plan) { p.Temps[0]++ },
		"singular": func(p *synth.Plan) { p.Checks = []synth.Check{{Singular: true}} },
		"checks":   func(p *synth.Plan) { p.Checks = append(p.Checks, synth.Check{}) },
		"alias":    func(p *synth.Plan) { p.Alias++ },
	} {
		if text(change) == same {
			t.Errorf("a plan with another %s has the same digest", name)
		}
	}
}
