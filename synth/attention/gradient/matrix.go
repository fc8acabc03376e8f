package gradient

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/fused"
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
)

// MatrixTile is a configuration of the kernel for matrix hardware: see shaders/lib/attention_gradient.glsl. Each of Warps
// subgroups computes Tiles tiles at once; blocks have Rows streamed rows.
type MatrixTile struct{ Tiles, Warps, Rows int }

// matrixTiles are the tiles by the greatest depth and width that they are for.
var matrixTiles = []struct {
	most int
	tile MatrixTile
}{
	{64, MatrixTile{1, 4, 64}},
	{128, MatrixTile{1, 4, 32}},
}

// smallTile is for a Matrix that is Small.
var smallTile = MatrixTile{1, 2, 16}

// Tile is used in place of those of matrixTiles where it has subgroups. Measurements set it.
var Tile MatrixTile

// NoMatrices has kernels of fused multiply-adds on all devices. Measurements set it.
var NoMatrices bool

// maxUnrolled bounds the operations of expressions in a kernel, which has a copy for each element of a tile that an
// invocation has.
const maxUnrolled = 4096

// maxCounted is how many bytes a sum of f32 counts at most without an error.
const maxCounted = 1 << 16

// matrixJob is the gradient on matrix hardware.
type matrixJob struct {
	*Job
	MatrixTile
	shape        gemm.Matrix
	depth, width int // whole matrices
	lies         tile.Layout
	passes       []*pass
}

// The operands in the order of the layout.
const (
	atQuery = iota
	atKey
	atUp
	atValue
)

// onMatrix is the gradient on matrix hardware; nil where the device has none that computes it. Queries, keys and values have
// one type of 16 bits. So have the gradients of the results, or they are f32 and are rounded to bf16, which has the same range.
func (j *Job) onMatrix() *matrixJob {
	d, up := j.scored[queries].DType, j.valued[queries].DType
	m := &matrixJob{Job: j}
	if d.Size() != 2 || j.scored[keys].DType != d || j.valued[keys].DType != d || up != d && (up != ops.F32 || d != ops.BF16) ||
		NoMatrices || !j.target.Addresses || !m.choose() {
		return nil
	}
	for _, r := range j.results {
		if _, ok := m.kindOf(r.in.Outs[0].Type.DType); !ok || j.batches*j.lengths[r.own]*j.columnsOf(&r) >= 1<<31 {
			return nil
		}
	}
	for i := range j.folds {
		if !m.folds(&j.folds[i]) {
			return nil
		}
	}
	m.lies = tile.LayOut(j.target, d, j.batches, len(j.folds), &j.scored[queries], &j.scored[keys], &j.valued[queries], &j.valued[keys])
	var err error
	if m.passes, err = m.divide(); err != nil {
		return nil
	}
	for _, p := range m.passes {
		if code, err := m.code(p); err != nil || !m.hand(p).HasRoom(code) || fused.Cost(p.hoisted.DAG, j.target)*m.elements() > maxUnrolled {
			return nil
		}
	}
	return m
}

// choose finds the largest matrices that a tile has room for.
func (m *matrixJob) choose() bool {
	return tile.Largest(m.target, m.scored[queries].DType, func(s gemm.Matrix) bool {
		try := *m
		try.shape, try.depth, try.width = s, tile.Whole(m.Job.depth, s.N), tile.Whole(m.Job.width, s.N)
		if try.MatrixTile = try.tile(); !try.fits() {
			return false
		}
		*m = try
		return true
	})
}

// tile is the tile for the sizes of the job.
func (m *matrixJob) tile() MatrixTile {
	for _, x := range matrixTiles {
		switch {
		case max(m.depth, m.width) > x.most:
			continue
		case m.shape.Small:
			return smallTile
		case Tile.Warps > 0:
			return Tile
		}
		return x.tile
	}
	return MatrixTile{}
}

func (m *matrixJob) threads() int  { return m.target.SubgroupSize * m.Warps }
func (m *matrixJob) owned() int    { return m.shape.M * m.Warps }
func (m *matrixJob) elements() int { return m.shape.M * m.shape.N / m.target.SubgroupSize * m.Tiles }

// fits reports whether the device can run the kernels.
func (m *matrixJob) fits() bool {
	s := m.shape
	return m.Warps > 0 && m.threads() > 0 && m.threads() <= m.target.MaxInvocations && m.Rows%(s.N*m.Tiles) == 0 &&
		s.M*s.N/2%m.target.SubgroupSize == 0 && m.matrixShared() <= m.target.SharedMemory
}

// matrixShared is the shared memory of a workgroup.
func (m *matrixJob) matrixShared() int {
	k, v := m.depth/tile.Vector|1, m.width/tile.Vector|1
	matrix := m.shape.M * m.shape.N
	return 16*max(m.Rows*(k+v), m.owned()*max(k, v, m.shape.N/4+1)) + 4*matrix*(m.Warps+1) + 4*mostNumbers*max(m.Rows, m.owned())
}

// How elements of what a kernel gives lie: see shaders/lib/attention_gradient.glsl.
const (
	asHalf = iota
	asFloat
	asWord
)

// kindOf is how elements of a type lie.
func (m *matrixJob) kindOf(d ops.DType) (kind int, ok bool) {
	switch d {
	case m.scored[queries].DType:
		return asHalf, true
	case ops.F32:
		return asFloat, true
	case ops.U32, ops.S32: // of what is not negative
		return asWord, true
	}
	return 0, false
}

// folds reports whether numbers of f32 fold as those of the region: they do not where integers are large.
func (m *matrixJob) folds(f *fold) bool {
	if f.compute.Wide() == ops.F32 {
		return f.in.Outs[0].Type.DType.Wide() == ops.F32
	}
	_, ok := m.kindOf(f.in.Outs[0].Type.DType)
	return ok && f.in.Op == ops.Sum && m.types(f.in.Ins[0].ID).DType == ops.U8 && m.lengths[keys] <= maxCounted
}

// divide is passes for the kernel on matrix hardware, which has two roots: those of folds by level; then those of results of
// queries, and of keys and values together.
func (m *matrixJob) divide() (list []*pass, err error) {
	for level, left := 0, len(m.Job.folds); left > 0; level++ {
		var last *pass
		for i := range m.Job.folds {
			if m.Job.folds[i].level != level {
				continue
			}
			if left--; last == nil || len(last.folds) == maxResults {
				last = &pass{Job: m.Job, own: queries, wide: true}
				list = append(list, last)
			}
			last.folds = append(last.folds, i)
		}
	}
	for _, own := range []int{queries, keys} {
		var last *pass
		for i := range m.results {
			r := &m.results[i]
			if r.own != own {
				continue
			}
			if last == nil || slices.ContainsFunc(last.results, func(k int) bool { return m.results[k].valued == r.valued }) {
				last = &pass{Job: m.Job, own: own, wide: true}
				list = append(list, last)
			}
			last.results = append(last.results, i)
		}
	}
	return list, express(list)
}

// plan is the kernels, after copies of operands.
func (m *matrixJob) plan() (*lowering.Plan, error) {
	var temps []int64
	for i := range m.Job.folds {
		temps = append(temps, int64(m.foldType(i).Bytes()))
	}
	plan, err := codegen.NewPlan(m.target, append(temps, m.lies.Temps...), m.lies.Copies...)
	if err != nil {
		return nil, err
	}
	for _, p := range m.passes {
		s, err := m.step(p)
		if err != nil {
			return nil, err
		}
		plan.Steps = append(plan.Steps, s)
	}
	return plan, nil
}
