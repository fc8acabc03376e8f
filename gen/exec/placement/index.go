package placement

import (
	"slices"

	"nxvk/fallback"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// CarryChecks gives the results of work the checks of what they are computed from. own are those of its plan.
func (w *Work) CarryChecks(outs []*store.Storage, p *kernels.Plan, own store.Checks) {
	for k, out := range outs {
		for i, m := range w.Args {
			if m != nil && len(m.Checks) > 0 && w.needsOperand(k, i) {
				out.Checks = out.Checks.With(m.Checks)
			}
		}
		for i, c := range own {
			if w.needsInstr(k, p.Checks[i].Instr) {
				out.Checks = out.Checks.With(store.Checks{c})
			}
		}
	}
}

// needsOperand reports whether result k is computed from operand i.
func (w *Work) needsOperand(k, i int) bool {
	if w.Fusion == nil {
		return true
	}
	_, ok := slices.BinarySearch(w.Fusion.Needed()[k].Ins, i)
	return ok
}

// needsInstr reports whether result k is computed from what instruction i of a fusion gives.
func (w *Work) needsInstr(k, i int) bool {
	if w.Fusion == nil {
		return true
	}
	_, ok := slices.BinarySearch(w.Fusion.Needed()[k].Body, i)
	return ok
}

// CheckIndex looks at a literal index, which no kernel checks.
func CheckIndex(w *Work) error {
	if w.In.Op.Info().Kind != ops.Index || w.In.Ins[1].Lit == nil {
		return nil
	}
	if err := fallback.CheckIndices(w.In, w.Types[0].Shape, fallback.Value{Type: w.Types[1], Data: w.In.Ins[1].Lit.Data}); err != nil {
		return Fault(err)
	}
	return nil
}

// FirstError is the first error of checks that result k depends on.
func (w *Work) FirstError(k int, p *kernels.Plan, errs []error) error {
	for i, err := range errs {
		if err != nil && w.needsInstr(k, p.Checks[i].Instr) {
			return err
		}
	}
	return nil
}

// Part is an instruction of what the work carries out, with the types of its operands.
func (w *Work) Part(i int) (*wire.Instr, []ops.Type) {
	if w.Fusion == nil {
		return w.From, w.Types
	}
	in := &w.Fusion.Body[i]
	types := make([]ops.Type, len(in.Ins))
	for k, o := range in.Ins {
		types[k] = w.Fusion.TypeOf(o)
	}
	return in, types
}
