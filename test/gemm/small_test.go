package gemm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/synth/gemm"
)

// Products of many small matrices add up in the order of k, wherever their operands lie, and are what New chooses.
func TestSmall(t *testing.T) {
	r := open(t)
	target := r.Target
	target.CPU = false
	layouts := []layout{rowMajor, colMajor, padded, oddly}
	for seed := range seeds(24, 400) {
		rng := rand.New(rand.NewPCG(seed, 41))
		d := types[rng.IntN(len(types))]
		m, n, k, batch := 1+rng.IntN(22), 1+rng.IntN(22), 1+rng.IntN(150), 1+rng.IntN(600)
		switch rng.IntN(4) {
		case 0: // many in a workgroup
			m, n, k = 1+rng.IntN(5), 1+rng.IntN(5), 1+rng.IntN(20)
		case 1: // k is shared out
			k, batch = 512+rng.IntN(3000), 1+rng.IntN(3)
		case 2:
			m, n = 1+rng.IntN(4), 30+rng.IntN(90)
		case 3: // whole vectors
			m, n, k = (m+3)/4*4-4*(m/21), (n+3)/4*4-4*(n/21), (k+3)/4*4
		}
		t.Run(fmt.Sprintf("%v %dx%dx%dx%d", d, m, n, k, batch), func(t *testing.T) {
			p := newProduct(d, m, n, k, batch, layouts[rng.IntN(4)], layouts[rng.IntN(4)])
			plan, err := gemm.WithSmall(p.Problem, &target)
			if err != nil {
				t.Fatal(err)
			}
			p.verify(t, p.run(t, r, plan), plan.Partial > 0)
			chosen, err := gemm.New(p.Problem, &target)
			if err != nil {
				t.Fatal(err)
			}
			if max(m, n) <= 16 && min(m, n) > 8 && k > 16 && chosen.Steps[0].Kernel.Shader != plan.Steps[0].Kernel.Shader {
				t.Errorf("New chooses %v", chosen.Steps[0].Kernel)
			}
		})
	}
}
