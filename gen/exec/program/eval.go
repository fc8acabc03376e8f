package program

import (
	"nxvk/fallback"
	"nxvk/ops"
)

// Eval computes an instruction of literals, of scalars or small tensors, on the host.
func Eval(in *ops.Instr) ([]byte, error) {
	args := make([]fallback.Value, len(in.Ins))
	for i, o := range in.Ins {
		args[i] = fallback.Value{Type: o.Lit.Type, Data: o.Lit.Data}
	}
	out := fallback.Value{Type: in.Outs[0].Type, Data: make([]byte, in.Outs[0].Type.Bytes())}
	err := fallback.Run(in, args, []fallback.Value{out})
	return out.Data, err
}
