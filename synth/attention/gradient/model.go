package gradient

import "nxvk/synth/attention/tile"

// The model of time: rates of the device that tile.ProductRate is of. Kernels of multiply-adds have theirs from an H100,
// 12 heads of 8,192 positions and 64 columns: 109 ms of f32 for the attention and its gradient, where products with the
// scores in memory took 27 ms.
const (
	streamRate = 14e12 // operations of the products in this package's kernels by fused multiply-adds
	passBytes  = 48    // that products and expressions move for each score

	matrixStreamRate = 15e12 // operations of the products in the kernels for matrix hardware, at least: whole programs are not measured
)

// Pays reports whether the device cannot store the scores, or the kernels are expected to take less time than products
// that read them from memory.
func (j *Job) Pays() bool {
	points := float64(j.batches) * float64(j.lengths[queries]) * float64(j.lengths[keys])
	size := points * float64(max(j.scores.Outs[0].Type.DType.Size(), j.inner.Outs[0].Type.DType.Size()))
	if !tile.Storable(size, j.target) {
		return true
	}
	streamed, ok := j.streamed()
	apart := 2 * float64(j.depth+j.width)
	for i := range j.results {
		apart += 2 * float64(j.columnsOf(&j.results[i]))
	}
	rate := tile.ProductRate(j.scored[queries].DType, j.target)
	return ok && streamed < apart/rate+passBytes/tile.MemoryRate
}

// streamed is the time of the kernels for a score.
func (j *Job) streamed() (seconds float64, ok bool) {
	n := 0
	if m := j.onMatrix(); m != nil {
		for _, p := range m.passes {
			n += 2 * m.columns(p)
		}
		return float64(n) / matrixStreamRate, true
	}
	passes, err := j.passes()
	if err != nil {
		return 0, false
	}
	for _, p := range passes {
		for _, x := range p.pairs() {
			n += 2 * x.columns
		}
		for _, i := range p.results {
			n += 2 * j.columnsOf(&j.results[i])
		}
	}
	return float64(n) / streamRate, true
}
