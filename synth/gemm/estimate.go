package gemm

import (
	"math"

	"nxvk/ops"
)

// Seconds estimates the time of a product of floats by the models of its kernels: on matrix hardware where
// Operands says so, and else by multiply-adds. It is infinite where there is no model.
func (p *Problem) Seconds(t *Target) float64 {
	if p.Operands != ops.Invalid {
		if m, s := p.bestMatrix(t); m != nil {
			return s
		}
		return math.Inf(1)
	}
	least, shares := math.Inf(1), p.shares()
	for _, m := range modelsOf(p.Type) {
		if m.covers(p) {
			least = min(least, m.time(p, shares))
		}
	}
	if shares > 1 {
		least += chunksSetup + chunksByte*float64(shares*p.Batch*p.M*p.N*p.Type.Size())
	}
	return least * 1e-6
}

// Moved estimates the time in which so many bytes are read or written.
func Moved(bytes int) float64 { return dispatchSeconds + float64(bytes)/bytesSecond }
