package synth

import (
	"errors"
	"testing"

	"nxvk/ops"
	"nxvk/synth/spirv/spirvtest"
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
			in, types := sample(op, d)
			if in == nil {
				continue
			}
			p, err := Lower(in, types, gpu)
			if has := info.Code.For(computes(in, types).Class()) != ""; !has {
				if !errors.Is(err, ErrUnsupported) {
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

// sample is an instruction on operands of one type, or nil where the operation
// has none.
func sample(op ops.Op, d ops.DType) (*ops.Instr, []ops.Type) {
	info := op.Info()
	in := instr(op, typ(d, 8))
	var types []ops.Type
	for i := range info.Arity {
		types = append(types, typ(d, 8))
		if op == ops.Clip && i > 0 {
			types[i].Shape = ops.Shape{}
		}
		in.Ins = append(in.Ins, ops.Operand{ID: ops.ID(i)})
	}
	switch {
	case info.Result == ops.BoolType:
		in.Outs[0].Type.DType = ops.U8
	case info.Result == ops.RealType:
		in.Outs[0].Type.DType = d.Real()
	case info.Result == ops.FloatType && d.IsInteger(), op == ops.AsType && d != ops.F32:
		in.Outs[0].Type.DType = ops.F32
	case op == ops.AsType:
		in.Outs[0].Type.DType = ops.S32
	}
	if info.Kind == ops.Reduce {
		in.Attrs = [][]int{{0}, {0}}
		in.Outs[0].Type.Shape = ops.Shape{}
	}
	if in.Check(types) != nil {
		return nil, nil
	}
	return in, types
}
