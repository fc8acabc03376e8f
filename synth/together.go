package synth

import (
	"slices"

	"nxvk/synth/lowering"
)

// What a product or an attention has to do at least for its workgroups to begin together: a barrier costs 2 to 3 µs, and
// this many multiplications and additions take twice as long on an H200.
const (
	longTiles    = 1 << 27
	longMatrices = 1 << 30 // on matrix hardware
)

// together has the workgroups of a long product or attention begin at once, where short kernels of its plan follow: the sum of
// shares, a copy to the result. Its workgroups are then often as many as a device runs at once. Beside a kernel that is
// about to end, such as the last one of the same plan before, they do not spread evenly: multiprocessors that are free
// first take more of them than others. On an H200 a row of products of 317x1868 by 1868x1039 takes 103 µs each without
// barriers and 52 with them.
func together(p *lowering.Plan, t *lowering.Target) {
	last := len(p.Steps) - 1
	if t.CPU || last < 1 || isLong(&p.Steps[last]) {
		return
	}
	if i := slices.IndexFunc(p.Steps, func(s lowering.Step) bool { return isLong(&s) }); i >= 0 {
		p.Steps[i].Barrier = true // others of the plan may run beside it
	}
}

// isLong reports whether a step is a hand-written product, convolution or attention that takes long.
func isLong(s *lowering.Step) bool {
	least := int64(longTiles)
	if s.Kernel.OnMatrices() {
		least = longMatrices
	}
	return s.Kernel.Spec != nil && s.Flops >= least
}
