package gemm

import "nxvk/ops"

// slim carries products of few k, whose time is that of writing the results, and of few rows:
// shaders/gemm_slim.comp. The invocations of a workgroup have neighbouring columns of the same
// rows.
type slim struct {
	rows, threads int
}

// Products that slim carries have few k, or few rows and not many k. Matrix hardware has a
// better share of the others.
const (
	slimTerms    = 32
	slimTerms64  = 64 // of 64 bits, of which tiles sum fewer
	slimTermsOf  = 16 // of operands that matrix hardware multiplies
	slimRows     = 16
	slimRowTerms = 128 // of products of so few rows

	slimColumns = 64      // at least
	slimResults = 1 << 15 // at least, of all matrices
)

// Slim reports whether products of m × k and k × n matrices of a type are those of few k or few
// rows.
func Slim(d ops.DType, m, n, k, batch int, t *Target) bool {
	terms := slimTerms
	switch {
	case d.Size() == 8:
		terms = slimTerms64
	case d.Size() < 4:
		terms = slimTermsOf
	}
	return !t.CPU && (d.IsFloat() || d.Size() >= 4) && (d.Size() >= 4 || t.Addresses) && n >= slimColumns && m > 1 && m*n*batch >= slimResults &&
		(k <= terms || m <= slimRows && k <= slimRowTerms)
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

// slimOf has so many rows that the sums of an invocation fit its registers, and no more
// invocations than there are columns.
func (p *Problem) slimOf() slim {
	w := p.block()
	m := slim{rows: p.vector(), threads: 32}
	for m.rows < p.M && m.rows*w < 64*4/p.Type.Size() {
		m.rows *= 2
	}
	for m.threads < 128 && m.threads*w < p.N {
		m.threads *= 4
	}
	return m
}

// slimLies tells which operands lie in whole vectors.
func (p *Problem) slimLies() uint32 {
	lies := bit(p.N%p.vector() == 0, alignedC)
	if p.B.Col == 1 && !p.B.Whole && p.aligned([2]int{0, 0}, p.block())&alignedB != 0 {
		lies |= alignedB
	}
	if lies&alignedC != 0 {
		lies |= direct
	}
	return lies
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
			if rows < p.vector() || rows > p.vector() && rows*p.block() > 64*4/p.Type.Size() {
				continue
			}
			for _, lies := range []uint32{alignedB | alignedC | direct, alignedC | direct, alignedB, 0} {
				list = append(list, empty(m.kernel(p, lies, t), slimParameters))
			}
		}
	}
	return list
}
