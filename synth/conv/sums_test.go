package conv_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/synthtest"
	"nxvk/test/fewtest"
)

// drawnSum is a convolution of few filters a group with results enough that invocations of a
// GPU take several: of one to three axes, grouped or not, in either order of channels.
func drawnSum(r *rand.Rand) (*ops.Instr, ops.Type, ops.Type) {
	d := []ops.DType{ops.F32, ops.F64, ops.F16, ops.BF16}[r.IntN(4)]
	axes, groups, filters, channels := 1+r.IntN(3), 1+r.IntN(5), 1+r.IntN(2), 1+r.IntN(2)
	sides := [][]int{{9000}, {70, 131}, {11, 23, 37}}[axes-1]
	in, kernel := ops.Shape{1, groups * channels}, ops.Shape{groups * filters, channels}
	out := ops.Shape{1, groups * filters}
	var strides, pads, gaps, steps []int
	for _, side := range sides {
		n, taps, low, high := side+r.IntN(9), 1+r.IntN(4), r.IntN(3), r.IntN(3)
		stride, gap, step := 1+r.IntN(2)*r.IntN(2), 1+r.IntN(2)*r.IntN(2), 1+r.IntN(2)
		in, kernel = append(in, n), append(kernel, taps)
		out = append(out, ((n-1)*gap+1+low+high-(taps-1)*step-1)/stride+1)
		strides, pads, gaps, steps = append(strides, stride), append(pads, low, high), append(gaps, gap), append(steps, step)
	}
	batch := 1<<17/out.Size() + 1
	if r.IntN(3) == 0 { // an invocation has one
		batch = 1
	}
	in[0], out[0] = batch, batch
	order, kernelOrder := ops.AllAxes(axes+2), ops.AllAxes(axes+2)
	if r.IntN(2) == 0 { // channels last: order says where each dimension lies
		order[1] = axes + 1
		for i := range axes {
			order[i+2] = i + 1
		}
		in, out = lain(in, order), lain(out, order)
	}
	return &ops.Instr{Op: ops.Conv, Attrs: [][]int{strides, pads, gaps, steps, {groups}, {1}, order, kernelOrder, order},
		Outs: []ops.Result{{Type: ops.Type{DType: d, Shape: out}}}}, ops.Type{DType: d, Shape: in}, ops.Type{DType: d, Shape: kernel}
}

// lain is a shape whose dimension i lies at place order[i].
func lain(s ops.Shape, order []int) ops.Shape {
	out := make(ops.Shape, len(s))
	for i, at := range order {
		out[at] = s[i]
	}
	return out
}

// small has whole numbers whose sums every type holds.
func small(t ops.Type, r *rand.Rand) synthtest.Tensor {
	v := make([]float64, t.Size())
	for i := range v {
		v[i] = float64(r.IntN(5) - 2)
	}
	return synthtest.Collect(t, v)
}

func TestSumsOfRunsAreThoseOfEachResult(t *testing.T) {
	for seed := range uint64(fewtest.Of(24, 10)) {
		r := rand.New(rand.NewPCG(seed, 5))
		in, x, k := drawnSum(r)
		t.Run(fmt.Sprint(x, k, in.Attrs), func(t *testing.T) {
			t.Parallel()
			input, kernel := small(x, r), small(k, r)
			got := synthtest.Run(t, synthtest.GPU, in, input, kernel)
			want := summed(in, input, kernel)
			for i := range want {
				if got.At(i) != want[i] {
					t.Fatalf("result %d is %v, want %v", i, got.At(i), want[i])
				}
			}
		})
	}
}

// summed is the convolution by its definition.
func summed(in *ops.Instr, x, k synthtest.Tensor) []float64 {
	a, out := in.Attrs, in.Outs[0].Type.Shape
	order, groups := a[ops.ConvInputPermutation], a[ops.ConvFeatureGroups][0]
	sx, sk := x.Typ.Shape.Strides(), k.Typ.Shape.Strides()
	filters, channels := k.Typ.Shape[0]/groups, k.Typ.Shape[1]
	sums := make([]float64, out.Size())
	synthtest.Each(out, func(i int, c []int) {
		f := c[order[1]]
		synthtest.Each(k.Typ.Shape[1:], func(_ int, tap []int) {
			from := c[order[0]]*sx[order[0]] + (f/filters*channels+tap[0])*sx[order[1]]
			at := f*sk[0] + tap[0]*sk[1]
			for ax, j := range tap[1:] {
				p := c[order[ax+2]]*a[ops.ConvStrides][ax] + j*a[ops.ConvKernelDilation][ax] - a[ops.ConvPadding][2*ax]
				gap := a[ops.ConvInputDilation][ax]
				if p < 0 || p%gap != 0 || p/gap >= x.Typ.Shape[order[ax+2]] {
					return
				}
				from, at = from+p/gap*sx[order[ax+2]], at+j*sk[ax+2]
			}
			sums[i] += x.At(from) * k.At(at)
		})
	})
	return sums
}
