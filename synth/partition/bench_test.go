package partition_test

import (
	"fmt"
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/codegen"
	"nxvk/synth/graph"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// chain is a graph of n operations on elements: those of a network's activations
// and of an optimiser.
func chain(t testing.TB, n int) *synthtest.Sketch {
	g := synthtest.NewSketch(t)
	x, y := g.Param(ops.F32, 64, 100), g.Param(ops.F32, 64, 100)
	kinds := []ops.Op{ops.Multiply, ops.Add, ops.Tanh, ops.Subtract, ops.Max, ops.Multiply, ops.Divide, ops.Exp, ops.Min, ops.Add}
	for i := range n {
		if op := kinds[i%len(kinds)]; op.Info().Arity == 1 {
			x = g.Do(op, ops.F32, x)
		} else {
			x, y = g.Do(op, ops.F32, x, y), x
		}
	}
	g.Return(x)
	return g
}

// backward is a graph of n instructions or a few more: products of matrices with
// operations on their results, and the gradients of these, which read in reverse order
// what the former have made.
func backward(t testing.TB, n int) *synthtest.Sketch {
	g := synthtest.NewSketch(t)
	w, x := g.Param(ops.F32, 64, 64), g.Param(ops.F32, 64, 64)
	var made []ops.Operand
	for len(g.Body) < n/2 {
		x = g.Do(ops.Dot, ops.F32, x, w, synthtest.Attrs{{1}, {}, {0}, {}})
		x = g.Do(ops.Tanh, ops.F32, g.Do(ops.Add, ops.F32, x, w))
		made = append(made, x)
	}
	for _, y := range slices.Backward(made) {
		d := g.Do(ops.Subtract, ops.F32, g.Num(ops.F32, 1), g.Do(ops.Multiply, ops.F32, y, y))
		x = g.Do(ops.Multiply, ops.F32, x, d)
		g.Return(g.Do(ops.Sum, ops.F32, x, synthtest.Attrs{{0}, {0}}))
		x = g.Do(ops.Dot, ops.F32, x, w, synthtest.Attrs{{1}, {}, {1}, {}})
	}
	g.Return(x)
	return g
}

// pieces is a concatenation of n tensors, each made of the one before.
func pieces(t testing.TB, n int) *synthtest.Sketch {
	g := synthtest.NewSketch(t)
	x := g.Param(ops.F32, 4, 16)
	var parts []any
	for range n {
		x = g.Do(ops.Tanh, ops.F32, x)
		parts = append(parts, x)
	}
	g.Return(g.Do(ops.Concatenate, ops.F32, append(parts, synthtest.Attrs{{0}})...))
	return g
}

// plan plans a graph whose kernels nobody has compiled, as a node does: without
// verifying them.
func plan(g *synthtest.Sketch, b *testing.B) (fusions int) {
	b.Helper()
	codegen.Verify = false
	defer func() { codegen.Verify = true }()
	codegen.CompiledKernels.ByKey, codegen.CompiledKernels.Order = map[string]*lowering.Kernel{}, nil
	us := synth.Fuse(&g.Graph, synthtest.GPU)
	for i := range us {
		if _, err := synth.LowerFusion(&us[i], func(id ops.ID) ops.Type { return g.Types[id] }, synthtest.GPU); err != nil {
			b.Fatal(err)
		}
	}
	return len(us)
}

// BenchmarkOneFusion plans a graph that becomes one kernel.
func BenchmarkOneFusion(b *testing.B) {
	for _, n := range []int{50, 450} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			g := chain(b, n)
			b.ReportAllocs()
			for b.Loop() {
				b.ReportMetric(float64(plan(g, b)), "fusions")
			}
		})
	}
}

// BenchmarkProgram simplifies and plans long programs. What it takes for an
// instruction does not depend on their length.
func BenchmarkProgram(b *testing.B) {
	for _, p := range []struct {
		name string
		make func(testing.TB, int) *synthtest.Sketch
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
					plan(g, b)
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(g.Body)), "µs/instr")
			})
		}
	}
}

// BenchmarkVerify verifies the fusions of a long program, and cuts it for comparison.
func BenchmarkVerify(b *testing.B) {
	g := backward(b, 15000)
	us := synth.Fuse(&g.Graph, synthtest.GPU)
	b.Run("fuse", func(b *testing.B) {
		for b.Loop() {
			synth.Fuse(&g.Graph, synthtest.GPU)
		}
	})
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			if err := synth.Verify(&g.Graph, us); err != nil {
				b.Fatal(err)
			}
		}
	})
}
