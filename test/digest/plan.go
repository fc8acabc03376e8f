package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash"

	"nxvk/ops"
	"nxvk/synth"
)

// targets are a large GPU, a processor (llvmpipe), and a small GPU that computes in 32
// bits only, takes bindings only and rounds as it likes.
var targets = []struct {
	name   string
	target synth.Target
}{
	{"gpu", synth.Target{Addresses: true, Addressable: true, Float64: true, Int64: true, Int16: true, Int8: true,
		Float16: true, Storage16: true, Storage8: true, Preserve32: true, Preserve64: true, RoundEven32: true,
		RoundEven64: true, Denorm32: true, Denorm64: true, PreciseDiv: true, Subnormals: true, Exp2: true,
		SharedMemory: 48 << 10, MaxInvocations: 1024, SubgroupSize: 32, SubgroupOps: true, MaxPush: 256,
		MaxGroups: [3]uint32{1<<31 - 1, 1<<16 - 1, 1<<16 - 1}, MaxBinding: 1<<32 - 1}},
	{"software", synth.Target{CPU: true, Addressable: true, Float64: true, Int64: true, Int16: true, Int8: true,
		Float16: true, Storage16: true, Storage8: true, Preserve32: true, Preserve64: true, RoundEven32: true,
		RoundEven64: true, PreciseDiv: true, Subnormals: true, Rounds: 1, SharedMemory: 32 << 10,
		MaxInvocations: 1024, SubgroupSize: 8, SubgroupOps: true, MaxPush: 128,
		MaxGroups: [3]uint32{1<<16 - 1, 1<<16 - 1, 1<<16 - 1}, MaxBinding: 1 << 27}},
	{"small", synth.Target{Storage16: true, Storage8: true, SharedMemory: 16 << 10, MaxInvocations: 256, SubgroupSize: 16,
		MaxPush: 128, MaxBinding: 1 << 27}},
}

// planned hashes the plans of a program: of each instruction alone, and of the fusions
// that its straight parts are cut into.
func planned(p *program, t *synth.Target) string {
	h := newHash()
	if p.leapfrog {
		planDensity(h, p, t)
		return sum(h)
	}
	for _, g := range straight(p.region) {
		types := typesOf(g)
		for i := range g.Body {
			in := &g.Body[i]
			operands := make([]ops.Type, len(in.Ins))
			for k, o := range in.Ins {
				operands[k] = types[o.ID]
				if o.Lit != nil {
					operands[k] = o.Lit.Type
				}
			}
			plan, err := synth.Lower(in, operands, t)
			writePlan(h, plan, err)
		}
		if len(g.Body) < 2 {
			continue
		}
		s := synth.Simplify(g, t, nil)
		types = typesOf(s)
		for _, u := range synth.Fuse(s, t) {
			fmt.Fprintln(h, "unit of", len(u.Body), u.Ins, len(u.Lits), u.Outs)
			plan, err := synth.LowerFusion(&u, func(id ops.ID) ops.Type { return types[id] }, t)
			writePlan(h, plan, err)
		}
	}
	return sum(h)
}

// planDensity hashes leapfrog kernels of few and of many instances.
func planDensity(h hash.Hash, p *program, t *synth.Target) {
	var data []ops.Type
	for _, x := range p.region.Params[1:] {
		data = append(data, x.Type)
	}
	d := synth.NewDensity(p.region, data, []byte(p.name))
	for _, l := range []synth.Leapfrog{{Instances: 3, Rows: 5}, {Instances: 200, Rows: 2, Fresh: true}} {
		plan, err := synth.LowerLeapfrog(d, l, t)
		writePlan(h, plan, err)
	}
}

