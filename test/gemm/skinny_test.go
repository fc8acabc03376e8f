package gemm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/gemm"
)

// TestSkinny draws products of few columns or few rows, which are less than a tile.
func TestSkinny(t *testing.T) {
	r := open(t)
	target := r.Target
	target.CPU = false
	layouts := []layout{rowMajor, colMajor, padded, oddly}
	rng := rand.New(rand.NewPCG(14, 3))
	for range 4 {
		few, many, k, batch := 9+rng.IntN(55), 128+rng.IntN(200), 1+rng.IntN(400), 1+rng.IntN(2)
		a, b := layouts[rng.IntN(4)], layouts[rng.IntN(4)]
		if rng.IntN(2) == 0 {
			few, many = many, few
		}
		t.Run(fmt.Sprintf("%dx%dx%dx%d", many, few, k, batch), func(t *testing.T) {
			p := newProduct(ops.F32, many, few, k, batch, a, b)
			plan, err := gemm.New(p.Problem, &target)
			if err != nil {
				t.Fatal(err)
			}
			p.verify(t, p.run(t, r, plan), k >= 128)
		})
	}
}
