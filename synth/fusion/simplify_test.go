package fusion_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth/fusion"
	"nxvk/synth/graph"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// evalOn computes a scalar of literals by the kernel of its operation.
func evalOn(g *synthtest.Sketch, target *lowering.Target) graph.Eval {
	return func(in *ops.Instr) ([]byte, error) {
		vs := synthtest.Values{}
		g.Carry(target, []fusion.Fusion{synthtest.One(in)}, vs)
		return vs[in.Outs[0].ID][:in.Outs[0].Type.Bytes()], nil
	}
}

// simplified is the sketch after the passes, which must keep its bits.
func simplified(g *synthtest.Sketch, target *lowering.Target, seed uint64) *synthtest.Sketch {
	g.T.Helper()
	s := &synthtest.Sketch{Graph: *fusion.Simplify(&g.Graph, target, evalOn(g, target)), T: g.T, Types: g.Types}
	if slices.ContainsFunc(g.Body, func(in ops.Instr) bool { return in.Op == ops.Dot }) {
		return s
	}
	fusions := s.Check(target, seed)
	got, want := g.Inputs(seed), g.Inputs(seed)
	g.Carry(target, fusions, got)
	for i := range g.Body {
		g.Carry(target, []fusion.Fusion{synthtest.One(&g.Body[i])}, want)
	}
	for _, id := range g.Keep {
		n := g.Types[id].Bytes()
		if !bytes.Equal(got[id][:n], want[id][:n]) {
			g.T.Fatalf("value %d: got %x, want %x, of\n%sin\n%s", id, got[id][:n], want[id][:n], synthtest.String(&g.Graph), synthtest.String(&s.Graph))
		}
	}
	return s
}

// Passes and then fusion give the bits of one instruction after the other.
func TestSimplifyRandom(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		less := 0
		for seed := range uint64(40) {
			g := synthtest.Grow(t, seed, 4+int(seed)%20, seed%2 == 1)
			less += len(g.Body) - len(simplified(g, target, seed).Body)
		}
		if less == 0 {
			t.Error("the passes have never found anything")
		}
	})
}

// The values that the executor keeps survive the passes: the same value twice,
// a parameter, a literal, a value that the rest of the graph does not use, and
// an id that the graph does not define.
func TestSimplifyKeeps(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		g := synthtest.NewSketch(t)
		x, unused := g.Param(ops.S32, 5), g.Param(ops.F32, 3)
		a, b := g.Do(ops.Abs, ops.S32, x), g.Do(ops.Abs, ops.S32, x)
		zero := g.Do(ops.Subtract, ops.S32, g.Num(ops.S32, 1), g.Num(ops.S32, 1))
		same := g.Do(ops.Add, ops.S32, x, zero)
		dead := g.Do(ops.Exp, ops.F32, unused)
		g.Return(a, b, zero, same, x, b)
		s := simplified(g, target, 1)
		text := synthtest.String(&s.Graph)
		if strings.Contains(text, fmt.Sprintf("%%%d =", dead.ID)) || strings.Count(text, "= abs") != 1 {
			t.Errorf("got\n%s", text)
		}
		g.Keep = append(g.Keep, 1000)
		if k := fusion.Simplify(&g.Graph, target, nil).Keep; !slices.Equal(k, g.Keep) {
			t.Errorf("what is kept: got %v, want %v", k, g.Keep)
		}
	})
}

// Every pass can be switched off by its name.
func TestSimplifyOff(t *testing.T) {
	off := *synthtest.GPU
	for _, p := range graph.Passes {
		rule, err := lowering.ParseRules(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		off.Off |= rule
	}
	for name, g := range synthtest.Patterns(t) {
		before, after := synthtest.String(&g.Graph), synthtest.String(fusion.Simplify(&g.Graph, &off, evalOn(g, &off)))
		if before != after {
			t.Errorf("%s: got\n%s\nwant\n%s", name, after, before)
		}
		simplified(g, synthtest.GPU, 3)
	}
}
