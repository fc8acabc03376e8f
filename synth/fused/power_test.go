package fused_test

import (
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// Powers by literals give the bits of one instruction after the other. The exponents of those that are
// products are no parameters.
func TestRandomPowers(t *testing.T) {
	exponents := []float64{-1, 0, 0.5, 1, 2, 3, 4, 5, 2.5}
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		r := rand.New(rand.NewPCG(14, 8))
		for range 60 {
			d := []ops.DType{ops.F32, ops.F64, ops.BF16, ops.F16}[r.IntN(4)]
			g := synthtest.NewSketch(t)
			x, e := g.Param(d, 1+r.IntN(40)), exponents[r.IntN(len(exponents))]
			literal := []ops.DType{d, ops.F32, ops.S32, ops.F64}[r.IntN(4)]
			if literal == ops.F64 && d != ops.F64 || literal == ops.S32 && e != float64(int(e)) {
				literal = d
			}
			g.Return(g.Do(ops.Add, d, g.Do(ops.Pow, d, x, g.Num(literal, e)), x))
			params := 1
			if e == 2 || e == 3 || e == 4 {
				params = 0
			}
			for _, u := range g.Check(target, r.Uint64()) {
				for _, s := range g.Planned(t, &u, target).Steps {
					if len(s.Lits) != params {
						t.Errorf("%v to the power of %v %v: %d literals are parameters", d, literal, e, len(s.Lits))
					}
				}
			}
		}
	})
}
