package gemm

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"nxvk/ops"
)

// drawProblem draws a product of any size and layout: small ones, those about the
// edges of tiles, and long ones.
func drawProblem(r *rand.Rand) Problem {
	size := func() int {
		switch r.IntN(4) {
		case 0:
			return 1 + r.IntN(16)
		case 1:
			return 1 + r.IntN(300)
		case 2:
			return 64*(1+r.IntN(20)) + r.IntN(3) - 1
		}
		return 1 + r.IntN(5000)
	}
	d := []ops.DType{ops.F32, ops.F64, ops.S32, ops.U64}[r.IntN(4)]
	p := rowMajor(d, size(), size(), size(), 1)
	if r.IntN(3) == 0 {
		p = rowMajor(d, p.M, p.N, p.K, 1+r.IntN(40))
	}
	if r.IntN(2) == 0 {
		p.A = Strides{Row: 1, Col: p.M, Batch: p.A.Batch}
	}
	if r.IntN(2) == 0 {
		p.B = Strides{Row: 1, Col: p.K, Batch: p.B.Batch}
	}
	if r.IntN(8) == 0 {
		p.A.Row, p.A.Col = 2*p.A.Row, 2*p.A.Col
	}
	return p
}

func (k *Kernel) key() string { return fmt.Sprint(k.Shader, k.Spec) }

// New chooses among few kernels, whatever the sizes, and Kernels lists them all.
func TestKernels(t *testing.T) {
	for name, target := range map[string]*Target{"gpu": gpu, "small": small, "cpu": cpu} {
		listed := map[string]int{}
		for _, d := range []ops.DType{ops.F32, ops.F64, ops.S32, ops.U64} {
			for _, s := range Kernels(d, target) {
				listed[s.Kernel.key()] = len(s.Push)
			}
		}
		used, r := map[string]bool{}, rand.New(rand.NewPCG(1, 12))
		for range 20000 {
			p := drawProblem(r)
			plan, err := New(p, target)
			if err != nil {
				continue // too large
			}
			for _, s := range plan.Steps {
				key := s.Kernel.key()
				if push, ok := listed[key]; !ok || push != len(s.Push) {
					t.Fatalf("%s: %v chooses %s with %d bytes of parameters, listed with %d (%v)", name, p, key, len(s.Push), push, ok)
				}
				used[key] = true
				if strings.Contains(s.Kernel.Shader, "double") && uint32(p.K) < 2*s.Kernel.Spec[5] {
					t.Fatalf("%s: %v has fewer terms than %s loads ahead", name, p, key)
				}
			}
		}
		t.Logf("%s: %d kernels, of which 20,000 products use %d", name, len(listed), len(used))
		if len(listed) > 1150 {
			t.Errorf("%s: %d kernels", name, len(listed))
		}
	}
}
