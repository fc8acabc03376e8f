package gemm

// narrow carries products of a matrix with at most eight columns, or, flipped,
// eight rows: shaders/gemm_narrow.comp.
type narrow struct {
	flip   bool
	shares int
}

const (
	narrowThreads = 128
	narrowRows    = 4
	narrowCols    = 8 // at most
)

func (m narrow) plan(p *Problem, t *Target) (*Plan, error) {
	q, rowC, colC := *p, p.N, 1
	if m.flip {
		q, rowC, colC = p.Transposed(), 1, p.N
	}
	v := q.vector()
	chunk := roundUp(ceil(q.K, m.shares), v)
	shares := ceil(q.K, chunk)
	aligned := q.aligned([2]int{0, 0}, v)&alignedA != 0
	steps := q.product(p.narrowKernel(q.N, aligned, t), ceil(q.M, narrowRows), q.Batch*shares, 1, t,
		[]int{q.M, q.N, q.K, q.A.Row, q.B.Row, q.B.Col, q.A.Batch, q.B.Batch, q.Batch}, []int{chunk, rowC, colC})
	if m.flip {
		for i := range steps {
			steps[i].In = [2]Buffer{B, A}
		}
	}
	return p.shared(steps, shares, t)
}

func (p *Problem) narrowKernel(cols int, aligned bool, t *Target) Kernel {
	return Kernel{
		Shader: p.shader("gemm_narrow", t),
		Spec:   []uint32{narrowThreads, narrowRows, uint32(cols), bit(aligned, 1), narrowThreads},
		Local:  [3]uint32{narrowThreads, 1, 1},
	}
}
