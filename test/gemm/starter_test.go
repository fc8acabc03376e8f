package gemm

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/gemm"
	"nxvk/vulkan"
)

// started is a plan with the starters of its kernels; ok is false where it has none.
func started(p *gemm.Plan) (q *gemm.Plan, ok bool) {
	c := *p
	c.Steps = append([]gemm.Step(nil), p.Steps...)
	for i := range c.Steps {
		if s := c.Steps[i].Kernel.Starter; s != nil {
			c.Steps[i].Kernel, ok = *s, true
		}
	}
	return &c, ok
}

// A starter gives the bits of the kernel that it stands for, with every tile, in shapes at and beyond its edges.
func TestStarters(t *testing.T) {
	for _, d := range []ops.DType{ops.F32, ops.F64, ops.S32, ops.U64} {
		t.Run(d.String(), func(t *testing.T) { testStarters(t, open(t), d) })
	}
}

func testStarters(t *testing.T, r *Runner, d ops.DType) {
	shapes := [][3]int{{65, 129, 17}, {128, 256, 64}, {7, 9, 3}, {129, 257, 63}, {40, 300, 300}}
	layouts := [][2]layout{{rowMajor, rowMajor}, {colMajor, rowMajor}, {rowMajor, colMajor}, {oddly, padded}}
	ran := 0
	for _, addresses := range []bool{true, false} {
		x := &Runner{Device: r.Device, Target: r.Target, pipes: make(map[string]*vulkan.Pipeline)}
		x.Target.CPU, x.Target.Addresses = false, addresses
		for i, c := range gemm.Tiles(d, *full) {
			for j, s := range shapes {
				if !*full && ((i+j)%len(shapes) != 0 || addresses != (i%2 == 0)) {
					continue // compiling a tile takes a processor seconds
				}
				l := layouts[(i+j)%len(layouts)]
				p := newProduct(d, s[0], s[1], s[2], 1+j%2, l[0], l[1])
				plan, err := gemm.WithTile(p.Problem, c, 1+j%2, &x.Target)
				if err != nil {
					continue
				}
				first, ok := started(plan)
				if !ok {
					t.Fatalf("%v: no starter", c)
				}
				ran++
				if want, got := p.run(t, x, plan), p.run(t, x, first); !bytes.Equal(want, got) {
					t.Errorf("%v, addresses %v: other bits than %v", c, addresses, s)
				}
			}
		}
	}
	if ran < 2 {
		t.Errorf("%d tiles have run", ran)
	}
}

// The same on matrix hardware.
func TestMatrixStarters(t *testing.T) {
	r := open(t)
	r.Target = MatrixTarget(r.Device.Info())
	if len(r.Target.Matrices) == 0 {
		t.Skip("the driver lists no shapes of VK_KHR_cooperative_matrix (lavapipe does from Mesa 26 on)")
	}
	ran := 0
	for seed := range seeds(16, 600) {
		rng := rand.New(rand.NewPCG(seed, 16))
		p, shape, ok := drawOnMatrices(rng, seed, &r.Target)
		if !ok {
			continue
		}
		tiles := gemm.MatrixTiles(shape, false)
		if shape.Small { // they have little code, and no starters
			tiles = []gemm.MatrixTile{{FM: 2, FN: 2, WarpsM: 1, WarpsN: 1, WarpsK: 1, TileK: 32}, {FM: 1, FN: 2, WarpsM: 2, WarpsN: 1, WarpsK: 1, TileK: 32}, {Double: true, FM: 2, FN: 2, WarpsM: 1, WarpsN: 1, WarpsK: 1, TileK: 32},
				{FM: 1, FN: 2, WarpsM: 1, WarpsN: 1, WarpsK: 4, TileK: 32}, {FM: 2, FN: 1, WarpsM: 1, WarpsN: 1, WarpsK: 8, TileK: 32}}
		}
		rest := []gemm.Rest{{}, {Tiles: 1 + rng.IntN(9), Shares: 2 + rng.IntN(3)}}[rng.IntN(2)]
		plan, err := gemm.WithMatrixTile(p, tiles[rng.IntN(len(tiles))], 1+rng.IntN(3), rest, &r.Target)
		if err != nil {
			continue
		}
		first, ok := started(plan)
		if !ok {
			continue
		}
		x := Random(p, seed)
		o, err := x.Upload(r)
		if err != nil {
			t.Fatal(err)
		}
		ran++
		if want, got := runPlan(t, r, plan, o), runPlan(t, r, first, o); !bytes.Equal(want, got) {
			t.Errorf("seed %d: %v: %v has other bits than %v", seed, p, first.Steps[0].Kernel, plan.Steps[0].Kernel)
		}
		o.Free()
	}
	if ran == 0 {
		t.Error("no kernel has a starter")
	}
	t.Logf("%d products", ran)
}
