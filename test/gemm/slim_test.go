package gemm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/gemm"
)

// Products of few k add up in the order of k, wherever their operands lie, and are what New
// chooses where there are many results.
func TestSlim(t *testing.T) {
	r := open(t)
	target := r.Target
	target.CPU = false
	layouts := []layout{rowMajor, colMajor, padded, oddly}
	for seed := range seeds(16, 400) {
		rng := rand.New(rand.NewPCG(seed, 31))
		d := types[rng.IntN(len(types))]
		m, n, k, batch := 1+rng.IntN(40), 64+rng.IntN(600), 1+rng.IntN(48), 1+rng.IntN(3)
		if rng.IntN(2) == 0 {
			n = n / 16 * 16
		}
		if rng.IntN(4) == 0 {
			m, k = 2+rng.IntN(15), 1+rng.IntN(128)
		}
		t.Run(fmt.Sprintf("%v %dx%dx%dx%d", d, m, n, k, batch), func(t *testing.T) {
			p := newProduct(d, m, n, k, batch, layouts[rng.IntN(4)], layouts[rng.IntN(4)])
			plan, err := gemm.WithSlim(p.Problem, &target)
			if err != nil {
				t.Fatal(err)
			}
			p.verify(t, p.run(t, r, plan), false)
			for i := range plan.Steps { // as with operations on the results
				plan.Steps[i].Kernel = plan.Steps[i].Kernel.Staged()
			}
			p.verify(t, p.run(t, r, plan), false)
			chosen, err := gemm.New(p.Problem, &target)
			if err != nil {
				t.Fatal(err)
			}
			if gemm.Slim(d, m, n, k, batch, &target) && m > 8 && chosen.Steps[0].Kernel.Shader != plan.Steps[0].Kernel.Shader {
				t.Errorf("New chooses %v", chosen.Steps[0].Kernel)
			}
		})
	}
}

// So do products of operands of 16 bits, whose sums are f32.
func TestSlimNarrow(t *testing.T) {
	r := open(t)
	r.Target = MatrixTarget(r.Device.Info())
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 32))
		p := drawNarrow(rng, []ops.DType{ops.BF16, ops.F16}[seed%2])
		p.K = 1 + rng.IntN(48)
		if p.M, p.N = min(p.M, 100), min(p.N, 900); seed%3 == 0 {
			p.N = (p.N + 15) / 16 * 16
		}
		p.A, p.B = gemm.Strides{Row: p.K, Col: 1, Batch: p.M * p.K}, gemm.Strides{Row: p.N, Col: 1, Batch: p.K * p.N}
		if rng.IntN(3) == 0 {
			p.A.Row, p.A.Col, p.B.Row, p.B.Col = 1, p.M, 1, p.K
		}
		x := Random(p, seed)
		o, err := x.Upload(r)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := gemm.WithSlim(p, &r.Target)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Check(runPlan(t, r, plan, o), 1<<19/p.K); err != nil {
			t.Errorf("seed %d: %v: %v", seed, p, err)
		}
		o.Free()
	}
}
