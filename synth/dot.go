package synth

import "nxvk/ops"

// lowerDot plans a product summed over axes.
func lowerDot(_ *ops.Instr, _ []ops.Type, _ *Target) (*Plan, error) {
	return nil, unsupported("dot has no kernel")
}
