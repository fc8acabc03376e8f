package partition_test

import (
	"math"
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// A layer for one position takes no dispatches but those of its products, of the rotated heads and of the updates: the
// norms and the gate are in the kernels that read them, and products of one vector that do not depend on one another are
// one dispatch.
func TestChains(t *testing.T) {
	g := synthtest.NewBlock(t, ops.BF16, 1024, 3072, 16, 128, 288)
	count := func(target *lowering.Target) (n int) {
		for _, u := range synth.Fuse(&g.Graph, target) {
			p, err := synth.LowerFusion(&u, func(id ops.ID) ops.Type { return g.Types[id] }, target)
			if err != nil {
				t.Fatal(err)
			}
			if p.Alias < 0 {
				n += len(p.Steps)
			}
			for _, u := range p.InPlace {
				n -= u.Copies
			}
		}
		return n
	}
	for _, c := range []struct {
		without lowering.Rules
		want    int
	}{{0, 7}, {lowering.RuleChains, 10}, {lowering.RuleAbreast, 10}, {lowering.RuleChains | lowering.RuleAbreast, 14}} {
		if n := count(synthtest.Without(synthtest.GPU, c.without)); n != c.want {
			t.Errorf("%d dispatches without %q; want %d", n, c.without, c.want)
		}
	}
	if n := count(synthtest.CPU); n < 14 {
		t.Errorf("%d dispatches on a processor, want at least 14", n)
	}
}

// A kernel that computes the matrix of its product, and not the vector, loads none of it before.
func TestChainOfMatrix(t *testing.T) {
	const n = 64
	g := synthtest.NewSketch(t)
	x, m := g.Param(ops.F32, 1, n), g.Param(ops.F32, n, n)
	g.Return(g.Do(ops.Dot, ops.F32, x, g.Do(ops.Tanh, ops.F32, m), synthtest.Attrs{{1}, {}, {0}, {}}))
	list := synth.Fuse(&g.Graph, synthtest.GPU)
	if len(list) != 1 || len(list[0].Stages) != 2 {
		t.Fatalf("the matrix is not computed in the kernel of its product:\n%s", synthtest.Show(list))
	}
	values := g.Inputs(1)
	of := func(o ops.Operand) []float64 { return synthtest.FromBytes(g.TypeOf(o), slices.Clone(values[o.ID])).F }
	vector, matrix := of(x), of(m)
	g.Carry(synthtest.GPU, list, values)
	for j, got := range of(ops.Operand{ID: g.Keep[0]}) {
		want, scale := 0.0, 0.0
		for k, v := range vector {
			want += v * math.Tanh(matrix[k*n+j])
			scale += math.Abs(v)
		}
		if !(math.Abs(got-want) <= 1e-5*scale) {
			t.Fatalf("result %d is %v, want %v", j, got, want)
		}
	}
}

// TestChainOfNarrowIntegers: what a stage computes of a narrow integer is stored as memory would: without the bits that it does
// not have.
func TestChainOfNarrowIntegers(t *testing.T) {
	target := synthtest.Without(synthtest.GPU, lowering.RulePointwise)
	for _, d := range []ops.DType{ops.U8, ops.U16, ops.S8, ops.S16} {
		g := synthtest.NewSketch(t)
		x := g.Do(ops.Multiply, ops.U32, g.Param(ops.U32, 32), g.Num(ops.U32, 0x9e3779b9))
		x = g.Do(ops.AsType, d, x)
		g.Return(g.Do(ops.RightShift, d, x, g.Num(d, 3)))
		fusions := g.Check(target, 1)
		if n := len(fusions); n != 1 || len(fusions[0].Stages) == 0 {
			t.Errorf("%v: %d fusions, want one with stages", d, n)
		}
	}
}
