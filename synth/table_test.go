package synth_test

import (
	"errors"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/spirv/spirvtest"
	"nxvk/synth/synthtest"
)

// Every row with code for a type has a kernel for it, whose SPIR-V is valid;
// the rows without say that they are unsupported.
func TestEveryRow(t *testing.T) {
	validate := map[ops.DType]bool{ops.F32: true, ops.F64: true, ops.S32: true, ops.U64: true, ops.C64: true, ops.C128: true}
	for op := ops.Op(0); op < ops.Count; op++ {
		info := op.Info()
		if info.Kind != ops.Pointwise && info.Kind != ops.Reduce {
			continue
		}
		for _, d := range ops.DTypes() {
			in, types := synthtest.Sample(op, d)
			if in == nil {
				continue
			}
			p, err := synth.Lower(in, types, synthtest.GPU)
			if has := info.Code.For(codegen.ComputeClass(in, types).Class()) != ""; !has {
				if !errors.Is(err, lowering.ErrUnsupported) {
					t.Errorf("%v of %v has no code: got %v", op, d, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%v of %v: %v", op, d, err)
				continue
			}
			for _, s := range p.Steps {
				if validate[d] {
					spirvtest.Validate(t, s.Kernel.Code)
				}
			}
		}
	}
}
