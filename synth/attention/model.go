package attention

import (
	"nxvk/synth/attention/tile"
	"nxvk/synth/gemm"
)

// The model of time: rates of the device that tile.ProductRate is of. That of the kernel of multiply-adds is not
// measured: it is taken as less than half of a product's.
const (
	streamRate = 20e12 // operations of the products in this package's kernel
	pointRate  = 30e12 // primitive operations on scores

	matrixStreamRate = 208e12  // operations of the products in the kernel for matrix hardware, its softmax included
	wideRate         = 158e12  // the same beyond wideColumns
	leastScoreTime   = 1e-12   // seconds that a score takes there at least
	logitTime        = 1.2e-12 // seconds that it takes more where logits are not scaled scores
)

// Seconds that no size lowers: a dispatch; two products with a softmax between them, which fill and empty the device three
// times; the first loads and last stores of workgroups for matrix hardware; a kernel that joins parts.
const (
	dispatchTime = 3e-6
	apartTime    = 16e-6
	waveTime     = 6e-6
	joinTime     = 6.5e-6
)

// wideColumns is up to which width the kernel for matrix hardware keeps its rate.
const wideColumns = 192

// residentThreads is how many invocations of the kernel for matrix hardware a multiprocessor has at a time, for the registers
// that they take; loneRate is the rate of half of them.
const (
	residentThreads = 256
	loneRate        = 0.75
)

// diagonalKeys is how many keys without a mask take as long as those of the tiles that an edge of a mask crosses.
const diagonalKeys = 320

const (
	passes       = 4                        // over the scores: written, read and written by the softmax, read
	softmaxCost  = 24                       // primitive operations of a score: maximum, exponential, sum, shared memory
	fullDevice   = 2 * gemm.Multiprocessors // workgroups that keep a device busy
	leastQueries = 16                       // with fewer, the memory of keys bounds the time; see fewJob
)

// cachedScores is the size of scores, in bytes, up to which the caches of GPUs may hold them.
const cachedScores = 1 << 26

// Seconds that a score of 16 bits takes more in memory where caches do not hold all, or rows are no whole vectors, and where
// logits are not scaled scores.
const (
	slowScoreTime = 3e-12
	maskTime      = 1e-12
)

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
		return j.matrix.streamed() < j.matrix.apart()+apartTime
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

// apart is the time of two products of 16 bits and a softmax. An H200 took 0.8 to 1.7 times as long for 29 drawn ones.
func (m *matrixJob) apart() float64 {
	each := 0.0
	if m.scoreBytes() > cachedScores || m.keys%vector != 0 {
		each += slowScoreTime
	}
	if m.scale.logits != nil {
		each += maskTime
	}
	return m.job.apart() + each*float64(m.batches)*float64(m.queries)*float64(m.keys)
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
	groups := m.batches * ceil(m.queries, m.matrixQueries()) * m.parts
	capacity := gemm.Multiprocessors * max(1, residentThreads/m.threads())
	block := float64(capacity*m.matrixQueries()*m.Keys) * m.scoreTime() // of each of as many workgroups as there are at a time
	blocks := float64(ceil(ceil(m.keys, m.Keys), m.parts))
	time := dispatchTime + waveTime*float64(ceil(groups, capacity))
	if m.mask != nil && m.parts == 1 { // of the last queries no part has less
		left := min(1, 0.5+diagonalKeys/float64(m.keys)) // under a causal mask; the longest workgroups begin first
		time += block * max(blocks*alone(min(groups, capacity), capacity), left*blocks*float64(groups)/float64(capacity))
	} else {
		time += block * blocks * (float64(groups/capacity) + alone(groups%capacity, capacity))
	}
	for _, p := range m.lies.Copies {
		time += dispatchTime + float64(p.Bytes)/tile.MemoryRate
	}
	if m.parts > 1 {
		time += joinTime + 2*float64(m.partBytes())/tile.MemoryRate
	}
	return time
}

// alone is how long workgroups take of the time that they take where there are as many as there can be at a time.
func alone(groups, capacity int) float64 {
	switch each := capacity / gemm.Multiprocessors; {
	case groups == 0:
		return 0
	case each == 1 || groups > gemm.Multiprocessors:
		return 1
	default:
		return 1 / (loneRate * float64(each))
	}
}

// scoreTime is the time, in seconds, of a score in the kernel for matrix hardware where all of the device computes.
func (m *matrixJob) scoreTime() float64 {
	rate := matrixStreamRate
	if max(m.depth, m.width) > wideColumns {
		rate = wideRate
	}
	time := max(leastScoreTime, 2*float64(m.depth+m.width)/rate)
	if m.scale.logits != nil && !(m.mask != nil && m.mask.exact) {
		time += logitTime + float64(m.logitCost())/pointRate
	}
	return time
}

// Always has Find find every attention that the kernel can compute. Tests set it.
var Always bool
