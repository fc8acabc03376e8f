package gemm

import "nxvk/ops"

// block carries a product on a processor: shaders/gemm_block.comp.
type block struct {
	flip bool // compute the transpose, so that the longer side runs along a subgroup
}

// Rows of results a workgroup has at most. The more, the less often B is read,
// and the longer the kernel takes to compile, which must pay.
const (
	blockRows      = 16
	blockRowsLarge = 32
	blockLarge     = 1 << 30 // operations of a product that is large
)

const blockCols = 8 // of results, an invocation

// What a large matrix of a product with few vectors is: it is read about as often as it is converted otherwise.
const (
	storedVectors = blockRows
	storedBytes   = 1 << 16
)

// LargeMatrix returns the operand that a processor reads in the type that it has, converting it as it is multiplied: the matrix
// of a product with few vectors. ok is false where there is none.
func (p *Problem) LargeMatrix(t *Target) (matrix Buffer, ok bool) {
	few, many, matrix := p.M, p.N, B
	if p.N < p.M {
		few, many, matrix = p.N, p.M, A
	}
	ok = t.CPU && t.blocks() && p.Direct() && p.Type.Size() == 4 && few <= storedVectors && many >= t.Subgroup*blockCols && many*p.K*p.Batch >= storedBytes
	return matrix, ok
}

// blocks reports whether the device has subgroups that the kernel can fill.
func (t *Target) blocks() bool { return t.Subgroup >= 4 && t.Subgroup <= 64 }

func (m block) plan(p *Problem, t *Target) (*Plan, error) {
	q, rowC, colC := *p, p.N, 1
	if m.flip {
		q, rowC, colC = p.Transposed(), 1, p.N
	}
	across := [2]int{q.across(q.A, q.M, q.K), q.across(q.B, q.K, q.N)}
	lda, ldb := q.A.Row, q.B.Row
	if across[0] == 1 {
		lda = q.A.Col
	}
	if across[1] == 1 {
		ldb = q.B.Col
	}
	rows := blockRows
	if p.Type.Size() == 4 && p.flops() >= blockLarge {
		rows = blockRowsLarge
	}
	for rows > q.M {
		rows /= 2
	}
	aligned := q.aligned(across, 4)
	if colC != 1 {
		aligned &^= alignedC
	}
	if p.Operands != ops.Invalid {
		aligned &^= alignedB
	}
	groups := ceil(q.M, rows) * ceil(q.N, t.Subgroup*blockCols)
	steps := q.product(p.blockKernel(rows, across, aligned, t), groups, q.Batch, 1, t,
		[]int{q.M, q.N, q.K, lda, ldb, q.A.Batch, q.B.Batch, q.Batch}, []int{rowC, colC})
	if m.flip {
		for i := range steps {
			steps[i].In = [2]Buffer{B, A}
		}
	}
	return &Plan{Steps: steps}, nil
}

func (p *Problem) blockKernel(rows int, across [2]int, aligned uint32, t *Target) Kernel {
	size := uint32(t.Subgroup)
	shader := p.shader("gemm_block", t)
	if p.Operands != ops.Invalid {
		shader = "gemm_block." + p.Operands.String() + "." + t.mode()
	}
	return Kernel{
		Shader: shader,
		Spec:   []uint32{size, uint32(rows), uint32(across[0]), uint32(across[1]), aligned},
		Local:  [3]uint32{size, 1, 1},
	}
}
