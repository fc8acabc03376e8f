package gemm

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"nxvk/ops"
	"nxvk/synth/gemm"
	"nxvk/vulkan"
)

func open(t testing.TB) *Runner {
	t.Helper()
	d, err := vulkan.Open(os.Getenv("NXVK_DEVICE"), vulkan.Options{
		Watchdog:   -1, // a busy machine is no lost device
		Validation: os.Getenv("NXVK_VALIDATION") != "0",
		OnMessage:  func(severity, text string) { t.Errorf("%s: %s", severity, text) },
	})
	if errors.Is(err, vulkan.ErrNoVulkan) || errors.Is(err, vulkan.ErrNoDevice) {
		t.Skipf("no device: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return New(d)
}

// layout says how an operand of a case is stored.
type layout uint8

const (
	rowMajor layout = iota
	colMajor
	padded    // rows with a gap of four elements
	oddly     // rows with a gap of one
	scattered // no stride is 1
)

func (l layout) strides(rows, cols int) (s gemm.Strides, size int) {
	switch l {
	case colMajor:
		return gemm.Strides{Row: 1, Col: rows, Batch: rows * cols}, rows * cols
	case padded:
		return gemm.Strides{Row: cols + 4, Col: 1, Batch: rows * (cols + 4)}, rows * (cols + 4)
	case oddly:
		return gemm.Strides{Row: cols + 1, Col: 1, Batch: rows * (cols + 1)}, rows * (cols + 1)
	case scattered:
		return gemm.Strides{Row: 2 * cols, Col: 2, Batch: 2 * rows * cols}, 2 * rows * cols
	}
	return gemm.Strides{Row: cols, Col: 1, Batch: rows * cols}, rows * cols
}

// product is one case: a problem with its operands.
type product struct {
	gemm.Problem
	e    element
	a, b []byte
}

func newProduct(d ops.DType, m, n, k, batch int, la, lb layout) *product {
	p := &product{Problem: gemm.Problem{Type: d, M: m, N: n, K: k, Batch: batch}, e: elements[d]}
	var na, nb int
	p.A, na = la.strides(m, k)
	p.B, nb = lb.strides(k, n)
	r := rand.New(rand.NewPCG(uint64(m*n), uint64(k)))
	fill := func(n int) []byte {
		b := make([]byte, n*batch*p.e.size)
		for i := 0; i < len(b); i += p.e.size {
			p.e.random(b[i:], r)
		}
		return b
	}
	p.a, p.b = fill(na), fill(nb)
	return p
}

// upload puts the operands on the device, and makes a result full of garbage.
func (p *product) upload(t testing.TB, r *Runner) *Operands {
	t.Helper()
	o := &Operands{}
	s := r.Device.Stream()
	put := func(data []byte) *vulkan.Buffer {
		b, err := r.Device.Alloc(len(data))
		if err == nil {
			err = s.Upload(b, 0, data)
		}
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	o.A, o.B = put(p.a), put(p.b)
	o.C = put(bytes.Repeat([]byte{0xad, 0xde, 0xc0, 0x7f}, p.M*p.N*p.Batch*p.e.size/4))
	if err := r.Finish(s); err != nil {
		t.Fatal(err)
	}
	return o
}

// run carries a plan out on the device.
func (p *product) run(t testing.TB, r *Runner, plan *gemm.Plan) []byte {
	t.Helper()
	o := p.upload(t, r)
	defer o.Free()
	return runPlan(t, r, plan, o)
}

// runPlan runs a plan on the device and returns the result.
func runPlan(t testing.TB, r *Runner, plan *gemm.Plan, o *Operands) []byte {
	t.Helper()
	s := r.Device.Stream()
	err := r.Reserve(o, plan)
	if err == nil {
		err = r.Record(s, plan, o)
	}
	if err == nil {
		err = r.Finish(s)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.Read(o.C)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// verify compares with the chain of products in the order of k; inexact allows
// another order of floating-point sums.
func (p *product) verify(t *testing.T, out []byte, inexact bool) {
	t.Helper()
	for z := range p.Batch {
		for m := range p.M {
			for n := range p.N {
				var fused, unfused uint64
				for k := range p.K {
					a := p.e.get(p.a, z*p.A.Batch+m*p.A.Row+k*p.A.Col)
					b := p.e.get(p.b, z*p.B.Batch+k*p.B.Row+n*p.B.Col)
					fused, unfused = p.e.add(a, b, fused), p.e.unfused(a, b, unfused)
				}
				got := p.e.get(out, (z*p.M+m)*p.N+n)
				if got == fused || got == unfused || inexact && p.e.close(got, fused, 4*float64(p.K)) {
					continue
				}
				t.Errorf("%v %dx%dx%d batch %d: result [%d,%d,%d] is %#x, want %#x or %#x",
					p.Type, p.M, p.N, p.K, p.Batch, z, m, n, got, fused, unfused)
				return
			}
		}
	}
}

var full = flag.Bool("full", false, "run every tile in every shape")

// seeds is how many cases a test draws: few, or all with -full.
func seeds(few, all uint64) uint64 {
	if *full {
		return all
	}
	return few
}

var types = []ops.DType{ops.F32, ops.F64, ops.U32, ops.S64}

// TestTiles runs every tile in shapes inside, at and beyond its edges.
func TestTiles(t *testing.T) {
	r := open(t)
	shapes := [][3]int{{1, 1, 1}, {7, 9, 3}, {64, 128, 16}, {65, 129, 17}, {128, 256, 64}, {129, 257, 63}, {40, 300, 36}}
	layouts := [][2]layout{{rowMajor, rowMajor}, {rowMajor, colMajor}, {colMajor, rowMajor}, {colMajor, colMajor}, {oddly, padded}}
	for _, d := range types {
		if d.IsInteger() && !*full {
			continue
		}
		for i, c := range gemm.Tiles(d, *full) {
			for j, s := range shapes {
				// a different pair of layouts for each tile and shape
				l := layouts[(i+j)%len(layouts)]
				if !*full && (i+j)%len(shapes) != 0 {
					continue // compiling a tile takes a processor seconds
				}
				t.Run(fmt.Sprintf("%v/%v/%v", d, c, s), func(t *testing.T) {
					p := newProduct(d, s[0], s[1], s[2], 1+j%2, l[0], l[1])
					plan, err := gemm.WithTile(p.Problem, c, 1, &r.Target)
					if errors.Is(err, gemm.ErrTooLarge) {
						t.Skip(err)
					}
					if err != nil {
						t.Fatal(err)
					}
					p.verify(t, p.run(t, r, plan), false)
				})
			}
		}
	}
}

// TestProducts runs what New chooses: on a processor as such, and, with the
// kernels of GPUs, in both memory modes.
func TestProducts(t *testing.T) {
	r := open(t)
	for _, mode := range []struct {
		name   string
		target func(t gemm.Target) gemm.Target
	}{
		{"processor", func(t gemm.Target) gemm.Target { t.CPU, t.Addresses = true, false; return t }},
		{"bindings", func(t gemm.Target) gemm.Target { t.CPU, t.Addresses = false, false; return t }},
		{"addresses", func(t gemm.Target) gemm.Target { t.CPU, t.Addresses = false, true; return t }},
	} {
		t.Run(mode.name, func(t *testing.T) {
			x := &Runner{Device: r.Device, Target: mode.target(r.Target), pipes: make(map[string]*vulkan.Pipeline)}
			for i, s := range sampled {
				d := types[i%len(types)]
				t.Run(fmt.Sprintf("%v/%v", d, s), func(t *testing.T) {
					p := newProduct(d, s.m, s.n, s.k, s.batch, s.a, s.b)
					plan, err := gemm.New(p.Problem, &x.Target)
					if err != nil {
						t.Fatal(err)
					}
					p.verify(t, p.run(t, x, plan), s.k >= 128)
				})
			}
		})
	}
}

type sample struct {
	m, n, k, batch int
	a, b           layout
}

// sampled has odd and even sizes about those of blocks and tiles, every pair
// of layouts, batches, vectors, and sums that are shared out.
var sampled = []sample{
	{1, 1, 1, 1, rowMajor, rowMajor},
	{1, 1, 5000, 1, rowMajor, rowMajor},
	{3, 7, 9, 3, rowMajor, colMajor},
	{8, 8, 8, 1, colMajor, rowMajor},
	{9, 65, 7, 2, rowMajor, rowMajor},
	{63, 9, 65, 1, colMajor, colMajor},
	{65, 63, 1, 1, rowMajor, rowMajor},
	{64, 64, 64, 2, rowMajor, rowMajor},
	{127, 129, 63, 1, rowMajor, colMajor},
	{129, 127, 255, 1, colMajor, rowMajor},
	{1, 257, 129, 1, rowMajor, rowMajor},
	{257, 1, 300, 1, rowMajor, rowMajor},
	{33, 3, 130, 2, oddly, rowMajor},
	{5, 40, 256, 2, rowMajor, colMajor},
	{40, 50, 20, 2, scattered, rowMajor},
	{70, 90, 33, 1, padded, oddly},
	{48, 64, 512, 1, rowMajor, rowMajor},
	{12, 44, 260, 3, padded, colMajor},
	{64, 100, 2100, 1, colMajor, padded},
	{2, 3, 4, 300, rowMajor, rowMajor},
}

// TestFoldedGrids limits the grid, so that lines and batches fold.
func TestFoldedGrids(t *testing.T) {
	r := open(t)
	for _, cpu := range []bool{true, false} {
		target := r.Target
		target.CPU, target.MaxGroups = cpu, [3]uint32{3, 65535, 2}
		for _, s := range []sample{{100, 300, 20, 5, rowMajor, rowMajor}, {5, 3, 7, 9, rowMajor, rowMajor},
			{30, 4, 200, 5, rowMajor, rowMajor}, {64, 64, 512, 3, rowMajor, rowMajor}} {
			p := newProduct(ops.F32, s.m, s.n, s.k, s.batch, s.a, s.b)
			plan, err := gemm.New(p.Problem, &target)
			if err != nil {
				t.Fatal(err)
			}
			p.verify(t, p.run(t, r, plan), true)
		}
	}
}

// TestLarge runs the kernel of processors with the blocks of large products.
func TestLarge(t *testing.T) {
	r := open(t)
	target := r.Target
	target.CPU = true
	p := newProduct(ops.F32, 1001, 521, 1039, 1, rowMajor, colMajor)
	plan, err := gemm.New(p.Problem, &target)
	if err != nil {
		t.Fatal(err)
	}
	if rows := plan.Steps[0].Kernel.Spec[1]; rows != 32 {
		t.Errorf("blocks of %d rows, want 32", rows)
	}
	p.verify(t, p.run(t, r, plan), true)
}

// TestParts cuts products into dispatches, as large ones are.
func TestParts(t *testing.T) {
	r := open(t)
	for _, cpu := range []bool{true, false} {
		target := r.Target
		target.CPU, target.MaxFlops = cpu, 1<<17
		for _, s := range []sample{{100, 300, 20, 1, rowMajor, rowMajor}, {40, 40, 30, 5, rowMajor, rowMajor},
			{3000, 2, 128, 2, rowMajor, rowMajor}} {
			p := newProduct(ops.F32, s.m, s.n, s.k, s.batch, s.a, s.b)
			plan, err := gemm.New(p.Problem, &target)
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.Steps) < 3 {
				t.Errorf("%v: %d steps, want at least 3", s, len(plan.Steps))
			}
			p.verify(t, p.run(t, r, plan), true)
		}
	}
}
