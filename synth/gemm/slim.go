package gemm

import "nxvk/ops"

// slim carries products of few k, whose time is that of writing the results, and of few rows:
// shaders/gemm_slim.comp. The invocations of a workgroup have neighbouring columns of the same
// rows.
type slim struct {
	rows, threads int
}

// What slim carries, measured on an NVIDIA H200: products of few rows and not many k that fill the
// device, and products of few k. Of these, tiles and matrix hardware have a better share where
// rows of the result are whole vectors, unless k is very few.
const (
	slimRows   = 16
	slimTerms  = 128 // of products of so few rows
	slimGroups = 128 // workgroups that they have at least

	slimColumns = 64      // at least
	slimResults = 1 << 15 // at least, of all matrices
)

// fewTerms are the most k of products of any number of rows, by the size of an element, where rows
// of the result are whole vectors and where they are not.
var fewTerms = map[int][2]int{2: {0, 16}, 4: {8, 32}, 8: {4, 16}}

// Slim reports whether products of m × k and k × n matrices of a type are those of few k or few
// rows.
func Slim(d ops.DType, m, n, k, batch int, t *Target) bool {
	size := d.Size()
	if t.CPU || size < 2 || size == 2 && !(d.IsFloat() && t.Addresses) || m < 2 || n < slimColumns || m*n*batch < slimResults {
		return false
	}
	whole := 0
	if n%max(2, 16/max(size, 4)) != 0 {
		whole = 1
	}
	groups := batch * ceil(n, 128*16/size)
	return k <= fewTerms[size][whole] || m <= slimRows && k <= slimTerms && groups >= slimGroups
}

// slim returns how to carry p out as a product of few k; ok is false where that does not suit.
func (p *Problem) slim(t *Target) (m slim, ok bool) {
	d := p.Type
	if p.Operands != ops.Invalid {
		d = p.Operands
	}
	if !Slim(d, p.M, p.N, p.K, p.Batch, t) {
		return m, false
	}
	return p.slimOf(), true
}

// slimSums are the sums of an invocation, of 32 bits: fewer where each is looked up to be stored.
const (
	slimSums    = 64
	slimOddSums = 32
)

// slimOf has so many rows that the sums of an invocation fit its registers, and no more
// invocations than there are columns.
func (p *Problem) slimOf() slim {
	w, sums := p.block(), slimSums
	if p.slimLies()&alignedC == 0 {
		sums = slimOddSums
	}
	m := slim{rows: p.vector(), threads: 32}
	for m.rows < p.M && m.rows*w < sums*4/p.Type.Size() {
		m.rows *= 2
	}
	// Many invocations, unless a quarter or more of their columns are beyond those of few.
	if few, many := roundUp(p.N, 32*w), roundUp(p.N, 128*w); 32*w < p.N && 4*few > 3*many {
		m.threads = 128
	}
	return m
}

// slimLies tells whether rows of C are whole vectors, and with them those of B. Single elements are
// stored at one place of the code.
func (p *Problem) slimLies() uint32 {
	if p.N%p.vector() != 0 {
		return 0
	}
	if p.B.Col == 1 && !p.B.Whole && p.aligned([2]int{0, 0}, p.block())&alignedB != 0 {
		return alignedB | alignedC | direct
	}
	return alignedC | direct
}

func (m slim) plan(p *Problem, t *Target) (*Plan, error) {
	groups := ceil(p.M, m.rows) * ceil(p.N, m.threads*p.block())
	steps := p.product(m.kernel(p, p.slimLies(), t), groups, p.Batch, 1, t,
		[]int{p.M, p.N, p.K, p.A.Row, p.A.Col, p.B.Row, p.B.Col, p.A.Batch, p.B.Batch, p.Batch}, nil)
	return &Plan{Steps: steps}, nil
}

// kernel returns the kernel for operands that lie so. The numbers of its constants are those of
// tiles.
func (m slim) kernel(p *Problem, lies uint32, t *Target) Kernel {
	return Kernel{
		Shader: p.vectorsShader("gemm_slim", t),
		Spec:   []uint32{uint32(m.threads), uint32(p.block()), uint32(m.rows), 0, 0, 0, 0, 0, lies},
		Local:  [3]uint32{uint32(m.threads), 1, 1},
	}
}

// WithSlim plans a product as one of few k, whatever New would choose. It is for measurements
// and tests.
func WithSlim(p Problem, t *Target) (*Plan, error) {
	if err := p.check(t); err != nil {
		return nil, err
	}
	return p.slimOf().plan(&p, t)
}

// slimParameters is how many parameters the kernels have.
const slimParameters = 12

// slimKernels are those of products of few k.
func (p *Problem) slimKernels(t *Target) []Step {
	var list []Step
	for _, rows := range []int{1, 2, 4, 8, 16, 32} {
		for _, threads := range []int{32, 128} {
			m := slim{rows: rows, threads: threads}
			for _, lies := range []uint32{alignedB | alignedC | direct, alignedC | direct, 0} {
				sums := slimSums
				if lies == 0 {
					sums = slimOddSums
				}
				if rows == p.vector() || rows > p.vector() && rows*p.block() <= sums*4/p.Type.Size() {
					list = append(list, empty(m.kernel(p, lies, t), slimParameters))
				}
			}
		}
	}
	return list
}
