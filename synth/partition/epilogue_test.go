package partition_test

import (
	"slices"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/shaders"
	"nxvk/synth"
	"nxvk/synth/codegen"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/spirv"
	"nxvk/synth/spirv/spirvtest"
	"nxvk/synth/synthtest"
)

// The last step of a product executes the epilogue, in every kernel and by bindings
// and addresses; if push constants have no room, the epilogue is a step of its own.
func TestEpilogue(t *testing.T) {
	bound, tight := *synthtest.GPU, *synthtest.GPU
	bound.Addresses, tight.MaxPush = false, 80
	for _, c := range []struct {
		name    string
		target  *lowering.Target
		m, k, n int
		steps   int
		last    string // the kernel of the last step
	}{
		{"tile", synthtest.GPU, 64, 24, 32, 1, "gemm_single"},
		{"tile by binding", &bound, 64, 24, 32, 1, "gemm_single"},
		{"whole tile", synthtest.GPU, 2048, 24, 2048, 1, "gemm_"},
		{"odd columns", synthtest.GPU, 40, 9, 37, 1, "gemm_single"},
		{"shares of the sum", synthtest.GPU, 128, 784, 128, 2, "gemm_chunks"},
		{"one vector", synthtest.GPU, 70, 256, 1, 1, "gemm_narrow"},
		{"scattered vectors", synthtest.GPU, 70, 256, 3, 2, "gemm_narrow"},
		{"a vector times a matrix", synthtest.GPU, 1, 256, 500, 1, ""}, // its code is not written by hand
		{"vectors times a matrix", synthtest.GPU, 3, 256, 500, 1, "gemm_wide"},
		{"narrow shares", synthtest.GPU, 1, 100000, 1, 2, "gemm_chunks"},
		{"plain", &bound, 5, 6, 7, 1, "gemm_plain"},
		{"no room", &tight, 64, 24, 32, 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := synthtest.NewSketch(t)
			sum, out := g.Layer(c.m, c.k, c.n)
			g.Return(sum, out)
			fusions := synth.Fuse(&g.Graph, c.target)
			wantFusions(t, fusions, 1)
			p := g.Planned(t, &fusions[0], c.target)
			if len(p.Steps) != c.steps {
				t.Fatalf("%d steps, want %d", len(p.Steps), c.steps)
			}
			last := p.Steps[len(p.Steps)-1]
			if !strings.Contains(last.Kernel.Name, c.last) {
				t.Errorf("the last step is %s, want %s", last.Kernel.Name, c.last)
			}
			for _, s := range p.Steps {
				spirvtest.Validate(t, s.Kernel.Code)
				if len(s.Args) != s.Kernel.Buffers || len(s.Push) != s.Kernel.PushBytes || len(s.Push) > c.target.PushBytes() {
					t.Errorf("%d buffers of %d, %d bytes of push constants of %d, at most %d",
						len(s.Args), s.Kernel.Buffers, len(s.Push), s.Kernel.PushBytes, c.target.PushBytes())
				}
			}
			written := 0
			for _, a := range last.Args {
				if a.Access == lowering.Write && a.Ref.Kind == lowering.Result {
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
			target := *synthtest.GPU
			target.Addresses = addresses
			g := synthtest.NewSketch(t)
			z := g.Do(ops.Dot, d, g.Param(d, 64, 24), g.Param(d, 24, 32), synthtest.Attrs{{1}, {}, {0}, {}})
			g.Return(z, g.Do(ops.Multiply, d, z, g.Param(d, 64, 1)))
			fusions := synth.Fuse(&g.Graph, &target)
			wantFusions(t, fusions, 1)
			whole := g.Planned(t, &fusions[0], &target)
			alone := synthtest.One(&g.Body[0])
			for _, p := range []*lowering.Plan{whole, g.Planned(t, &alone, &target)} {
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
		g := synthtest.NewSketch(t)
		_, out := g.Layer(40, 9, n)
		g.Return(out)
		fusions := synth.Fuse(&g.Graph, synthtest.GPU)
		code := g.Planned(t, &fusions[0], synthtest.GPU).Steps[0].Kernel.Code
		names[codegen.HashName(code)] = true
	}
	if len(names) != 2 {
		t.Errorf("%d kernels for rows of 36 and of 37", len(names))
	}
}

// Results of matrix hardware leave eight bytes at once, also where rows begin anywhere: an epilogue stores neighbours in a row
// of the product together, unless rows of what it reads are shorter.
func TestEpilogueOddRows(t *testing.T) {
	target := *synthtest.GPU
	target.Matrices = []synth.Matrix{{Type: ops.BF16, M: 16, N: 16, K: 16}}
	const n = 1023
	for _, c := range []struct {
		name     string
		together bool
		after    func(g *synthtest.Sketch, z ops.Operand) ops.Operand
	}{
		{"alone", true, func(_ *synthtest.Sketch, z ops.Operand) ops.Operand { return z }},
		{"bias", true, func(g *synthtest.Sketch, z ops.Operand) ops.Operand {
			return g.Do(ops.Add, ops.BF16, z, g.Param(ops.BF16, n))
		}},
		{"residual", true, func(g *synthtest.Sketch, z ops.Operand) ops.Operand {
			return g.Do(ops.Add, ops.BF16, z, g.Param(ops.BF16, 512, n))
		}},
		{"factors of columns", true, func(g *synthtest.Sketch, z ops.Operand) ops.Operand {
			return g.Do(ops.Multiply, ops.BF16, z, g.Param(ops.BF16, 512, 1))
		}},
		{"short rows", false, func(g *synthtest.Sketch, z ops.Operand) ops.Operand {
			return g.Do(ops.Multiply, ops.BF16, g.Do(ops.Reshape, ops.BF16, z, ops.Shape{512, n / 33, 33}), g.Param(ops.BF16, 33))
		}},
	} {
		g := synthtest.NewSketch(t)
		g.Return(c.after(g, g.Do(ops.Dot, ops.BF16, g.Param(ops.BF16, 512, 256), g.Param(ops.BF16, 256, n), synthtest.Attrs{{1}, {}, {0}, {}})))
		fusions := synth.Fuse(&g.Graph, &target)
		wantFusions(t, fusions, 1)
		steps := g.Planned(t, &fusions[0], &target).Steps
		last := steps[len(steps)-1].Kernel
		if !strings.Contains(last.Name, "matrix_") {
			t.Errorf("%s: the last kernel is %s", c.name, last.Name)
		}
		const decorate, arrayStride = 4<<16 | 71, 6
		together := false
		for i := range last.Code[:len(last.Code)-3] {
			together = together || last.Code[i] == decorate && last.Code[i+2] == arrayStride && last.Code[i+3] == 8
		}
		if together != c.together {
			t.Errorf("%s: results of eight bytes are stored together: %v", c.name, together)
		}
	}
}

// A product takes in operations that read its results in place. It takes in none
// that it reads itself, that are long, that read its results at other indices, or
// whose cost hardly counts.
func TestFuseProducts(t *testing.T) {
	deep := func(g *synthtest.Sketch, x ops.Operand) ops.Operand {
		for range 12 {
			x = g.Do(ops.Tanh, ops.F32, x)
		}
		return x
	}
	square := func(g *synthtest.Sketch, x ops.Operand) ops.Operand {
		return g.Do(ops.Dot, ops.F32, x, x, synthtest.Attrs{{1}, {}, {0}, {}})
	}
	for _, c := range []struct {
		name    string
		fusions int
		grow    func(g *synthtest.Sketch) ops.Operand
	}{
		{"residual", 1, func(g *synthtest.Sketch) ops.Operand {
			x := g.Param(ops.F32, 64, 64)
			return g.Do(ops.Add, ops.F32, square(g, x), x)
		}},
		{"residual that is made", 1, func(g *synthtest.Sketch) ops.Operand {
			x := g.Do(ops.Tanh, ops.F32, g.Do(ops.Add, ops.F32, g.Param(ops.F32, 64, 64), g.Param(ops.F32, 64, 64)))
			return g.Do(ops.Add, ops.F32, square(g, g.Param(ops.F32, 64, 64)), x)
		}},
		{"residual that is also an operand", 2, func(g *synthtest.Sketch) ops.Operand {
			x := g.Do(ops.Tanh, ops.F32, g.Do(ops.Add, ops.F32, g.Param(ops.F32, 64, 64), g.Param(ops.F32, 64, 64)))
			return g.Do(ops.Add, ops.F32, square(g, x), x)
		}},
		{"two products", 2, func(g *synthtest.Sketch) ops.Operand {
			return g.Do(ops.Add, ops.F32, square(g, g.Param(ops.F32, 64, 64)), square(g, g.Param(ops.F32, 64, 64)))
		}},
		{"a product after another", 2, func(g *synthtest.Sketch) ops.Operand {
			return g.Do(ops.Tanh, ops.F32, square(g, g.Do(ops.Tanh, ops.F32, square(g, g.Param(ops.F32, 64, 64)))))
		}},
		{"transposed", 2, func(g *synthtest.Sketch) ops.Operand {
			z := square(g, g.Param(ops.F32, 64, 64))
			return g.Do(ops.Add, ops.F32, z, g.Do(ops.Transpose, ops.F32, z, synthtest.Attrs{{1, 0}}))
		}},
		{"as another shape", 1, func(g *synthtest.Sketch) ops.Operand {
			z := g.Do(ops.Reshape, ops.F32, square(g, g.Param(ops.F32, 64, 64)), ops.Shape{4, 16, 64})
			return g.Do(ops.Add, ops.F32, z, g.Param(ops.F32, 4, 1, 64))
		}},
		{"long", 2, func(g *synthtest.Sketch) ops.Operand { return deep(g, square(g, g.Param(ops.F32, 64, 64))) }},
		{"next to nothing", 2, func(g *synthtest.Sketch) ops.Operand {
			return g.Do(ops.Exp, ops.F32, square(g, g.Param(ops.F32, 4096, 4096)))
		}},
		{"convolution", 1, func(g *synthtest.Sketch) ops.Operand {
			z := g.Do(ops.Conv, ops.F32, g.Param(ops.F32, 2, 8, 16, 16), g.Param(ops.F32, 32, 8, 3, 3), synthtest.Attrs{{1, 1}, {1, 1, 1, 1},
				{1, 1}, {1, 1}, {1}, {1}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}})
			return g.Do(ops.Max, ops.F32, g.Do(ops.Add, ops.F32, z, g.Param(ops.F32, 32, 1, 1)), g.Num(ops.F32, 0))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := synthtest.NewSketch(t)
			g.Return(c.grow(g))
			fusions := synth.Fuse(&g.Graph, synthtest.GPU)
			wantFusions(t, fusions, c.fusions)
			for i := range fusions {
				g.Planned(t, &fusions[i], synthtest.GPU)
			}
			off := *synthtest.GPU
			off.Off = lowering.RuleProducts
			for _, u := range synth.Fuse(&g.Graph, &off) {
				if in := u.Contraction(); in != nil && len(u.Body) > 1 {
					t.Errorf("with the rule off:\n%s", synthtest.Show([]fusion.Fusion{u}))
				}
			}
			if slices.ContainsFunc(synth.Fuse(&g.Graph, synthtest.CPU), func(u fusion.Fusion) bool { return u.Contraction() != nil && len(u.Body) > 1 }) {
				t.Error("a processor has something in a product")
			}
		})
	}
}

// A step of training a network of one hidden layer takes four dispatches fewer:
// those of bias and activation, of the gradient of the activation, and of both
// matrices of weights.
func TestEpilogueDispatches(t *testing.T) {
	count := func(target *lowering.Target) (n int) {
		g := synthtest.NewSketch(t)
		g.Return(g.Mlp(128, 784, 128, 10)...)
		fusions := synth.Fuse(&g.Graph, target)
		for i := range fusions {
			n += len(g.Planned(t, &fusions[i], target).Steps)
		}
		return n
	}
	off := *synthtest.GPU
	off.Off = lowering.RuleProducts
	if with, without := count(synthtest.GPU), count(&off); with != 11 || without != 15 {
		t.Errorf("%d dispatches, %d without the rule, want 11 and 15", with, without)
	}
}

// Every kernel of package shaders stores its results, one by one and in vectors,
// through functions that an epilogue can take the place of. Those of attention have
// functions for logits and their mask, or for expressions of their gradient. The trial of matrix hardware and the kernel of
// small collectives have no epilogue.
func TestStores(t *testing.T) {
	for _, v := range shaders.Variants() {
		if v.Source == "matrix_alike.comp" || v.Source == "relay.comp" {
			continue
		}
		code, err := shaders.Code(v.Name)
		if err != nil {
			t.Fatal(err)
		}
		vector := 4
		if strings.Contains(v.Name, "64.") && !strings.HasPrefix(v.Name, "gemm_block") {
			vector = 2
		}
		want := []spirv.Stored{{Vectors: 1, Elements: 1}, {Vectors: 1, Elements: vector}}
		switch v.Source {
		case "gemm_plain.comp", "gemm_small.comp", "gemm_chunks.comp", "gemm_narrow.comp", "gemm_wide.comp":
			want = want[:1]
		case "attention_matrix.comp":
			want = nil
			for _, c := range []spirv.Called{{Words: 3, Takes: 1, Gives: scalar.F32}, {Words: 5, Gives: scalar.U32}, {Words: 1, Gives: scalar.F32}} {
				if !slices.Contains(spirv.Calls(code), c) {
					t.Errorf("%s has no function of %+v", v.Name, c)
				}
			}
		case "attention_matrix_gradient.comp":
			want = nil
			for _, c := range []spirv.Called{{Words: 4, Takes: 10, Gives: scalar.F32}, {Words: 3, Gives: scalar.F32}} {
				if !slices.Contains(spirv.Calls(code), c) {
					t.Errorf("%s has no function of %+v", v.Name, c)
				}
			}
		}
		if strings.HasPrefix(v.Source, "matrix") && v.Source != "matrix_rest.comp" || v.Source == "gemm_single.comp" || v.Source == "gemm_double.comp" {
			want = append(want, spirv.Stored{Vectors: 4, Elements: vector})
		}
		if got := spirv.Stores(code); !slices.Equal(got, want) {
			t.Errorf("%s stores %v at once, want %v", v.Name, got, want)
		}
	}
}
