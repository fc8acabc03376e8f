package fused_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
	"nxvk/synth/synthtest"
	"nxvk/test/fewtest"
)

// Rows of random lengths give the bits of one instruction after the other, whichever kernel
// carries them out: with a part of an invocation, of a workgroup, or with rows read again.
func TestRandomRows(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		r := rand.New(rand.NewPCG(14, 4))
		for range fewtest.Of(40, 16) {
			n := 1 + int(r.Float64()*r.Float64()*r.Float64()*6000)
			if r.IntN(2) == 0 {
				n = (n + 3) / 4 * 4
			}
			rows(t, target, r, 1+r.IntN(20), n)
		}
	})
	r := rand.New(rand.NewPCG(14, 5))
	for i := range 18 { // less than a vector
		rows(t, synthtest.GPU, r, 1+r.IntN(600), 1+i%3)
	}
	for i := range 35 { // results of several rows leave together
		rows(t, synthtest.GPU, r, 1+r.IntN(600), 1+i)
	}
	for _, n := range []int{16384, 16385, 20480, 32768, 33333, 50257} {
		fusions := rows(t, synthtest.GPU, r, 2, n)
		lie := strided.NewReduction(ops.Shape{2, n}, []int{1})
		held, ok := strided.RowsHeld(synthtest.GPU, &lie)
		if !ok || held == 0 || fusions != 1 {
			t.Errorf("rows of %d elements: %d vectors are held, %v, in %d fusions", n, held, ok, fusions)
		}
	}
}

// rows checks a function of k rows of n elements, and counts its fusions.
func rows(t *testing.T, target *lowering.Target, r *rand.Rand, k, n int) int {
	d := []ops.DType{ops.F32, ops.F16, ops.BF16, ops.F64}[r.IntN(4)]
	g := synthtest.NewSketch(t)
	x := g.Param(d, k, n)
	switch r.IntN(3) {
	case 0:
		g.Return(g.Softmax(x))
	case 1:
		y := g.Softmax(g.Do(ops.Multiply, d, x, g.Param(d, n)))
		g.Return(y, g.Do(ops.ReduceMax, d, y, synthtest.Attrs{{1}, {0}}))
	default:
		g.Return(g.LayerNorm(x, g.Param(d, n), g.Param(d, n)))
	}
	return len(g.Check(target, r.Uint64()))
}

// Of rows that no vector can be stored to, the last round alone asks whether its elements exist.
func TestStoresOfRaggedRows(t *testing.T) {
	g := synthtest.NewSketch(t)
	g.Return(g.Softmax(g.Param(ops.BF16, 8, 4095)))
	fusions := g.Check(synthtest.GPU, 1)
	guarded, stores := 0, 0
	isStore := func(in kernel.Inst) bool { return in.Op == kernel.Store }
	for _, s := range g.Planned(t, &fusions[0], synthtest.GPU).Steps {
		var walk func(b *kernel.Block)
		walk = func(b *kernel.Block) {
			for i := range b.Insts {
				in := &b.Insts[i]
				if isStore(*in) {
					stores++
				}
				if then := in.Blocks; in.Op == kernel.If && len(then[0].Insts) < 4 && slices.ContainsFunc(then[0].Insts, isStore) {
					guarded++ // one store and its index
				}
				for k := range in.Blocks {
					walk(&in.Blocks[k])
				}
			}
		}
		walk(&s.Kernel.IR.Body)
	}
	if guarded != strided.Components || stores != 4*strided.Components {
		t.Errorf("%d of %d stores are guarded, want %d of %d", guarded, stores, strided.Components, 4*strided.Components)
	}
}
