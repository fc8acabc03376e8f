package conformance

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/synth/dot"
	"nxvk/synth/graph/notation"
	"nxvk/test/draw"
)

// layer is the backward pass of a layer of bf16 whose gradient is f32: the gradients of what it reads, of its weight
// and of its bias. The gradient is made by elementwise operations, and read as it is by the sum alone.
func layer(r *rand.Rand) (p string, depths []int) {
	b, m, k, n := 1+r.IntN(3), 1+r.IntN(90), 1+r.IntN(90), 1+r.IntN(90)
	if r.IntN(2) == 0 {
		m, k, n = 8+8*r.IntN(20), 8+8*r.IntN(20), 8+8*r.IntN(20)
	}
	return fmt.Sprintf(`(%%1:f32[%[1]d,%[2]d,%[4]d], %%2:bf16[%[3]d,%[4]d], %%3:bf16[%[1]d,%[2]d,%[3]d]) {
  %%4:f32[%[1]d,%[2]d,%[4]d] = multiply %%1, %%1
  %%5:f32[%[1]d,%[2]d,%[4]d] = multiply %%4, %%1
  %%6:f32[%[1]d,%[2]d,%[3]d] = dot %%5, %%2 contract_left=[2] batch_left=[] contract_right=[1] batch_right=[]
  %%7:f32[%[3]d,%[4]d] = dot %%3, %%5 contract_left=[0,1] batch_left=[] contract_right=[0,1] batch_right=[]
  %%8:f32[%[1]d,%[3]d,%[4]d] = dot %%3, %%5 contract_left=[1] batch_left=[0] contract_right=[1] batch_right=[0]
  %%9:f32[%[4]d] = sum %%5 axes=[0,1] keep_axes=false
  give %%6, %%7, %%8, %%9
}
`, b, m, k, n), []int{n, b * m, m, b * m}
}

// TestSplit: products of f32 and bf16 in two parts are within the bound that graph.Split states of the products
// of the host, and give the same bits in each run, one instruction at a time and compiled.
func TestSplit(t *testing.T) {
	dot.SplitAlways = true
	defer func() { dot.SplitAlways = false }()
	modes(t, func(t *testing.T, d, host *exectest.Driver, _ bool) {
		for seed := range seedCount(4, 40) {
			rnd := rand.New(rand.NewPCG(seed, 12))
			text, depths := layer(rnd)
			p, err := notation.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			types, err := p.CheckProgram()
			if err != nil {
				t.Fatal(err)
			}
			var data, magnitudes [][]byte
			for _, param := range p.Params {
				xs := make([]float64, param.Type.Size())
				for i := range xs {
					xs[i] = rnd.NormFloat64()
				}
				data = append(data, draw.Encode(xs, param.Type))
				for i, x := range draw.Decode(data[len(data)-1], param.Type) {
					xs[i] = math.Abs(x)
				}
				magnitudes = append(magnitudes, draw.Encode(xs, param.Type))
			}
			want, _, err := results(host, p, types, data)
			if err != nil {
				t.Fatal(err)
			}
			sums, _, err := results(host, p, types, magnitudes)
			if err != nil {
				t.Fatal(err)
			}
			got := sameBitsInEachRun(t, d, p, types, data)
			for v := range types {
				split := 0x1p-16
				if v == len(types)-1 {
					split = 0
				}
				g, w, m := draw.Decode(got[v], types[v]), draw.Decode(want[v], types[v]), draw.Decode(sums[v], types[v])
				for i := range g {
					if bound := (split + 4*float64(depths[v]+8)*0x1p-24) * m[i]; !(math.Abs(g[i]-w[i]) <= bound) {
						t.Fatalf("layer %d: element %d of value %d is %v, want %v within %v", seed, i, v, g[i], w[i], bound)
					}
				}
			}
		}
	})
}

// sameBitsInEachRun runs a program until it is compiled, and gives the values that all runs give.
func sameBitsInEachRun(t *testing.T, d *exectest.Driver, r *ops.Region, types []ops.Type, data [][]byte) [][]byte {
	t.Helper()
	first, _, err := results(d, r, types, data)
	if err != nil {
		t.Fatal(err)
	}
	for range d.Exec.Services().Enough() {
		if err := d.Built(); err != nil {
			t.Fatal(err)
		}
		again, _, err := results(d, r, types, data)
		if err != nil {
			t.Fatal(err)
		}
		for v := range again {
			if !bytes.Equal(again[v], first[v]) {
				t.Fatalf("value %d has other bits in another run", v)
			}
		}
	}
	return first
}

// step is one of gradient descent for a linear layer whose arithmetic is bf16 and whose parameters and gradients are f32.
// It gives the parameters and the loss.
const step = `(%1:f32[24,16], %2:bf16[64,24], %3:f32[64,16]) {
  %4:bf16[24,16] = as_type %1
  %5:f32[64,16] = dot %2, %4 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
  %6:f32[64,16] = subtract %5, %3
  %7:f32[24,16] = dot %2, %6 contract_left=[0] batch_left=[] contract_right=[0] batch_right=[]
  %8:f32[24,16] = multiply %7, f32(0.01)
  %9:f32[24,16] = subtract %1, %8
  %10:f32[64,16] = multiply %6, %6
  %11:f32 = sum %10 axes=[0,1] keep_axes=false
  give %9, %11
}
`

// TestSplitTrajectory: 50 steps of training whose gradients are split products lose what those of the host lose, and two
// trajectories have the same bits.
func TestSplitTrajectory(t *testing.T) {
	dot.SplitAlways = true
	defer func() { dot.SplitAlways = false }()
	modes(t, func(t *testing.T, d, host *exectest.Driver, _ bool) {
		p, err := notation.Parse(step)
		if err != nil {
			t.Fatal(err)
		}
		types, err := p.CheckProgram()
		if err != nil {
			t.Fatal(err)
		}
		rnd := rand.New(rand.NewPCG(50, 1))
		var start [][]byte
		for _, param := range p.Params {
			xs := make([]float64, param.Type.Size())
			for i := range xs {
				xs[i] = rnd.NormFloat64()
			}
			start = append(start, draw.Encode(xs, param.Type))
		}
		train := func(d *exectest.Driver) (losses []float64, last []byte) {
			data := [][]byte{start[0], start[1], start[2]}
			for range 50 {
				values, _, err := results(d, p, types, data)
				if err != nil {
					t.Fatal(err)
				}
				data[0], last = values[0], values[0]
				losses = append(losses, draw.Decode(values[1], types[1])[0])
			}
			return losses, last
		}
		want, _ := train(host)
		got, last := train(d)
		for i := range want {
			if !(math.Abs(got[i]-want[i]) <= 0.02*want[i]) {
				t.Fatalf("step %d loses %v, on the host %v", i, got[i], want[i])
			}
		}
		if got[49] > got[0]/2 {
			t.Errorf("the loss goes from %v to %v", got[0], got[49])
		}
		if _, again := train(d); !bytes.Equal(again, last) {
			t.Error("a second trajectory ends elsewhere")
		}
	})
}
