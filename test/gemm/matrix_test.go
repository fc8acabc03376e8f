package gemm

import (
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/gemm"
)

// sumsOf are the types of sums of products on matrix hardware.
var sumsOf = map[ops.DType]ops.DType{ops.BF16: ops.F32, ops.F16: ops.F32, ops.S8: ops.S32, ops.U8: ops.U32}

// drawNarrow draws a product: sizes about the edges of tiles and vectors, any layout.
func drawNarrow(r *rand.Rand, d ops.DType) gemm.Problem {
	size := func(least int) int {
		switch r.IntN(4) {
		case 0:
			return max(least, 16*(1+r.IntN(20))+r.IntN(5)-2)
		case 1:
			return max(least, 8*(1+r.IntN(30)))
		}
		return least + r.IntN(150)
	}
	p := gemm.Problem{Type: sumsOf[d], Operands: d, M: size(9), N: size(9), K: size(1), Batch: 1}
	if r.IntN(4) == 0 {
		p.Batch = 2 + r.IntN(3)
	}
	if r.IntN(5) == 0 {
		p.M, p.N, p.K = 9+r.IntN(40), 9+r.IntN(40), 500+r.IntN(3000)
	}
	if r.IntN(6) == 0 { // a large matrix and few vectors
		p.M, p.N, p.K, p.Batch = 3+r.IntN(6), 2048+r.IntN(500), 2048+r.IntN(200), 1
		if r.IntN(2) == 0 {
			p.M, p.N = p.N, p.M
		}
	}
	lay := func(rows, cols int) gemm.Strides {
		gap := []int{0, 0, 1, 8, 16}[r.IntN(5)]
		if r.IntN(2) == 0 {
			return gemm.Strides{Row: 1, Col: rows + gap, Batch: cols*(rows+gap) + gap}
		}
		return gemm.Strides{Row: cols + gap, Col: 1, Batch: rows*(cols+gap) + gap}
	}
	p.A, p.B = lay(p.M, p.K), lay(p.K, p.N)
	if r.IntN(8) == 0 {
		p.B.Batch = 0
	}
	return p
}

// drawOnMatrices draws a product of the type of a seed, and gives the shape by which the device multiplies; ok is false where it has none.
func drawOnMatrices(r *rand.Rand, seed uint64, t *gemm.Target) (p gemm.Problem, shape gemm.Matrix, ok bool) {
	p = drawNarrow(r, []ops.DType{ops.BF16, ops.F16, ops.S8, ops.U8}[seed%4])
	shape, ok = t.MatrixProduct(p.Operands, p.M, p.N, p.K, p.Batch)
	return p, shape, ok
}

// Every tile, and the tile that New chooses, gives the sums of products of any size and
// layout.
func TestMatrixHardware(t *testing.T) {
	r := open(t)
	r.Target = MatrixTarget(r.Device.Info())
	seen, rests := map[ops.DType]int{}, 0
	for seed := range seeds(60, 1000) {
		rng := rand.New(rand.NewPCG(seed, 15))
		p, shape, ok := drawOnMatrices(rng, seed, &r.Target)
		if !ok {
			continue
		}
		d := p.Operands
		seen[d]++
		x := Random(p, seed)
		o, err := x.Upload(r)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := gemm.New(p, &r.Target)
		if err != nil {
			t.Fatal(err)
		}
		plans, tiles := []*gemm.Plan{plan}, gemm.MatrixTiles(shape, false)
		for _, c := range []gemm.MatrixTile{tiles[0], tiles[1+rng.IntN(len(tiles)-1)]} {
			rest := gemm.Rest{Tiles: 1 + rng.IntN(9), Shares: 2 + rng.IntN(3)} // none where there are fewer tiles
			for _, rest := range []gemm.Rest{{}, rest} {
				if plan, err := gemm.WithMatrixTile(p, c, 1+rng.IntN(3), rest, &r.Target); err == nil {
					plans = append(plans, plan)
					rests += min(1, rest.Tiles)
				}
			}
		}
		for _, plan := range plans {
			got := runPlan(t, r, plan, o)
			if err := x.Check(got, 1<<19/p.K); err != nil {
				t.Errorf("seed %d: %v %v %v: %v", seed, d, p, plan.Steps[0].Kernel, err)
			}
		}
		o.Free()
	}
	if len(seen) == 0 {
		t.Skip("the driver lists no shapes of VK_KHR_cooperative_matrix (lavapipe does from Mesa 26 on)")
	}
	if rests == 0 {
		t.Error("no product shares the k of its last tiles alone")
	}
	t.Logf("products by type: %v; with shares of the last tiles: %d", seen, rests)
}
