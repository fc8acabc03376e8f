package synth

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth/graph"
)

// evalOn computes a scalar of literals by the kernel of its operation.
func (g *sketch) evalOn(target *Target) graph.Eval {
	return func(in *ops.Instr) ([]byte, error) {
		vs := values{}
		g.carry(target, []Unit{one(in)}, vs)
		return vs[in.Outs[0].ID][:in.Outs[0].Type.Bytes()], nil
	}
}

// simplified is the sketch after the passes, which must keep its bits.
func (g *sketch) simplified(target *Target, seed uint64) *sketch {
	g.t.Helper()
	s := &sketch{Graph: *Simplify(&g.Graph, target, g.evalOn(target)), t: g.t, types: g.types}
	if slices.ContainsFunc(g.Body, func(in ops.Instr) bool { return in.Op == ops.Dot }) {
		return s
	}
	units := s.check(target, seed)
	got, want := g.inputs(seed), g.inputs(seed)
	g.carry(target, units, got)
	for i := range g.Body {
		g.carry(target, []Unit{one(&g.Body[i])}, want)
	}
	for _, id := range g.Keep {
		n := g.types[id].Bytes()
		if !bytes.Equal(got[id][:n], want[id][:n]) {
			g.t.Fatalf("value %d: got %x, want %x, of\n%sin\n%s", id, got[id][:n], want[id][:n], &g.Graph, &s.Graph)
		}
	}
	return s
}

// Passes and then fusion give the bits of one instruction after the other.
func TestSimplifyRandom(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		less := 0
		for seed := range uint64(40) {
			g := grow(t, seed, 4+int(seed)%20, seed%2 == 1)
			less += len(g.Body) - len(g.simplified(target, seed).Body)
		}
		if less == 0 {
			t.Error("the passes have never found anything")
		}
	})
}

// What the executor needs afterwards is there, whatever the passes make of it:
// the same value twice, a parameter, a number, what nothing else in the graph
// has to do with, and what the graph does not know.
func TestSimplifyKeeps(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		g := newSketch(t)
		x, unused := g.param(ops.S32, 5), g.param(ops.F32, 3)
		a, b := g.do(ops.Abs, ops.S32, x), g.do(ops.Abs, ops.S32, x)
		zero := g.do(ops.Subtract, ops.S32, g.num(ops.S32, 1), g.num(ops.S32, 1))
		same := g.do(ops.Add, ops.S32, x, zero)
		dead := g.do(ops.Exp, ops.F32, unused)
		g.keep(a, b, zero, same, x, b)
		s := g.simplified(target, 1)
		text := s.Graph.String()
		if strings.Contains(text, fmt.Sprintf("%%%d =", dead.ID)) || strings.Count(text, "= abs") != 1 {
			t.Errorf("got\n%s", text)
		}
		g.Keep = append(g.Keep, 1000)
		if k := Simplify(&g.Graph, target, nil).Keep; !slices.Equal(k, g.Keep) {
			t.Errorf("what is kept: got %v, want %v", k, g.Keep)
		}
	})
}

// Every pass can be switched off by its name.
func TestSimplifyOff(t *testing.T) {
	off := *gpu
	for _, p := range graph.Passes {
		rule, err := ParseRules(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		off.Off |= rule
	}
	for name, g := range patterns(t) {
		before, after := g.String(), Simplify(&g.Graph, &off, g.evalOn(&off)).String()
		if before != after {
			t.Errorf("%s: got\n%s\nwant\n%s", name, after, before)
		}
		g.simplified(gpu, 3)
	}
}
