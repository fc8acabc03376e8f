package gemm

// block carries a product on a processor: shaders/gemm_block.comp.
type block struct {
	flip bool // compute the transpose, so that the longer side runs along the lanes
}

const (
	blockLanes = 8 // invocations a workgroup: one vector of an AVX processor
	blockCols  = 8 // results of one invocation in a row
)

func (m block) plan(p *Problem, t *Target) (*Plan, error) {
	q, rowC, colC := *p, p.N, 1
	if m.flip {
		q, rowC, colC = p.transposed(), 1, p.N
	}
	across := [2]int{q.across(q.A, q.M, q.K), q.across(q.B, q.K, q.N)}
	lda, ldb := q.A.Row, q.B.Row
	if across[0] == 1 {
		lda = q.A.Col
	}
	if across[1] == 1 {
		ldb = q.B.Col
	}
	rows := 8
	for rows > q.M {
		rows /= 2
	}
	aligned := q.aligned(across, 4)
	if colC != 1 {
		aligned &^= 4
	}
	k := Kernel{
		Shader: p.shader("gemm_block", t),
		Spec:   []uint32{blockLanes, uint32(rows), uint32(across[0]), uint32(across[1]), aligned},
		Local:  [3]uint32{blockLanes, 1, 1},
	}
	groups := ceil(q.M, rows) * ceil(q.N, blockLanes*blockCols)
	steps := q.product(k, groups, q.Batch, t,
		[]int{q.M, q.N, q.K, lda, ldb, q.A.Batch, q.B.Batch, q.Batch}, []int{q.K, rowC, colC})
	if m.flip {
		for i := range steps {
			steps[i].In = [2]Buffer{B, A}
		}
	}
	return &Plan{Steps: steps}, nil
}
