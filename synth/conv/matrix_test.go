package conv_test

import (
	"slices"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth/conv"
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// Filters that are a matrix as they lie are multiplied without a copy; an input without padding and with its
// channels innermost is, too.
func TestFiltersInPlace(t *testing.T) {
	target := *synthtest.GPU
	target.MaxPush, target.SharedMemory = 256, 48<<10
	target.Matrices = []gemm.Matrix{{Type: ops.BF16, M: 16, N: 16, K: 16}}
	last, first := []int{0, 3, 1, 2}, []int{0, 1, 2, 3}
	for _, c := range []struct {
		name      string
		kernel    ops.Shape
		order     []int // of the dimensions of the kernel: filters, channels, taps
		out       []int
		pad, want int // copies before the product
	}{
		{"filters innermost", ops.Shape{3, 3, 64, 48}, []int{3, 2, 0, 1}, last, 0, 0},
		{"filters innermost, padding", ops.Shape{3, 3, 64, 48}, []int{3, 2, 0, 1}, last, 1, 1},
		{"filters innermost, results of channels first", ops.Shape{3, 3, 64, 48}, []int{3, 2, 0, 1}, first, 0, 0},
		{"channels innermost", ops.Shape{48, 3, 3, 64}, last, last, 0, 0},
		{"taps innermost", ops.Shape{48, 64, 3, 3}, first, last, 0, 1}, // transposed
		{"taps beside filters", ops.Shape{3, 64, 3, 48}, []int{3, 1, 0, 2}, last, 0, 1},
		{"no whole vectors", ops.Shape{3, 3, 64, 41}, []int{3, 2, 0, 1}, last, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			input := ops.Type{DType: ops.BF16, Shape: ops.Shape{2, 30, 30, 64}}
			kernel := ops.Type{DType: ops.BF16, Shape: c.kernel}
			side := 28 + 2*c.pad
			out := lain(ops.Shape{2, c.kernel[c.order[0]], side, side}, c.out)
			in := &ops.Instr{Op: ops.Conv, Ins: []ops.Operand{{}, {}},
				Attrs: [][]int{{1, 1}, {c.pad, c.pad, c.pad, c.pad}, {1, 1}, {1, 1}, {1}, {1}, last, c.order, c.out},
				Outs:  []ops.Result{{Type: ops.Type{DType: ops.BF16, Shape: out}}}}
			plan, err := conv.Lower(in, []ops.Type{input, kernel}, &target, nil)
			if err != nil {
				t.Fatal(err)
			}
			product := slices.IndexFunc(plan.Steps, func(s lowering.Step) bool {
				return strings.Contains(s.Kernel.Name, "conv_matrix")
			})
			if product != c.want {
				t.Errorf("%d copies before the product, want %d", product, c.want)
			}
		})
	}
}
