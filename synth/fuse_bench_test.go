package synth

import (
	"fmt"
	"testing"

	"nxvk/ops"
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

// BenchmarkUnit plans a graph whose kernels nobody has compiled.
func BenchmarkUnit(b *testing.B) {
	for _, n := range []int{50, 450} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			g := chain(b, n)
			for b.Loop() {
				kernels.byKey, kernels.order = map[string]*Kernel{}, nil
				units := Units(&g.Graph, gpu)
				for i := range units {
					if _, err := LowerUnit(&units[i], func(id ops.ID) ops.Type { return g.types[id] }, gpu); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(units)), "units")
			}
		})
	}
}
