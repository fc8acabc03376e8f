package synth

import (
	"slices"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/shaders"
	"nxvk/synth/spirv"
	"nxvk/synth/spirv/spirvtest"
)

// layer is one of a network: a product, a bias for each column, and an activation that
// keeps what it is applied to.
func (g *sketch) layer(m, k, n int) (sum, out ops.Operand) {
	w, b := g.param(ops.F32, k, n), g.param(ops.F32, n)
	z := g.do(ops.Dot, ops.F32, g.param(ops.F32, m, k), w, attrs{{1}, {}, {0}, {}})
	sum = g.do(ops.Add, ops.F32, z, b)
	return sum, g.do(ops.Max, ops.F32, sum, g.num(ops.F32, 0))
}

// planned is the plan of a unit of g.
func (g *sketch) planned(t *testing.T, u *Unit, target *Target) *Plan {
	t.Helper()
	p, err := LowerUnit(u, func(id ops.ID) ops.Type { return g.types[id] }, target)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What is done to the results of a product is part of its last step, whichever
// kernel that is and however it reaches memory, or a step of its own where there is
// no room for its push constants.
func TestEpilogue(t *testing.T) {
	bound, tight := *gpu, *gpu
	bound.Addresses, tight.MaxPush = false, 80
	for _, c := range []struct {
		name    string
		target  *Target
		m, k, n int
		steps   int
		last    string // the kernel of the last step
	}{
		{"tile", gpu, 64, 24, 32, 1, "gemm_single"},
		{"tile by binding", &bound, 64, 24, 32, 1, "gemm_single"},
		{"whole tile", gpu, 2048, 24, 2048, 1, "gemm_"},
		{"odd columns", gpu, 40, 9, 37, 1, "gemm_single"},
		{"shares of the sum", gpu, 128, 784, 128, 2, "gemm_chunks"},
		{"narrow", gpu, 70, 256, 3, 1, "gemm_narrow"},
		{"narrow shares", gpu, 1, 100000, 1, 2, "gemm_chunks"},
		{"plain", &bound, 5, 6, 7, 1, "gemm_plain"},
		{"no room", &tight, 64, 24, 32, 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newSketch(t)
			sum, out := g.layer(c.m, c.k, c.n)
			g.keep(sum, out)
			units := Units(&g.Graph, c.target)
			wantUnits(t, units, 1)
			p := g.planned(t, &units[0], c.target)
			if len(p.Steps) != c.steps {
				t.Fatalf("%d steps, want %d", len(p.Steps), c.steps)
			}
			last := p.Steps[len(p.Steps)-1]
			if !strings.Contains(last.Kernel.Name, c.last) {
				t.Errorf("the last step is %s, want %s", last.Kernel.Name, c.last)
			}
			for _, s := range p.Steps {
				spirvtest.Validate(t, s.Kernel.Code)
				if len(s.Args) != s.Kernel.Buffers || len(s.Push) != s.Kernel.PushBytes || len(s.Push) > c.target.maxPush() {
					t.Errorf("%d buffers of %d, %d bytes of push constants of %d, at most %d",
						len(s.Args), s.Kernel.Buffers, len(s.Push), s.Kernel.PushBytes, c.target.maxPush())
				}
			}
			written := 0
			for _, a := range last.Args {
				if a.Access == Write && a.Ref.Kind == Result {
					written++
				}
			}
			if written != 2 {
				t.Errorf("the last step writes %d results, want both: %v", written, last.Args)
			}
		})
	}
}

// Every element type has kernels that an epilogue comes into, and results of a
// narrow type are rounded there.
func TestEpilogueTypes(t *testing.T) {
	for _, d := range []ops.DType{ops.F32, ops.F64, ops.S32, ops.U32, ops.S64, ops.U64, ops.BF16, ops.F16, ops.S8, ops.U8} {
		for _, addresses := range []bool{true, false} {
			target := *gpu
			target.Addresses = addresses
			g := newSketch(t)
			z := g.do(ops.Dot, d, g.param(d, 64, 24), g.param(d, 24, 32), attrs{{1}, {}, {0}, {}})
			g.keep(z, g.do(ops.Multiply, d, z, g.param(d, 64, 1)))
			units := Units(&g.Graph, &target)
			wantUnits(t, units, 1)
			whole := g.planned(t, &units[0], &target)
			alone := one(&g.Body[0])
			for _, p := range []*Plan{whole, g.planned(t, &alone, &target)} {
				last := p.Steps[len(p.Steps)-1]
				if !strings.Contains(last.Kernel.Name, "gemm") {
					t.Errorf("%v: the last step is not the product: %s", d, last.Kernel.Name)
				}
				spirvtest.Validate(t, last.Kernel.Code)
			}
		}
	}
}

// Code that loads four elements at once is other code than that which cannot,
// though both take the same numbers.
func TestEpilogueGroups(t *testing.T) {
	names := map[string]bool{}
	for _, n := range []int{36, 37} {
		g := newSketch(t)
		_, out := g.layer(40, 9, n)
		g.keep(out)
		units := Units(&g.Graph, gpu)
		code := g.planned(t, &units[0], gpu).Steps[0].Kernel.Code
		names[contentName(code)] = true
	}
	if len(names) != 2 {
		t.Errorf("%d kernels for rows of 36 and of 37", len(names))
	}
}

