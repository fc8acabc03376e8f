package target_test

import (
	"testing"

	"nxvk/gen/exec/target"
	"nxvk/ops"
	"nxvk/synth/conv"
)

// A convolution that matrix hardware carries out is estimated by the rate of that hardware.
func TestSecondsOfConvolution(t *testing.T) {
	last := []int{0, 3, 1, 2}
	typ := ops.Type{DType: ops.BF16, Shape: ops.Shape{8, 64, 64, 256}}
	in := &ops.Instr{Op: ops.Conv, Ins: []ops.Operand{{}, {}}, Outs: []ops.Result{{Type: typ}},
		Attrs: [][]int{{1, 1}, {1, 1, 1, 1}, {1, 1}, {1, 1}, {1}, {1}, last, {3, 2, 0, 1}, last}}
	plan, err := conv.Lower(in, []ops.Type{typ, {DType: ops.BF16, Shape: ops.Shape{3, 3, 256, 256}}}, target.GPU(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var seconds, flops float64
	for i := range plan.Steps {
		seconds += target.Seconds(&plan.Steps[i])
		flops += float64(plan.Steps[i].Flops)
	}
	if rate := flops / seconds; rate < 150e12 {
		t.Errorf("%.0f TFLOP/s", rate/1e12)
	}
}
