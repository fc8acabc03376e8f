package gemm

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/gemm"
	"nxvk/vulkan"
)

// guard is how many bytes before and after what a kernel may touch are looked after:
// more than a row of a tile, and where buffers may begin.
const guard = 1 << 14

// Bytes of which all elements are NaN, or large.
const poison = 0xff

// guarded is a buffer with memory around it that nobody may touch. A read there spoils
// a result, and a write there is seen.
type guarded struct {
	*vulkan.Buffer
	n int
}

func (r *Runner) guarded(t *testing.T, data []byte, n int) guarded {
	t.Helper()
	whole := bytes.Repeat([]byte{poison}, guard+(n+3)/4*4+guard)
	copy(whole[guard:], data)
	b, err := r.Device.Alloc(len(whole))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Free)
	s := r.Device.Stream()
	if err := s.Upload(b, 0, whole); err != nil {
		t.Fatal(err)
	}
	if err := r.Finish(s); err != nil {
		t.Fatal(err)
	}
	return guarded{b, n}
}

// inside is what is within the guards, which are untouched.
func (g *guarded) inside(t *testing.T, r *Runner) []byte {
	t.Helper()
	whole, err := r.Read(g.Buffer)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range whole {
		if (i < guard || i >= guard+g.n) && x != poison {
			t.Fatalf("byte %d of %d was written", i-guard, g.n)
		}
	}
	return whole[guard : guard+g.n]
}

// carryOut runs a plan on buffers with guards and gives the result.
func (p *product) carryOut(t *testing.T, r *Runner, plan *gemm.Plan) []byte {
	t.Helper()
	buffers := [...]guarded{gemm.A: r.guarded(t, p.a, len(p.a)), gemm.B: r.guarded(t, p.b, len(p.b)),
		gemm.C: r.guarded(t, nil, p.M*p.N*p.Batch*p.e.size), gemm.Partial: r.guarded(t, nil, int(plan.Partial))}
	s := r.Device.Stream()
	for i := range plan.Steps {
		st := &plan.Steps[i]
		pipe, err := r.Pipeline(st)
		if err != nil {
			t.Fatal(err)
		}
		var args []vulkan.Arg
		for j, b := range []gemm.Buffer{st.In[0], st.In[1], st.Out} {
			a := vulkan.Arg{Buffer: buffers[b].Buffer, Offset: guard, Size: buffers[b].n, Access: vulkan.Read}
			if j == 2 {
				a.Access = vulkan.Write
			}
			args = append(args, a)
		}
		if err := s.Dispatch(pipe, args, st.Push, st.Grid[0], st.Grid[1], st.Grid[2]); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Finish(s); err != nil {
		t.Fatal(err)
	}
	for _, b := range []gemm.Buffer{gemm.A, gemm.B, gemm.Partial} {
		buffers[b].inside(t, r)
	}
	return buffers[gemm.C].inside(t, r)
}

// drawProduct draws a product whose sizes are about the edges of tiles, in any layout.
func drawProduct(r *rand.Rand) *product {
	size := func() int {
		if r.IntN(3) == 0 {
			return max(1, 32*(1+r.IntN(4))+r.IntN(3)-1)
		}
		return 1 + r.IntN(130)
	}
	m, n, k := size(), size(), size()
	switch r.IntN(5) {
	case 0:
		k = 256 + r.IntN(300) // shared out
	case 1:
		m = 1 + r.IntN(9) // narrow
	}
	d := types[min(r.IntN(7), 6)/2]
	return newProduct(d, m, n, k, 1+r.IntN(3)/2*2, layout(r.IntN(5)), layout(r.IntN(5)))
}

// No kernel reads or writes beyond its operands and its result, whatever the sizes.
func TestGuards(t *testing.T) {
	r := open(t)
	count := seeds(40, 2000)
	for name, target := range targets(r.Target) {
		t.Run(name, func(t *testing.T) {
			x := &Runner{Device: r.Device, Target: target, pipes: make(map[string]*vulkan.Pipeline)}
			for seed := range count {
				rng := rand.New(rand.NewPCG(seed, 12))
				p := drawProduct(rng)
				plan, err := gemm.New(p.Problem, &x.Target)
				if err != nil {
					t.Fatal(err)
				}
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					p.verify(t, p.carryOut(t, x, plan), plan.Partial > 0 || p.K >= 128)
				})
			}
			t.Logf("%d products made %d pipelines", count, len(x.pipes))
		})
	}
}

// Tiles of a type that the device takes at their edges, in all layouts.
func TestTileGuards(t *testing.T) {
	r := open(t)
	r.Target.CPU, r.Target.Addresses = false, true
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 13))
		d := []ops.DType{ops.F32, ops.F64}[seed%2]
		var c gemm.Tile
		var p *product
		plan, err := (*gemm.Plan)(nil), gemm.ErrTooLarge
		for errors.Is(err, gemm.ErrTooLarge) {
			tiles := gemm.Tiles(d, false)
			c = tiles[rng.IntN(len(tiles))]
			m, n := c.Rows*8*c.WarpsM*(1+rng.IntN(2))+rng.IntN(6)-3, c.Cols*4*c.WarpsN*(1+rng.IntN(2))+rng.IntN(6)-3
			p = newProduct(d, m, n, 1+rng.IntN(70), 1, layout(rng.IntN(4)), layout(rng.IntN(4)))
			plan, err = gemm.WithTile(p.Problem, c, 1, &r.Target)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("%v %v %dx%dx%d", d, c, p.M, p.N, p.K), func(t *testing.T) {
			p.verify(t, p.carryOut(t, r, plan), false)
		})
	}
}

// targets are the ways in which kernels reach memory, and those of processors.
func targets(t gemm.Target) map[string]gemm.Target {
	bindings, addresses := t, t
	t.CPU, t.Addresses = true, false
	bindings.CPU, bindings.Addresses = false, false
	addresses.CPU, addresses.Addresses = false, true
	return map[string]gemm.Target{"processor": t, "bindings": bindings, "addresses": addresses}
}
