package gradient

// The model of time: rates of an H200 a second, of which synth/attention has the same. Their ratios differ little
// between devices. Kernels of multiply-adds have their rate from an H100, 12 heads of 8,192 positions and 64 columns: 109 ms of
// f32 for the attention and its gradient, where products with the scores in memory took 27 ms.
const (
	productRate = 45e12 // operations of a product by fused multiply-adds
	streamRate  = 14e12 // operations of the products in this package's kernels by fused multiply-adds
	memoryRate  = 4e12  // bytes
	passBytes   = 48    // that products and expressions move for each score
)

// largeScores is the size of scores, in bytes, from which on they are not stored: few drivers allocate more at once.
const largeScores = 1 << 32

// Pays reports whether the device cannot store the scores, or the kernels are expected to take less time than products
// that read them from memory.
func (j *Job) Pays() bool {
	points := float64(j.batches) * float64(j.lengths[queries]) * float64(j.lengths[keys])
	size := points * float64(max(j.scores.Outs[0].Type.DType.Size(), j.inner.Outs[0].Type.DType.Size()))
	t := j.target
	if size >= largeScores || t.MaxBinding > 0 && !t.Addresses && !t.Addressable && size > float64(t.MaxBinding) {
		return true
	}
	passes, err := j.passes()
	if err != nil {
		return false
	}
	streamed, apart := 0, 2*float64(j.depth+j.width)
	for _, p := range passes {
		for _, x := range p.pairs() {
			streamed += 2 * x.columns
		}
	}
	for i := range j.results {
		n := 2 * j.columnsOf(&j.results[i])
		streamed, apart = streamed+n, apart+float64(n)
	}
	return float64(streamed)/streamRate < apart/productRate+passBytes/memoryRate
}