// straight are the parts of a region, and of those in it, that have no loops and no
// branches, each as a graph that keeps what is used after it.
func straight(r *ops.Region) (graphs []*synth.Graph) {
	types := make(map[ops.ID]ops.Type)
	var walk func(r *ops.Region)
	walk = func(r *ops.Region) {
		for _, x := range r.Params {
			types[x.ID] = x.Type
		}
		for lo := 0; lo < len(r.Body); {
			hi := lo
			for hi < len(r.Body) && r.Body[hi].Op.Info().Kind != ops.Control {
				for _, o := range r.Body[hi].Outs {
					types[o.ID] = o.Type
				}
				hi++
			}
			if hi > lo {
				graphs = append(graphs, part(r, lo, hi, types))
				lo = hi
				continue
			}
			for _, inner := range r.Body[lo].Regions {
				walk(inner)
			}
			for _, o := range r.Body[lo].Outs {
				types[o.ID] = o.Type
			}
			lo++
		}
	}
	walk(r)
	return graphs
}

// part is the graph of the instructions of a region from lo to hi.
func part(r *ops.Region, lo, hi int, types map[ops.ID]ops.Type) *synth.Graph {
	g := &synth.Graph{Body: r.Body[lo:hi]}
	known := make(map[ops.ID]bool)
	for i := range g.Body {
		for _, o := range g.Body[i].Ins {
			if o.Lit == nil && !known[o.ID] {
				known[o.ID] = true
				g.Params = append(g.Params, ops.Result{ID: o.ID, Type: types[o.ID]})
			}
		}
		for _, o := range g.Body[i].Outs {
			known[o.ID] = true
		}
	}
	used := uses(r, hi)
	for i := range g.Body {
		for _, o := range g.Body[i].Outs {
			if used[o.ID] {
				g.Keep = append(g.Keep, o.ID)
			}
		}
	}
	return g
}

// uses are the values that a region takes from instruction lo on, those that its inner
// regions take among them.
func uses(r *ops.Region, lo int) map[ops.ID]bool {
	used := make(map[ops.ID]bool)
	take := func(list []ops.Operand) {
		for _, o := range list {
			used[o.ID] = true
		}
	}
	for i := range r.Body[lo:] {
		in := &r.Body[lo+i]
		take(in.Ins)
		for _, inner := range in.Regions {
			for id := range uses(inner, 0) {
				used[id] = true
			}
		}
	}
	take(r.Values)
	return used
}

func typesOf(g *synth.Graph) map[ops.ID]ops.Type {
	types := make(map[ops.ID]ops.Type)
	for _, p := range g.Params {
		types[p.ID] = p.Type
	}
	for i := range g.Body {
		for _, o := range g.Body[i].Outs {
			types[o.ID] = o.Type
		}
	}
	return types
}

// writePlan writes everything of a plan that a device sees or that decides where and
// when it runs.
func writePlan(h hash.Hash, p *synth.Plan, err error) {
	switch {
	case errors.Is(err, synth.ErrUnsupported):
		fmt.Fprintln(h, "unsupported")
		return
	case err != nil:
		fmt.Fprintln(h, "error")
		return
	}
	fmt.Fprintln(h, "plan", p.Alias, p.Temps)
	for _, c := range p.Checks {
		fmt.Fprintln(h, "check", c.Operand, c.Instr)
		if c.Singular {
			fmt.Fprintln(h, "singular")
		}
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		k := s.Kernel
		fmt.Fprintln(h, "step", s.Grid, s.Bytes, s.Flops, k.Buffers, k.PushBytes, k.Addresses, k.Spec, k.Local, k.SubgroupSize)
		for _, a := range s.Args {
			fmt.Fprintln(h, "buffer", a.Ref.Kind, a.Ref.Index, a.Access, a.Offset, a.Bytes)
		}
		for _, l := range s.Lits {
			fmt.Fprintln(h, "literal", l.Operand, l.Offset, l.As)
		}
		fmt.Fprintf(h, "push %x\n", s.Push)
		fmt.Fprintln(h, "code", len(k.Code))
		binary.Write(h, binary.LittleEndian, k.Code)
	}
}
