package synth

import (
	"fmt"
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth/graph"
)

// chain is a graph of n operations on elements: those of a network's activations
// and of an optimiser.
func chain(t testing.TB, n int) *sketch {
	g := newSketch(t)
	x, y := g.param(ops.F32, 64, 100), g.param(ops.F32, 64, 100)
	kinds := []ops.Op{ops.Multiply, ops.Add, ops.Tanh, ops.Subtract, ops.Max, ops.Multiply, ops.Divide, ops.Exp, ops.Min, ops.Add}
	for i := range n {
		if op := kinds[i%len(kinds)]; op.Info().Arity == 1 {
			x = g.do(op, ops.F32, x)
		} else {
			x, y = g.do(op, ops.F32, x, y), x
		}
	}
	g.keep(x)
	return g
}

// backward is a graph of n instructions or a few more: products of matrices with
// operations on their results, and the gradients of these, which read in reverse order
// what the former have made.
func backward(t testing.TB, n int) *sketch {
	g := newSketch(t)
	w, x := g.param(ops.F32, 64, 64), g.param(ops.F32, 64, 64)
	var made []ops.Operand
	for len(g.Body) < n/2 {
		x = g.do(ops.Dot, ops.F32, x, w, attrs{{1}, {}, {0}, {}})
		x = g.do(ops.Tanh, ops.F32, g.do(ops.Add, ops.F32, x, w))
		made = append(made, x)
	}
	for _, y := range slices.Backward(made) {
		d := g.do(ops.Subtract, ops.F32, g.num(ops.F32, 1), g.do(ops.Multiply, ops.F32, y, y))
		x = g.do(ops.Multiply, ops.F32, x, d)
		g.keep(g.do(ops.Sum, ops.F32, x, attrs{{0}, {0}}))
		x = g.do(ops.Dot, ops.F32, x, w, attrs{{1}, {}, {1}, {}})
	}
	g.keep(x)
	return g
}

// pieces is a concatenation of n tensors, each made of the one before.
func pieces(t testing.TB, n int) *sketch {
	g := newSketch(t)
	x := g.param(ops.F32, 4, 16)
	var parts []any
	for range n {
		x = g.do(ops.Tanh, ops.F32, x)
		parts = append(parts, x)
	}
	g.keep(g.do(ops.Concatenate, ops.F32, append(parts, attrs{{0}})...))
	return g
}

// plan plans a graph whose kernels nobody has compiled, as a node does: without
// verifying them.
func (g *sketch) plan(b *testing.B) (units int) {
	b.Helper()
	Verify = false
	defer func() { Verify = true }()
	kernels.byKey, kernels.order = map[string]*Kernel{}, nil
	us := Units(&g.Graph, gpu)
	for i := range us {
		if _, err := LowerUnit(&us[i], func(id ops.ID) ops.Type { return g.types[id] }, gpu); err != nil {
			b.Fatal(err)
		}
	}
	return len(us)
}

// BenchmarkUnit plans a graph that becomes one kernel.
func BenchmarkUnit(b *testing.B) {
	for _, n := range []int{50, 450} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			g := chain(b, n)
			b.ReportAllocs()
			for b.Loop() {
				b.ReportMetric(float64(g.plan(b)), "units")
			}
		})
	}
}

// BenchmarkProgram simplifies and plans long programs. What it takes for an
// instruction does not depend on their length.
func BenchmarkProgram(b *testing.B) {
	for _, p := range []struct {
		name string
		make func(testing.TB, int) *sketch
	}{{"chain", chain}, {"backward", backward}, {"pieces", pieces}} {
		for _, n := range []int{2000, 20000, 100000} {
			b.Run(fmt.Sprintf("%s/%d", p.name, n), func(b *testing.B) {
				g := p.make(b, n)
				r := &ops.Region{Params: g.Params, Body: g.Body}
				for _, id := range g.Keep {
					r.Values = append(r.Values, ops.Operand{ID: id})
				}
				for b.Loop() {
					graph.Simplify(r, graph.Options{})
					g.plan(b)
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(g.Body)), "µs/instr")
			})
		}
	}
}