// A product takes in what reads its results where they lie, and nothing that it
// reads itself, that is long, that looks at its results elsewhere, or that hardly
// counts beside it.
func TestFuseProducts(t *testing.T) {
	deep := func(g *sketch, x ops.Operand) ops.Operand {
		for range 12 {
			x = g.do(ops.Tanh, ops.F32, x)
		}
		return x
	}
	square := func(g *sketch, x ops.Operand) ops.Operand {
		return g.do(ops.Dot, ops.F32, x, x, attrs{{1}, {}, {0}, {}})
	}
	for _, c := range []struct {
		name  string
		units int
		grow  func(g *sketch) ops.Operand
	}{
		{"residual", 1, func(g *sketch) ops.Operand {
			x := g.param(ops.F32, 64, 64)
			return g.do(ops.Add, ops.F32, square(g, x), x)
		}},
		{"residual that is made", 1, func(g *sketch) ops.Operand {
			x := g.do(ops.Tanh, ops.F32, g.do(ops.Add, ops.F32, g.param(ops.F32, 64, 64), g.param(ops.F32, 64, 64)))
			return g.do(ops.Add, ops.F32, square(g, g.param(ops.F32, 64, 64)), x)
		}},
		{"residual that is also an operand", 2, func(g *sketch) ops.Operand {
			x := g.do(ops.Tanh, ops.F32, g.do(ops.Add, ops.F32, g.param(ops.F32, 64, 64), g.param(ops.F32, 64, 64)))
			return g.do(ops.Add, ops.F32, square(g, x), x)
		}},
		{"two products", 2, func(g *sketch) ops.Operand {
			return g.do(ops.Add, ops.F32, square(g, g.param(ops.F32, 64, 64)), square(g, g.param(ops.F32, 64, 64)))
		}},
		{"a product after another", 2, func(g *sketch) ops.Operand {
			return g.do(ops.Tanh, ops.F32, square(g, g.do(ops.Tanh, ops.F32, square(g, g.param(ops.F32, 64, 64)))))
		}},
		{"transposed", 2, func(g *sketch) ops.Operand {
			z := square(g, g.param(ops.F32, 64, 64))
			return g.do(ops.Add, ops.F32, z, g.do(ops.Transpose, ops.F32, z, attrs{{1, 0}}))
		}},
		{"as another shape", 1, func(g *sketch) ops.Operand {
			z := g.do(ops.Reshape, ops.F32, square(g, g.param(ops.F32, 64, 64)), ops.Shape{4, 16, 64})
			return g.do(ops.Add, ops.F32, z, g.param(ops.F32, 4, 1, 64))
		}},
		{"long", 2, func(g *sketch) ops.Operand { return deep(g, square(g, g.param(ops.F32, 64, 64))) }},
		{"next to nothing", 2, func(g *sketch) ops.Operand {
			return g.do(ops.Exp, ops.F32, square(g, g.param(ops.F32, 4096, 4096)))
		}},
		{"convolution", 1, func(g *sketch) ops.Operand {
			z := g.do(ops.Conv, ops.F32, g.param(ops.F32, 2, 8, 16, 16), g.param(ops.F32, 32, 8, 3, 3), attrs{{1, 1}, {1, 1, 1, 1},
				{1, 1}, {1, 1}, {1}, {1}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}})
			return g.do(ops.Max, ops.F32, g.do(ops.Add, ops.F32, z, g.param(ops.F32, 32, 1, 1)), g.num(ops.F32, 0))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newSketch(t)
			g.keep(c.grow(g))
			units := Units(&g.Graph, gpu)
			wantUnits(t, units, c.units)
			for i := range units {
				g.planned(t, &units[i], gpu)
			}
			off := *gpu
			off.Off = RuleProducts
			for _, u := range Units(&g.Graph, &off) {
				if in := u.contraction(); in != nil && len(u.Body) > 1 {
					t.Errorf("with the rule off:\n%s", show([]Unit{u}))
				}
			}
			if slices.ContainsFunc(Units(&g.Graph, cpu), func(u Unit) bool { return u.contraction() != nil && len(u.Body) > 1 }) {
				t.Error("a processor has something in a product")
			}
		})
	}
}

// A step of training a network of one hidden layer takes four dispatches fewer:
// those of bias and activation, of the gradient of the activation, and of both
// matrices of weights.
func TestEpilogueDispatches(t *testing.T) {
	count := func(target *Target) (n int) {
		g := newSketch(t)
		g.keep(g.mlp(128, 784, 128, 10)...)
		units := Units(&g.Graph, target)
		for i := range units {
			n += len(g.planned(t, &units[i], target).Steps)
		}
		return n
	}
	off := *gpu
	off.Off = RuleProducts
	if with, without := count(gpu), count(&off); with != 11 || without != 15 {
		t.Errorf("%d dispatches, %d without the rule, want 11 and 15", with, without)
	}
}

// Every kernel of package shaders stores its results, one by one and in vectors,
// through functions that an epilogue can take the place of.
func TestStores(t *testing.T) {
	for _, v := range shaders.Variants() {
		code, err := shaders.Code(v.Name)
		if err != nil {
			t.Fatal(err)
		}
		vector := 4
		if strings.Contains(v.Name, "64.") && !strings.HasPrefix(v.Name, "gemm_block") {
			vector = 2
		}
		want := []int{1, vector}
		if v.Source == "gemm_plain.comp" || v.Source == "gemm_chunks.comp" || v.Source == "gemm_narrow.comp" {
			want = want[:1]
		}
		if got := spirv.Stores(code); !slices.Equal(got, want) {
			t.Errorf("%s stores %v at once, want %v", v.Name, got, want)
		}
	}
}
