package gemm

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/gemm"
)

// A processor reads the large matrix of a product with few vectors as it is. The driver's code and the host's give the same
// bits, those of sums in the order of k.
func TestStored(t *testing.T) {
	r := open(t)
	if !r.Target.CPU {
		t.Skip("the multiply-add of a GPU rounds once, that of the host twice")
	}
	for seed := range seeds(24, 300) {
		rng := rand.New(rand.NewPCG(seed, 51))
		d := []ops.DType{ops.BF16, ops.F16, ops.S8, ops.U8}[seed%4]
		p := gemm.Problem{Type: sumsOf[d], Operands: d, M: 1 + rng.IntN(16), N: 64 + rng.IntN(1500), K: 1 + rng.IntN(700), Batch: []int{1, 1, 2, 16}[rng.IntN(4)]}
		p.K = max(p.K, (1<<16+p.N*p.Batch-1)/(p.N*p.Batch))
		lay := func(rows, cols int) gemm.Strides {
			gap := rng.IntN(3) * rng.IntN(2)
			if rng.IntN(2) == 0 {
				return gemm.Strides{Row: 1, Col: rows + gap, Batch: cols * (rows + gap)}
			}
			return gemm.Strides{Row: cols + gap, Col: 1, Batch: rows * (cols + gap)}
		}
		p.A, p.B = lay(p.M, p.K), lay(p.K, p.N)
		if rng.IntN(2) == 0 {
			p = p.Transposed()
		}
		matrix, ok := p.LargeMatrix(&r.Target)
		if !ok || matrix != gemm.B && p.M <= p.N {
			t.Fatalf("seed %d: %v has no large matrix", seed, p)
		}
		x := Random(p, seed)
		given := x.Widened(gemm.A + gemm.B - matrix)
		plan, err := gemm.New(p, &r.Target)
		if err != nil || len(plan.Steps) != 1 {
			t.Fatalf("seed %d: %v: %v, %v", seed, p, plan, err)
		}
		o, err := given.Upload(r)
		if err != nil {
			t.Fatal(err)
		}
		byDriver := runPlan(t, r, plan, o)[:4*p.Batch*p.M*p.N]
		o.Free()
		if err := x.Check(byDriver, 1<<19/p.K); err != nil {
			t.Errorf("seed %d: %v: %v", seed, p, err)
		}
		step := &plan.Steps[0]
		a, b := given.Buffers()
		memory := map[gemm.Buffer][]byte{gemm.A: a, gemm.B: b, gemm.C: make([]byte, 4*p.Batch*p.M*p.N)}
		step.Kernel.OnHost()(nil, [][]byte{memory[step.In[0]], memory[step.In[1]], memory[step.Out]}, step.Push, step.Grid)
		if !bytes.Equal(memory[gemm.C], byDriver) {
			t.Errorf("seed %d: %v: the host's bits are others", seed, p)
		}
	}
}
