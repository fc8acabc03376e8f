package attention

import (
	"nxvk/synth/attention/tile"
)

// The model of time: rates of the device that tile.ProductRate is of. That of the kernel of multiply-adds is not
// measured: it is taken as less than half of a product's.
const (
	streamRate = 20e12 // operations of the products in this package's kernel
	pointRate  = 30e12 // primitive operations on scores

	matrixStreamRate = 180e12 // operations of the products in the kernel for matrix hardware, its softmax included
	maskedWideRate   = 120e12 // the same beyond wideColumns, with a mask that leaves tiles out
	wideRate         = 54e12  // and without one, where all workgroups read the same keys at once
)

// Seconds that no size lowers: a dispatch, and two products with a softmax between them, which fill and
// empty the device three times.
const (
	dispatchTime = 3e-6
	apartTime    = 11e-6
)

// skipped is the part of the scores that is computed under a mask that leaves tiles out: a causal one has half.
const skipped = 0.6

// wideColumns is up to which width the kernel for matrix hardware keeps its rate.
const wideColumns = 192

// fullThreads is how many invocations of the kernel for matrix hardware keep a device busy.
const fullThreads = 132 * 256

const (
	passes       = 4   // over the scores: written, read and written by the softmax, read
	softmaxCost  = 24  // primitive operations of a score: maximum, exponential, sum, shared memory
	fullDevice   = 264 // workgroups that keep a device busy
	leastQueries = 16  // with fewer, the memory of keys bounds the time; see fewJob
)

// cachedScores is the size of scores, in bytes, up to which the caches of GPUs may hold them.
const cachedScores = 1 << 26

// pays reports whether the scores take so much memory that they should not exist, or their traffic
// so much time that one kernel is expected to take less than products and a softmax.
func (j *job) pays() bool {
	switch {
	case Always:
		return true
	case j.few != nil:
		return j.few.streamed() < j.few.apart()+apartTime
	case j.queries < leastQueries:
		return false
	case !tile.Storable(float64(j.scoreBytes()), j.target):
		return true
	case j.matrix != nil:
		return j.matrix.streamed() < j.apart()+apartTime
	}
	return j.scoreBytes() > cachedScores && j.streamed() < j.apart()
}

// scoreBytes is the size of the scores of all matrices.
func (j *job) scoreBytes() int64 {
	return int64(j.batches) * int64(j.queries) * int64(j.keys) * int64(j.scores.Outs[0].Type.DType.Size())
}

// apart is the time, in seconds, of two products and a softmax.
func (j *job) apart() float64 {
	scores := float64(j.batches) * float64(j.queries) * float64(j.keys)
	rate := tile.ProductRate(j.query.DType, j.target)
	return 2*scores*float64(j.depth+j.width)/rate + passes*float64(j.scoreBytes())/tile.MemoryRate
}

// streamed is the time, in seconds, of the kernel: its blocks are whole.
func (j *job) streamed() float64 {
	queries, keys := tile.Whole(j.queries, j.queriesPer()), tile.Whole(j.keys, block)
	scores := float64(j.batches) * float64(queries) * float64(keys)
	busy := min(1, float64(j.batches*queries/j.queriesPer())/fullDevice)
	products := 2 * float64(tile.Whole(j.depth, deep)+across*j.perCol) / streamRate
	return scores * (products + float64(softmaxCost+j.cost(j.target))/pointRate) / busy
}

// streamed is the time, in seconds, of the kernel for matrix hardware, with copies of operands, and of the one that joins
// parts.
func (m *matrixJob) streamed() float64 {
	queries, keys := tile.Whole(m.queries, m.matrixQueries()), tile.Whole(m.keys, m.Keys)
	scores := float64(m.batches) * float64(queries) * float64(keys)
	each := 2 * float64(m.depth+m.width) / m.rate()
	if m.scale.logits != nil && !(m.mask != nil && m.mask.exact) {
		each += float64(m.logitCost()) / pointRate
	}
	if m.mask != nil && m.parts == 1 {
		each *= skipped // of the last queries no part has less
	}
	busy := min(1, float64(m.batches*queries/m.matrixQueries()*m.parts*m.threads())/fullThreads)
	time := dispatchTime + scores*each/busy
	for _, p := range m.lies.Copies {
		time += dispatchTime + float64(p.Bytes)/tile.MemoryRate
	}
	if m.parts > 1 {
		blocks := float64(keys / m.Keys)
		time += scores*each/busy*float64(m.parts-1)/(blocks+1) + dispatchTime + 2*float64(m.partBytes())/tile.MemoryRate
	}
	return time
}

// rate is that of the products of the kernel for matrix hardware.
func (m *matrixJob) rate() float64 {
	switch {
	case max(m.depth, m.width) <= wideColumns:
		return matrixStreamRate
	case m.mask != nil:
		return maskedWideRate
	}
	return wideRate
}

// Always has Find find every attention that the kernel can compute. Tests set it.
var Always bool
