package partition_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
	"nxvk/test/fewtest"
)

// Small kernels that do not depend on one another are one, which updates tensors in place unless it reads them, too.
func TestAbreast(t *testing.T) {
	f := ops.F32
	const n = 600 // more than a host computes
	put := func(g *synthtest.Sketch, x, y ops.Operand, row int) ops.Operand {
		return g.Do(ops.PutSlice, f, x, y, synthtest.Attrs{{row, 0}})
	}
	point := func(g *synthtest.Sketch, op ops.Op, size int) ops.Operand { return g.Do(op, f, g.Param(f, 1, size)) }
	for name, c := range map[string]struct {
		build   func(g *synthtest.Sketch)
		fusions int
		inPlace []lowering.InPlace // without the operands
	}{
		"two caches": {func(g *synthtest.Sketch) {
			g.Return(put(g, g.Param(f, 3, n), point(g, ops.Tanh, n), 1), put(g, g.Param(f, 4, n+3), point(g, ops.Exp, n+3), 2))
		}, 1, []lowering.InPlace{{Result: 0, Copies: 1}, {Result: 1, Copies: 1}}},
		"beside rows": {func(g *synthtest.Sketch) {
			x := g.Do(ops.Exp, f, g.Param(f, 5, 128))
			g.Return(g.Do(ops.Divide, f, x, g.Do(ops.Sum, f, x, synthtest.Attrs{{1}, {1}})), put(g, g.Param(f, 3, n), point(g, ops.Tanh, n), 0))
		}, 1, []lowering.InPlace{{Result: 1, Copies: 1}}},
		"of a row that the other one updates": {func(g *synthtest.Sketch) {
			a := g.Param(f, 3, n)
			row := g.Do(ops.Slice, f, a, synthtest.Attrs{{1, 0}, {1, n}, {1, 1}})
			g.Return(put(g, a, point(g, ops.Tanh, n), 1), put(g, g.Param(f, 2, n), g.Do(ops.Exp, f, row), 0))
		}, 1, []lowering.InPlace{{Result: 1, Copies: 1}}},
		"of one tensor": {func(g *synthtest.Sketch) {
			a := g.Param(f, 3, n)
			g.Return(put(g, a, point(g, ops.Tanh, n), 0), put(g, a, point(g, ops.Exp, n), 1))
		}, 2, nil},
		"one after the other": {func(g *synthtest.Sketch) {
			a := put(g, g.Param(f, 3, n), point(g, ops.Tanh, n), 0)
			g.Return(put(g, a, point(g, ops.Exp, n), 1))
		}, 2, nil},
		"so few that the host may have them": {func(g *synthtest.Sketch) {
			g.Return(point(g, ops.Tanh, 500), point(g, ops.Exp, 400))
		}, 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := synthtest.NewSketch(t)
			c.build(g)
			fusions := g.Check(synthtest.GPU, 5)
			wantFusions(t, fusions, c.fusions)
			if c.fusions > 1 {
				return
			}
			p, err := synth.LowerFusion(&fusions[0], func(id ops.ID) ops.Type { return g.Types[id] }, synthtest.GPU)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(p.InPlace, c.inPlace, func(a, b lowering.InPlace) bool { return a.Result == b.Result && a.Copies == b.Copies }) {
				t.Errorf("in place are %+v, want %+v", p.InPlace, c.inPlace)
			}
		})
	}
}

// Drawn fusions side by side, elementwise, of rows and products of a vector, give what they give one by one.
func TestRandomAbreast(t *testing.T) {
	abreast := 0
	for seed := range uint64(fewtest.Of(30, 12)) {
		r := rand.New(rand.NewPCG(seed, 23))
		d := []ops.DType{ops.F32, ops.BF16, ops.F16}[r.IntN(3)]
		g := synthtest.NewSketch(t)
		x := g.Param(d, 1, 64+8*r.IntN(40))
		k := g.TypeOf(x).Shape[1]
		var outs []ops.Operand
		for range 2 + r.IntN(4) {
			n := 8 * (65 + r.IntN(110)) // the interpreter has no kernel for products of other sizes
			y := g.Do(ops.Negate, d, g.Param(d, 1+r.IntN(3), n))
			switch r.IntN(4) {
			case 0:
				y = g.Do(ops.Dot, d, x, g.Param(d, k, n), synthtest.Attrs{{1}, {}, {0}, {}})
			case 1:
				y = g.Do(ops.Multiply, d, y, g.Do(ops.Sum, d, y, synthtest.Attrs{{1}, {1}}))
			case 2:
				rows := g.TypeOf(y).Shape[0]
				y = g.Do(ops.PutSlice, d, g.Param(d, rows+2, n+4), y, g.Param(ops.S32), g.Num(ops.S32, 3), synthtest.Attrs{{}})
			}
			outs = append(outs, y)
		}
		g.Return(outs...)
		fusions, got, want := synth.Fuse(&g.Graph, synthtest.GPU), g.Inputs(seed), g.Inputs(seed)
		for _, u := range fusions {
			if len(u.Abreast) > 0 {
				abreast++
			}
		}
		apart := synthtest.Without(synthtest.GPU, lowering.RuleAbreast)
		g.Carry(synthtest.GPU, fusions, got)
		g.Carry(apart, synth.Fuse(&g.Graph, apart), want)
		for _, id := range g.Keep {
			if n := g.Types[id].Bytes(); !bytes.Equal(got[id][:n], want[id][:n]) {
				t.Fatalf("seed %d, value %d: other bits than apart, of\n%s", seed, id, synthtest.Show(fusions))
			}
		}
	}
	if abreast < fewtest.Of(20, 8) {
		t.Errorf("%d kernels have several fusions", abreast)
	}
}
