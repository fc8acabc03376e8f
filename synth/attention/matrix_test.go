package attention_test

import (
	"testing"

	"nxvk/ops"
	"nxvk/synth/attention"
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
	"nxvk/synth/spirv/spirvtest"
	"nxvk/synth/synthtest"
)

// hardware is a GPU with matrix hardware for both narrow types.
func hardware() *lowering.Target {
	t := *synthtest.GPU
	t.MaxPush = 256
	t.Matrices = []gemm.Matrix{{Type: ops.BF16, M: 16, N: 16, K: 16}, {Type: ops.F16, M: 16, N: 16, K: 16}}
	return &t
}

// The bits of FLAGS in shaders/lib/attention.glsl.
const (
	wholeRows = 1 << iota
	withLogits
	withSkips
	withQuotient
	_
	alike
)

// foldedWidth is up to which width a scale alone is no code.
const foldedWidth = 128

// TestMatrixExamples holds which work the kernels have: masks of positions leave tiles out, a
// scale alone is no code of its own where rows are not wide, and weights stay in registers where the
// device has operands as it has sums.
func TestMatrixExamples(t *testing.T) {
	want := map[string]uint32{"no mask": wholeRows, "causal": wholeRows | withLogits | withSkips,
		"causal and keys": wholeRows | withLogits | withSkips, "biases": wholeRows | withLogits}
	seen := map[string]bool{}
	target := hardware()
	for _, m := range target.Matrices {
		if m.Type == ops.F16 {
			target.Alike = append(target.Alike, m)
		}
	}
	for _, x := range attention.Examples() {
		if err := x.Instr.Check(x.Types); err != nil {
			t.Fatalf("%s: %v", x.Name, err)
		}
		p, err := attention.Lower(x.Instr, x.Types, target)
		if err != nil {
			t.Fatalf("%s: %v", x.Name, err)
		}
		if len(p.Steps) != 1 || len(p.Temps) != 0 {
			t.Errorf("%s: %d steps, want one", x.Name, len(p.Steps))
		}
		k := p.Steps[0].Kernel
		if k.Spec == nil {
			t.Errorf("%s: not on matrix hardware", x.Name)
			continue
		}
		for mask, flags := range want {
			if spec := k.Spec; max(spec[6], spec[7]) > foldedWidth {
				flags |= withLogits // a wide kernel multiplies by its scale
			}
			if x.Types[0].DType == ops.F16 {
				flags |= alike
			}
			if len(x.Name) > len(mask) && x.Name[len(x.Name)-len(mask)-2:] == ", "+mask && k.Spec[8] != flags {
				t.Errorf("%s: flags %b, want %b", x.Name, k.Spec[8], flags)
			}
		}
		if len(k.Code) > mostWords {
			t.Errorf("%s: %d words", x.Name, len(k.Code))
		}
		if !seen[k.Name] {
			seen[k.Name] = true
			spirvtest.Validate(t, k.Code)
		}
	}
}

// TestLong holds which attentions have the tiles for long products: {matrices of queries, subgroups}.
func TestLong(t *testing.T) {
	for _, c := range []struct {
		heads, length, size int
		mask                string
		want                [2]uint32
	}{
		{12, 512, 64, "causal", [2]uint32{1, 4}}, {48, 1024, 64, "no mask", [2]uint32{1, 4}}, {128, 2048, 64, "biases", [2]uint32{2, 4}},
		{48, 1024, 96, "no mask", [2]uint32{1, 4}}, {9, 1024, 256, "causal", [2]uint32{1, 8}}, {12, 512, 128, "causal", [2]uint32{1, 4}}, {9, 1024, 128, "causal", [2]uint32{1, 8}},
		{2, 2048, 128, "no mask", [2]uint32{1, 4}}, {48, 1024, 128, "biases", [2]uint32{1, 8}}, // of two heads too few workgroups have eight
	} {
		x := attention.NewExample(ops.BF16, c.heads, c.length, c.size, c.mask)
		p, err := attention.Lower(x.Instr, x.Types, hardware())
		if err != nil {
			t.Fatal(err)
		}
		if spec := p.Steps[0].Kernel.Spec; [2]uint32(spec[3:5]) != c.want {
			t.Errorf("%s, %d heads of %d: matrices and subgroups %v, want %v", x.Name, c.heads, c.length, spec[3:5], c.want)
		}
	}
}

// TestMatrixForms holds what has the kernel for matrix hardware, and what is copied for it.
func TestMatrixForms(t *testing.T) {
	defer attention.PayAlways()()
	little, short, bound := *hardware(), *hardware(), *hardware()
	little.SharedMemory, short.MaxPush, bound.Addresses = 16<<10, 100, false
	for _, c := range []struct {
		name   string
		target *lowering.Target
		dtype  ops.DType
		sizes  sizes
		matrix bool
		copies int
	}{
		{"whole vectors", hardware(), ops.F16, sizes{3, 100, 77, 64, 128}, true, 0},
		{"odd columns", hardware(), ops.BF16, sizes{3, 100, 77, 63, 64}, true, 2},
		{"all odd", hardware(), ops.BF16, sizes{3, 100, 77, 63, 65}, true, 3},
		{"f32", hardware(), ops.F32, sizes{3, 100, 77, 64, 64}, false, 0},
		{"little shared memory", &little, ops.F16, sizes{3, 100, 77, 64, 64}, false, 0},
		{"few push constants", &short, ops.F16, sizes{3, 100, 77, 64, 64}, false, 0},
		{"bindings", &bound, ops.F16, sizes{3, 100, 77, 64, 64}, false, 0},
	} {
		g, _, out := sketch(t, c.dtype, c.sizes)
		g.Return(out)
		in := attentionOf(attention.Find(region(g), c.target))
		if in == nil {
			t.Errorf("%s: nothing is found", c.name)
			continue
		}
		types := in.Regions[0].ParamTypes()
		p, err := attention.Lower(in, types, c.target)
		if err != nil {
			t.Fatal(err)
		}
		last := len(p.Steps) - 1
		if is := p.Steps[last].Kernel.Spec != nil; is != c.matrix || last != c.copies {
			t.Errorf("%s: on matrix hardware is %v with %d copies, want %v with %d", c.name, is, last, c.matrix, c.copies)
		}
	}
}
