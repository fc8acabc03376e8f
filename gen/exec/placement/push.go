package placement

import (
	"nxvk/fallback"
	"nxvk/gen/store"
	"nxvk/ops"
	"nxvk/synth"
)

func Resolve(r synth.Ref, args, outs, temps []*store.Storage) *store.Storage {
	switch r.Kind {
	case synth.Operand:
		return args[r.Index]
	case synth.Result:
		return outs[r.Index]
	}
	return temps[r.Index]
}

// Patch writes the value of a scalar literal, in the type of computation, to
// its place among the push constants.
func Patch(push []byte, at synth.Lit, lit *ops.Literal) error {
	dst := push[at.Offset : at.Offset+at.As.Size()]
	if lit.Type.DType == at.As {
		copy(dst, lit.Data)
		return nil
	}
	return fallback.Convert(
		fallback.Value{Type: ops.Type{DType: at.As}, Data: dst},
		fallback.Value{Type: lit.Type, Data: lit.Data})
}
