package gemm

import (
	"errors"
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
		Validation: true,
		OnMessage:  func(severity, text string) { t.Errorf("%s: %s", severity, text) },
	})
	if errors.Is(err, vulkan.ErrNoVulkan) || errors.Is(err, vulkan.ErrNoDevice) {
		t.Skipf("SKIP no device: %v", err)
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

// run carries a plan out on the device, over a result full of garbage.
func (p *product) run(t *testing.T, r *Runner, plan *gemm.Plan) []byte {
	t.Helper()
	o := &Operands{}
	for _, x := range []struct {
		b    **vulkan.Buffer
		size int
	}{{&o.A, len(p.a)}, {&o.B, len(p.b)}, {&o.C, p.M * p.N * p.Batch * p.e.size}} {
		b, err := r.Device.Alloc(x.size)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Free()
		*x.b = b
	}
	s := r.Device.Stream()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(s.Upload(o.A, 0, p.a))
	check(s.Upload(o.B, 0, p.b))
	check(s.Fill(vulkan.WriteOnly(o.C), 0x7fc0dead, o.C.Len()))
	check(r.Reserve(o, plan))
	if o.Partial != nil {
		defer o.Partial.Free()
	}
	check(r.Record(s, plan, o))
	check(r.Finish(s))
	out, err := r.Read(o.C)
	check(err)
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

var types = []ops.DType{ops.F32, ops.F64, ops.U32, ops.S64}

// TestTiles runs every tile in shapes inside, at and beyond its edges.
func TestTiles(t *testing.T) {
	r := open(t)
	shapes := [][3]int{{1, 1, 1}, {7, 9, 3}, {64, 128, 16}, {65, 129, 17}, {128, 256, 64}, {129, 257, 63}, {40, 300, 36}}
	layouts := [][2]layout{{rowMajor, rowMajor}, {rowMajor, colMajor}, {colMajor, rowMajor}, {colMajor, colMajor}, {oddly, padded}}
	for _, d := range types {
		for i, c := range gemm.Tiles(d.Size()) {
			for j, s := range shapes {
				// a different pair of layouts for each tile and shape
				l := layouts[(i+j)%len(layouts)]
				if testing.Short() && (i+j)%3 != 0 {
					continue
				}
				t.Run(fmt.Sprintf("%v/%v/%v", d, c, s), func(t *testing.T) {
					p := newProduct(d, s[0], s[1], s[2], 1+j%2, l[0], l[1])
					plan, err := gemm.WithTile(p.Problem, c, 1, &r.Target)
					if err != nil {
						t.Fatal(err)
					}
					p.verify(t, p.run(t, r, plan), false)
				})
			}
		}
	}
}
