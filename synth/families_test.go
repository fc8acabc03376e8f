package synth_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/spirv/spirvtest"
	"nxvk/synth/synthtest"
)

// Drivers take about as long for a kernel as there is code in it once loops are written
// out, and as long as minutes where every element decides about a branch. These bounds
// hold the code; what a driver takes for it, `nxvk-node doctor --kernels` measures.
const (
	mostWords   = 21800
	mostKernels = 1240 // of a family, on a GPU: for every tile or team, each way that operands lie, and each that are aligned
	mostMade    = 60   // that lay operands out, or sum where a product does not pay
)

func TestFamilies(t *testing.T) {
	roomy := *synthtest.GPU
	roomy.MaxPush = 256
	bound := roomy
	bound.Addresses = false
	hardware := roomy
	for _, d := range []ops.DType{ops.BF16, ops.F16, ops.S8, ops.U8} {
		hardware.Matrices = append(hardware.Matrices, synth.Matrix{Type: d, M: 16, N: 16, K: 32 / d.Size()})
	}
	hardware.Alike = hardware.Matrices
	for name, target := range map[string]*lowering.Target{"gpu": &hardware, "bindings": &bound, "cpu": synthtest.CPU} {
		valid := map[string]bool{}
		for _, f := range synth.Families() {
			list, err := f.Kernels(target)
			if err != nil {
				t.Fatal(err)
			}
			if len(list) > mostKernels && !target.CPU {
				t.Errorf("%s: %s has %d kernels", name, f.Name, len(list))
			}
			words := 0
			for _, k := range list {
				if words = max(words, len(k.Code)); len(k.Code) > mostWords {
					t.Errorf("%s: %s: %s has %d words", name, f.Name, k.For, len(k.Code))
				}
				if code := codegen.HashName(k.Code); !valid[code] && name == "gpu" {
					valid[code] = true
					spirvtest.Validate(t, k.Code)
				}
			}
			t.Logf("%s: %s has %d kernels of at most %d words", name, f.Name, len(list), words)
			if len(list) == 0 && !target.CPU && (name == "gpu" || !strings.Contains(f.Name, "matrix hardware")) {
				t.Errorf("%s: %s has no kernels", name, f.Name)
			}
		}
	}
}

// Whatever their sizes, products and convolutions are carried out by kernels of the
// families, so that a driver compiles few.
func TestFamiliesServeAll(t *testing.T) {
	roomy := *synthtest.GPU
	roomy.MaxPush = 256
	listed := map[string]bool{}
	for _, f := range synth.Families()[:2] {
		list, err := f.Kernels(&roomy)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range list {
			listed[k.Name] = true
		}
	}
	used, made, r := map[string]bool{}, map[string]bool{}, rand.New(rand.NewPCG(2, 12))
	for range 3000 {
		in, types := drawContraction(r)
		p, err := synth.Lower(in, types, &roomy)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Steps {
			if s.Kernel.IR != nil {
				made[s.Kernel.Name] = true // of an expression, not by hand
				continue
			}
			if !listed[s.Kernel.Name] {
				t.Fatalf("%v of %v: %s is in no family", in.Op, types, s.Kernel.Name)
			}
			used[s.Kernel.Name] = true
		}
	}
	t.Logf("3,000 products and convolutions take %d kernels of %d, and %d others", len(used), len(listed), len(made))
	if len(made) > mostMade {
		t.Errorf("they take %d kernels besides those of the families, want at most %d", len(made), mostMade)
	}
}

// drawContraction draws a product, or a convolution of one to three axes.
func drawContraction(r *rand.Rand) (*ops.Instr, []ops.Type) {
	d := []ops.DType{ops.F32, ops.F64}[r.IntN(2)]
	if r.IntN(2) == 0 {
		m, n, k := 1+r.IntN(2000), 1+r.IntN(2000), 1+r.IntN(2000)
		return &ops.Instr{Op: ops.Dot, Ins: []ops.Operand{{}, {}}, Attrs: [][]int{{1}, {}, {0}, {}},
			Outs: []ops.Result{{Type: synthtest.Type(d, m, n)}}}, []ops.Type{synthtest.Type(d, m, k), synthtest.Type(d, k, n)}
	}
	axes := 1 + r.IntN(3)
	in, kernel, out := ops.Shape{1 + r.IntN(8), 1 + r.IntN(64)}, ops.Shape{4 + r.IntN(300), 0}, ops.Shape{0, 0}
	kernel[1], out[0], out[1] = in[1], in[0], kernel[0]
	ones := func(n int) []int {
		list := make([]int, n)
		for i := range list {
			list[i] = 1
		}
		return list
	}
	strides, gaps, steps, pads := ones(axes), ones(axes), ones(axes), []int(nil)
	which := r.IntN(3)
	for i := range axes {
		taps, n := 1+r.IntN(5), 12+r.IntN(30)
		switch which {
		case 0:
			strides[i] = 1 + r.IntN(3)
		case 1:
			gaps[i] = 1 + r.IntN(3)
		}
		steps[i] = 1 + r.IntN(2)
		low, high := r.IntN(3), r.IntN(3)
		in, kernel, pads = append(in, n), append(kernel, taps), append(pads, low, high)
		out = append(out, ((n-1)*gaps[i]+1+low+high-(taps-1)*steps[i]-1)/strides[i]+1)
	}
	order := ops.AllAxes(axes + 2)
	return &ops.Instr{Op: ops.Conv, Ins: []ops.Operand{{}, {}},
		Attrs: [][]int{strides, pads, gaps, steps, {1}, {1}, order, order, order},
		Outs:  []ops.Result{{Type: ops.Type{DType: d, Shape: out}}}}, []ops.Type{{DType: d, Shape: in}, {DType: d, Shape: kernel}}
}
