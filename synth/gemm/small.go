package gemm

import (
	"math/bits"

	"nxvk/ops"
)

// batched carries products of many small matrices, however their elements lie: shaders/gemm_small.comp. A
// workgroup takes several matrices and brings them to shared memory in steps of k. An invocation sums 2 × 2
// results.
type batched struct {
	matrices int // of a workgroup
	shift    int // a step is 1 << shift of k
	shares   int
}

const (
	smallThreads = 128 // a workgroup
	smallRoom    = 8   // vectors of shared memory for an invocation
	smallStep    = 16  // of k, at least, before a workgroup takes fewer matrices
	smallShare   = 256 // of k, at least
)

// What is small, measured on an NVIDIA H200. A larger matrix is a tile's, unless it has few rows or columns.
const (
	smallBlocks = 64
	smallRows   = 8
	// What the plain kernel does as soon: few terms of few results, and matrices of few elements.
	plainTerms    = 16
	plainResults  = 1 << 15
	plainElements = 96 // of both operands
	// Where there are so many matrices that are larger than this, they are better small than few vectors.
	manyMatrices = 8 * Multiprocessors
	fewRows      = 4
)

// small returns how to carry p out as a product of many small matrices; ok is false where that does not suit.
func (p *Problem) small(t *Target) (m batched, ok bool) {
	if p.Operands != ops.Invalid || !p.isSmall(t) || p.blocks() > smallBlocks && min(p.M, p.N) > smallRows || p.isPlain() {
		return m, false
	}
	return p.batched(), true
}

// isPlain reports whether the plain kernel is as good as another, although its loads are not next to each other.
func (p *Problem) isPlain() bool {
	return (p.M+p.N)*p.K <= plainElements || p.K <= plainTerms && p.Batch*p.M*p.N <= plainResults
}

// manySmall reports whether p is better a product of many small matrices than one of few vectors.
func (p *Problem) manySmall(t *Target) bool {
	_, ok := p.small(t)
	return ok && p.Batch >= manyMatrices && min(p.M, p.N) > fewRows
}

// isSmall reports whether the results of a matrix are few enough for the invocations of a workgroup, and a device
// can run these.
func (p *Problem) isSmall(t *Target) bool { return p.blocks() <= smallThreads && t.runsSmall() }

func (t *Target) runsSmall() bool {
	return !t.CPU && smallThreads <= t.MaxInvocations && smallRoom*smallThreads*16 <= t.SharedMemory
}

// blocks is how many invocations sum the results of a matrix.
func (p *Problem) blocks() int { return ceil(p.M, 2) * ceil(p.N, 2) }

// width is how many vectors of shared memory 1 << shift of k have, with those of padding.
func (p *Problem) width(shift int) int { return 1<<shift/p.vector() + 1 }

// batched shares k out and takes fewer matrices a workgroup where there are few of them, and brings as many of k
// at once as there is room for.
func (p *Problem) batched() batched {
	m := batched{matrices: smallThreads / p.blocks(), shares: 1}
	one := bits.Len(uint(p.vector() - 1)) // a step of one vector
	least := max(one, bits.Len(uint(min(smallStep, p.K)-1)))
	m.matrices = max(1, min(m.matrices, smallRoom*smallThreads/p.width(least)/(p.M+p.N), ceil(p.Batch, fillGroups)))
	if groups := ceil(p.Batch, m.matrices); groups < fillGroups {
		m.shares = max(1, min(fillGroups/groups, p.K/smallShare))
	}
	m.shift = one
	for 1<<m.shift < p.K && m.matrices*(p.M+p.N)*p.width(m.shift+1) <= smallRoom*smallThreads {
		m.shift++
	}
	return m
}

func (m batched) plan(p *Problem, t *Target) (*Plan, error) {
	chunk := roundUp(ceil(p.K, m.shares), p.vector())
	shares := ceil(p.K, chunk)
	g := fold(ceil(p.Batch, m.matrices)*shares, t)
	step := Step{
		Kernel: m.kernel(p, [2]int{p.nearer(p.A), p.nearer(p.B)}, p.vectorsAligned(), t),
		In:     [2]Buffer{A, B},
		Out:    C,
		Push: words([]int{p.M, p.N, p.K, p.A.Row, p.A.Col, p.B.Row, p.B.Col, p.A.Batch, p.B.Batch, p.Batch, chunk,
			int(g[0]), m.matrices, m.shift}),
		Grid:  g,
		Bytes: p.bytes(),
		Flops: p.flops(),
	}
	return p.shared([]Step{step}, shares, t)
}

// nearer is 1 where elements of a column lie nearer to each other than those of a row.
func (p *Problem) nearer(s Strides) int { return int(bit(s.Row < s.Col, 1)) }

// vectorsAligned reports whether both operands are rows of whole vectors.
func (p *Problem) vectorsAligned() bool {
	across := [2]int{p.nearer(p.A), p.nearer(p.B)}
	return min(p.M, p.N, p.K) > 1 && p.Direct() && p.aligned(across, p.vector())&(alignedA|alignedB) == alignedA|alignedB
}

func (m batched) kernel(p *Problem, across [2]int, aligned bool, t *Target) Kernel {
	return Kernel{
		Shader: p.shader("gemm_small", t),
		Spec:   []uint32{smallThreads, uint32(across[0]), uint32(across[1]), bit(aligned, 1)},
		Local:  [3]uint32{smallThreads, 1, 1},
	}
}

// WithSmall plans a product as one of many small matrices, whatever New would choose. It is for measurements
// and tests.
func WithSmall(p Problem, t *Target) (*Plan, error) {
	if err := p.check(t); err != nil {
		return nil, err
	}
	if !p.isSmall(t) {
		return nil, ErrTooLarge
	}
	return p.batched().plan(&p, t)
}

// smallParameters is how many parameters the kernels have.
const smallParameters = 14

// smallKernels are those of products of many small matrices.
func (p *Problem) smallKernels(t *Target) []Step {
	var list []Step
	for _, across := range pairs {
		for _, aligned := range []bool{false, true} {
			list = append(list, empty(batched{}.kernel(p, across, aligned, t), smallParameters))
		}
	}
	return list
}

// plain carries any product, one result an invocation:
// shaders/gemm_plain.comp.
type plain struct {
	shares int
}

const plainThreads = 64

func (m plain) plan(p *Problem, t *Target) (*Plan, error) {
	chunk := ceil(p.K, m.shares)
	shares := ceil(p.K, chunk)
	count := p.Batch * p.M * p.N * shares
	g := fold(ceil(count, plainThreads), t)
	step := Step{
		Kernel: p.plainKernel("gemm_plain", t),
		In:     [2]Buffer{A, B},
		Out:    C,
		Push: words([]int{p.M, p.N, p.K, p.A.Row, p.A.Col, p.B.Row, p.B.Col, p.A.Batch, p.B.Batch,
			p.Batch, chunk, int(g[0]), count}),
		Grid:  g,
		Bytes: p.bytes(),
		Flops: p.flops(),
	}
	return p.shared([]Step{step}, shares, t)
}

// plainKernel is one whose invocations make a result each.
func (p *Problem) plainKernel(name string, t *Target) Kernel {
	return Kernel{Shader: p.shader(name, t), Spec: []uint32{plainThreads}, Local: [3]uint32{plainThreads, 1, 1}}
}
