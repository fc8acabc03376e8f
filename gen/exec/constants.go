package exec

import (
	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/synth/graph"
)

// evaluator computes scalars of literals ahead, where the Executor would do so
// on the host, too: so they have the same bits.
func (e *Executor) evaluator() graph.Eval {
	if e.limit < 1 {
		return nil
	}
	return Eval
}

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
