package dot

import (
	"nxvk/ops"
	"nxvk/synth/lowering"
)

// PlanParts plans the parts of operand 0, batches of matrices of free × k numbers whose neighbours along
// both are so many elements apart. It returns the distances of the parts, which are temporary 0.
func PlanParts(d ops.DType, free, k, batches, alongFree, alongK int, t *lowering.Target) (p *lowering.Plan, row, col, batch int, err error) {
	b := &Builder{Plan: &lowering.Plan{Alias: -1}, Target: t, Wide: ops.F32, Operands: ops.BF16, Matrix: true}
	m, err := b.addParts(d, matrix{Free: alongFree, Contract: alongK, Batch: free * k}, free, k, batches)
	return b.Plan, m.Free, m.Contract, m.Batch, err
}
