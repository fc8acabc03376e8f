package spmd

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/ops/shard"
)

// drawConvolution draws a convolution with its axes in any order, perhaps with groups of features or of the batch.
func drawConvolution(rng *rand.Rand) (in *ops.Instr, types []ops.Type) {
	sizes := []int{4, 8}
	size := func() int { return sizes[rng.IntN(2)] }
	batch, channels, filters, features, batches := size(), size(), size(), 1, 1
	switch rng.IntN(4) {
	case 0:
		features = 2
	case 1:
		batches = 2
	}
	order := func() []int { return rng.Perm(4) }
	input, kernel, output := order(), order(), order()
	place := func(axes []int, plain ...int) ops.Type { // axes[i] is where dimension i of the plain order is
		s := make(ops.Shape, len(plain))
		for i, a := range axes {
			s[a] = plain[i]
		}
		return f32(s...)
	}
	types = []ops.Type{place(input, batch, channels, 5, 4), place(kernel, filters, channels/features, 2, 3)}
	in = &ops.Instr{Op: ops.Conv, Ins: make([]ops.Operand, 2), Attrs: make([][]int, ops.ConvOutputPermutation+1)}
	in.Attrs[ops.ConvStrides], in.Attrs[ops.ConvPadding] = []int{1, 1 + rng.IntN(2)}, []int{1, 0, rng.IntN(2), 1}
	in.Attrs[ops.ConvInputDilation], in.Attrs[ops.ConvKernelDilation] = []int{1 + rng.IntN(2), 1}, []int{1, 1}
	in.Attrs[ops.ConvFeatureGroups], in.Attrs[ops.ConvBatchGroups] = []int{features}, []int{batches}
	in.Attrs[ops.ConvInputPermutation], in.Attrs[ops.ConvKernelPermutation], in.Attrs[ops.ConvOutputPermutation] = input, kernel, output
	shapes, err := ops.Conv.Info().Infer(in, types)
	if err != nil {
		panic(fmt.Sprintf("BUG: %v of %v: %v", in.Attrs, types, err))
	}
	in.Outs = []ops.Result{{Type: f32(shapes[0]...)}}
	return in, types
}

// TestConvolutions: convolutions on drawn meshes with drawn shardings give the values of the whole.
func TestConvolutions(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 18))
		in, types := drawConvolution(rng)
		r := region(in, types)
		check(t, fmt.Sprintf("%d: %v of %v", seed, in.Attrs, types), rng, r, operands(rng, in, r.Params), false)
	}
}

// TestKernelGradient: the gradient of a kernel, whose convolution contracts the batch, is reduced; nothing is gathered.
func TestKernelGradient(t *testing.T) {
	in := &ops.Instr{Op: ops.Conv, Ins: make([]ops.Operand, 2), Attrs: make([][]int, ops.ConvOutputPermutation+1)}
	in.Attrs[ops.ConvStrides], in.Attrs[ops.ConvPadding] = []int{1, 1}, []int{1, 1, 1, 1}
	in.Attrs[ops.ConvInputDilation], in.Attrs[ops.ConvKernelDilation] = []int{1, 1}, []int{1, 1}
	in.Attrs[ops.ConvFeatureGroups], in.Attrs[ops.ConvBatchGroups] = []int{1}, []int{1}
	// Input and gradient are {batch, height, width, features}: features are the batch, and the batch is contracted.
	in.Attrs[ops.ConvInputPermutation], in.Attrs[ops.ConvKernelPermutation], in.Attrs[ops.ConvOutputPermutation] = []int{3, 0, 1, 2}, []int{3, 0, 1, 2}, []int{2, 3, 0, 1}
	types := []ops.Type{f32(8, 6, 6, 3), f32(8, 6, 6, 5)}
	in.Outs = []ops.Result{{Type: f32(3, 3, 3, 5)}}
	r := region(in, types)
	got, err := Partition(r, &shard.Share{Shape: []int{2}, Params: []shard.Sharding{{{0}, {}, {}, {}}, {{0}, {}, {}, {}}}})
	if err != nil {
		t.Fatal(err)
	}
	var list []ops.Op
	for i := range got.Region.Body {
		if in := &got.Region.Body[i]; in.Op.IsCollective() {
			list = append(list, in.Op)
		}
	}
	if !slices.Equal(list, []ops.Op{ops.AllReduce}) {
		t.Errorf("it takes %v, want one all_reduce", list)
	}
}
