package attention

import (
	"fmt"

	"nxvk/shaders"
	"nxvk/synth/codegen"
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
)

// AlikePlan is a kernel that sets the word of its result to 1 if an invocation has the same elements of an operand of
// a shape as of its sums, and leaves it as it is otherwise. Then weights need not go by way of shared memory. ok is
// false for shapes that no attention uses.
func AlikePlan(s gemm.Matrix, t *lowering.Target) (p *lowering.Plan, ok bool, err error) {
	if s.Type.Size() != 2 || s.N != s.K || s.N%vector != 0 || t.SubgroupSize <= 0 {
		return nil, false, nil
	}
	name := "matrix_alike." + s.Type.String() + ".addresses"
	code, err := shaders.Code(name)
	if err != nil {
		return nil, false, err
	}
	spec := []uint32{uint32(t.SubgroupSize), uint32(s.M), uint32(s.N)}
	k := &lowering.Kernel{Name: codegen.HashName(code) + fmt.Sprint(" ", name, " ", spec), Code: code, Buffers: 1, PushBytes: 8, Addresses: true,
		Spec: spec, Local: [3]uint32{uint32(t.SubgroupSize), 1, 1}, SubgroupSize: t.SubgroupSize}
	return &lowering.Plan{Alias: -1, Steps: []lowering.Step{{Kernel: k, Push: make([]byte, k.PushBytes), Grid: [3]uint32{1, 1, 1}, Bytes: 4,
		Args: []lowering.Arg{{Ref: lowering.Ref{Kind: lowering.Result}, Access: lowering.Read | lowering.Write}}}}}, true, nil
}
