package exec

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/vulkan"
)

// The first product and the first convolution have their results while the kernels for them are still being compiled, by starters,
// and the next ones are by the kernels themselves: the same bits.
func TestFirstProduct(t *testing.T) {
	convolution := make([][]int, ops.ConvOutputPermutation+1)
	convolution[ops.ConvStrides], convolution[ops.ConvPadding] = []int{1, 2}, []int{1, 0, 2, 1}
	convolution[ops.ConvInputDilation], convolution[ops.ConvKernelDilation] = []int{1, 1}, []int{1, 1}
	convolution[ops.ConvFeatureGroups], convolution[ops.ConvBatchGroups] = []int{1}, []int{1}
	for _, at := range []int{ops.ConvInputPermutation, ops.ConvKernelPermutation, ops.ConvOutputPermutation} {
		convolution[at] = []int{0, 1, 2, 3}
	}
	for _, c := range []struct {
		op          ops.Op
		starter     string
		left, right ops.Type
		attrs       [][]int
		out         ops.Type
	}{
		{ops.Dot, "gemm_starter", f32(100, 130), f32(130, 90), [][]int{{1}, {}, {0}, {}}, f32(100, 90)},
		{ops.Conv, "conv2_starter", f32(3, 9, 20, 21), f32(40, 9, 3, 4), convolution, f32(3, 40, 19, 11)},
	} {
		t.Run(c.op.String(), func(t *testing.T) {
			var starters, kernels atomic.Int64
			compiled := make(chan struct{})
			family, _, _ := strings.Cut(c.starter, "_")
			f := vulkan.Fault{Refuse: func(name string) bool {
				switch {
				case strings.Contains(name, c.starter):
					starters.Add(1)
				case strings.Contains(name, family+"_single"):
					<-compiled
					kernels.Add(1)
				}
				return false
			}}
			r := newRig(t, device(t, vulkan.Options{Fault: f}))
			r.exec.core.target.CPU = false // a GPU's kernels
			q := r.session()
			in := ops.Instr{Op: c.op, Ins: []ops.Operand{ref(1), ref(2)}, Outs: []ops.Result{res(3, c.out)}, Attrs: c.attrs}
			want := fallback.Value{Type: c.out, Data: make([]byte, c.out.Bytes())}
			var args []fallback.Value
			for i, typ := range []ops.Type{c.left, c.right} {
				v := make([]float32, typ.Size())
				for k := range v {
					v[k] = float32(math.Sin(float64(k * (i + 1))))
				}
				args = append(args, fallback.Value{Type: typ, Data: floats(v...)})
				r.Do(q, ops.Tensor, ops.ID(i+1), typ, nil, ops.Operand{Lit: &ops.Literal{Type: typ, Data: args[i].Data}})
			}
			if err := fallback.Run(&in, args, []fallback.Value{want}); err != nil {
				t.Fatal(err)
			}
			result := func(id ops.ID) []float32 {
				r.Do(q, c.op, id, c.out, c.attrs, ref(1), ref(2))
				got, err := r.Read(q, id, 0, c.out.Size())
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			first := result(3)
			if starters.Load() == 0 || kernels.Load() != 0 {
				t.Errorf("before the first result %d starters and %d kernels are made", starters.Load(), kernels.Load())
			}
			close(compiled)
			r.Built()
			if second := result(4); kernels.Load() == 0 || !slices.Equal(first, second) {
				t.Errorf("%d kernels are made; the same bits: %v", kernels.Load(), slices.Equal(first, second))
			}
			for i, x := range first {
				if y := math.Float32frombits(binary.LittleEndian.Uint32(want.Data[4*i:])); math.Abs(float64(x-y)) > 1e-3 {
					t.Fatalf("result %d is %v, want %v", i, x, y)
				}
			}
		})
	}
}
