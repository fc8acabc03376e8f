package gemm

import "nxvk/ops"

// WholeTermsAlways has WholeTerms say so of every product that could gain. Tests set it.
var WholeTermsAlways bool

// What tiles of f32 lose where they load an operand element by element along k. On an H200, 4,096×50,257·50,257×768 takes
// 10.1 ms, and the product of as many terms whose operands lie across k takes 6.4.
const (
	termRate   = 45e12 // operations a second
	singlyPart = 0.35  // of the time, that loads of single elements add
	leastTerm  = 64    // rows, columns and terms of a product that tiles carry out
)

// WholeTerms reports whether a product takes less time with terms of zero at the end of k, up to a whole
// vector, so that rows along k begin at whole vectors. Both operands are copied for that.
func (p *Problem) WholeTerms(t *Target) bool {
	if t.CPU || p.Type != ops.F32 || p.Operands != ops.Invalid || p.K%p.vector() == 0 || min(p.M, p.N, p.K) < leastTerm {
		return false
	}
	if p.across(p.A, p.M, p.K) != 0 && p.across(p.B, p.K, p.N) != 1 {
		return false
	}
	copied := 2 * p.Type.Size() * p.Batch * (p.M*p.K + p.K*p.N)
	return WholeTermsAlways || 2*dispatchSeconds+float64(copied)/copiedSecond < singlyPart*float64(p.flops())/termRate
}
