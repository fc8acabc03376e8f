package attention_test

import (
	"math"
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth/attention"
	"nxvk/synth/graph/notation"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
	"nxvk/test/fewtest"
)

// drawn is how many attentions of a type the interpreter carries out.
const drawn = 16

// mostWords bounds a kernel, as the test of families in synth does.
const mostWords = 20000

// TestDrawn compares attentions of drawn sizes, forms and masks with their instructions on the host.
func TestDrawn(t *testing.T) {
	bindings := *synthtest.GPU
	bindings.Addresses = false
	defer attention.PayAlways()()
	for _, d := range []ops.DType{ops.F32, ops.BF16, ops.F16} {
		for seed := range uint64(fewtest.Of(drawn, 6)) {
			g := synthtest.DrawAttention(t, seed, 300, 6000, d)
			target := synthtest.GPU
			if seed%2 == 1 {
				target = &bindings
			}
			r := g.Region()
			found := attention.Find(r, target)
			one := indexOfAttention(found)
			if one < 0 {
				t.Errorf("%v, %d: nothing is found in\n%s", d, seed, notation.Print(r))
				continue
			}
			if n := words(t, target, &found.Body[one]); n > mostWords {
				t.Errorf("%v, %d: the kernel has %d words, want at most %d", d, seed, n, mostWords)
			}
			data := g.Data()
			check(t, seed, g, all(t, target, found, data)[0], all(t, nil, r, data)[0])
		}
	}
}

// indexOfAttention is the first attention of a region, or -1.
func indexOfAttention(r *ops.Region) int {
	return slices.IndexFunc(r.Body, func(in ops.Instr) bool { return in.Op == ops.Attention })
}

// words is the size of the largest kernel of an attention, steps the number of its kernels.
func words(t *testing.T, target *lowering.Target, in *ops.Instr) (n int) {
	t.Helper()
	for _, s := range planOf(t, target, in).Steps {
		n = max(n, len(s.Kernel.Code))
	}
	return n
}

func steps(t *testing.T, target *lowering.Target, in *ops.Instr) int {
	t.Helper()
	return len(planOf(t, target, in).Steps)
}

func planOf(t *testing.T, target *lowering.Target, in *ops.Instr) *lowering.Plan {
	t.Helper()
	types := in.Regions[0].ParamTypes()
	plan, err := attention.Lower(in, types, target)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// check compares results with the bound that the package states, and the error of the scores: their
// magnitude is at most five standard deviations of a sum of depth products.
func check(t *testing.T, seed uint64, g *synthtest.Attention, got, want synthtest.Tensor) {
	t.Helper()
	const greatest = 6 // of the values
	bound := 4 * float64(g.Keys+4*g.Depth+64) * 0x1p-24 * greatest
	if u, narrow := map[ops.DType]float64{ops.BF16: 0x1p-8, ops.F16: 0x1p-11}[want.Typ.DType]; narrow {
		bound += u * (4 + 5*math.Sqrt(float64(g.Depth))) * greatest
	}
	for i, w := range want.F {
		if x := got.F[i]; !(math.Abs(x-w) <= bound) && !(math.IsNaN(x) && math.IsNaN(w)) {
			t.Errorf("%v, %d: element %d is %v, want %v within %v, of\n%s", want.Typ.DType, seed, i, x, w, bound, notation.Print(g.Region()))
			return
		}
	}
}
