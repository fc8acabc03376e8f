package attention

import (
	"encoding/binary"
	"math"
	"slices"

	"nxvk/ops"
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/fused"
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
)

// MatrixTile is a configuration of the kernel for matrix hardware: see shaders/lib/attention.glsl. Each
// of Warps subgroups has FM matrices of queries; blocks have so many keys.
type MatrixTile struct{ FM, Warps, Keys int }

// matrixTiles are the tiles by the greatest depth and width that they are for; long is for products of so many operations and
// more, if it fills the device and has subgroups. On an H200 of all tiles with four subgroups these take the least time for
// 16-bit attentions of 9 to 48 heads and 327 to 3,072 positions, or up to 5 % more. Two matrices of queries are 3 to 4 % faster
// where products take 0.3 ms, and slower before; NVIDIA's compiler takes 0.5 to 0.9 s for them and 0.4 for one. Eight subgroups
// are up to 17 % faster from 128 columns on; the compiler takes 0.3 to 0.6 s.
var matrixTiles = []struct {
	most       int
	tile, long MatrixTile
	from       int64
}{
	{most: 64, tile: MatrixTile{1, 4, 64}, long: MatrixTile{2, 4, 64}, from: 1 << 35},
	{most: 112, tile: MatrixTile{1, 4, 64}},
	{most: 128, tile: MatrixTile{1, 4, 32}, long: MatrixTile{1, 8, 64}, from: 1 << 31},
	{most: 192, tile: MatrixTile{1, 4, 16}, long: MatrixTile{1, 8, 32}, from: 1 << 31},
	{most: maxWidth, tile: MatrixTile{1, 4, 16}, long: MatrixTile{1, 8, 16}, from: 1 << 31},
}

// foldedWidth is up to which width a scale alone is folded into the base of exponentials. NVIDIA's compiler makes slower
// code of that for wider rows: on an H100 149 TFLOP/s of 192 columns, 195 with a multiplication of scores.
const foldedWidth = 128

// smallTile is for a Matrix that is Small.
var smallTile = MatrixTile{1, 2, 16}

// Tile is used in place of all others where it has subgroups. Tests and measurements set it.
var Tile MatrixTile

// ByMemory has weights become operands by way of shared memory on all devices. Tests and measurements set it.
var ByMemory bool

// vector is how many elements of 16 bits the kernel for matrix hardware loads at once.
const vector = tile.Vector

// matrixTypes are the operands that matrix hardware takes here.
var matrixTypes = []ops.DType{ops.BF16, ops.F16}

// matrixJob is the kernel for matrix hardware. Its operands are bf16 or f16, and so are the weights;
// logits between are f32 and not rounded.
type matrixJob struct {
	*job
	MatrixTile
	shape        gemm.Matrix
	depth, width int         // whole matrices
	lies         tile.Layout // of queries, keys and values
	scale        scaling
	mask         *mask
	parts        int // of the keys of a query
}

// The bits of FLAGS, and the parameters of the kernel; see shaders/lib/attention.glsl.
const (
	wholeRows = 1 << iota
	withLogits
	withSkips
	withQuotient
	inLockstep
	alike
	parted
)

const (
	handBuffers = 4
	handWords   = 24
)

// onMatrix is the kernel for matrix hardware; nil where the device has none that computes the attention.
func (j *job) onMatrix() *matrixJob {
	m := &matrixJob{job: j}
	d := j.query.DType
	for _, x := range []ops.DType{j.key.DType, j.value.DType, j.types(j.output.Ins[0].ID).DType, j.result} {
		if x != d {
			return nil
		}
	}
	m.scale = j.findScaling()
	if !slices.Contains(matrixTypes, d) || !j.target.Addresses || !m.choose() || m.hand().Bytes() > j.target.PushBytes() ||
		j.batches*j.queries*j.width >= 1<<31 {
		return nil
	}
	if m.scale.logits != nil {
		m.mask = findMask(m.scale.logits)
		if m.logitCost()*m.elements() > maxUnrolled || !m.hasRoom() {
			return nil
		}
	}
	m.lies = tile.LayOut(m.target, d, m.batches, 0, &m.query, &m.key, &m.value)
	m.divide()
	return m
}

// choose finds the largest matrices that a tile has room for.
func (m *matrixJob) choose() bool {
	return tile.Largest(m.target, m.query.DType, func(s gemm.Matrix) bool {
		try := *m
		try.shape, try.depth, try.width = s, tile.Whole(m.job.depth, s.N), tile.Whole(m.job.width, s.N)
		if try.MatrixTile = try.tile(); !try.fits() {
			return false
		}
		*m = try
		return true
	})
}

// tile is the tile for the sizes of the job.
func (m *matrixJob) tile() MatrixTile {
	switch {
	case Tile.Warps > 0:
		return Tile
	case m.shape.Small:
		return smallTile
	}
	for _, x := range matrixTiles {
		if max(m.depth, m.width) > x.most {
			continue
		}
		if m.flops() >= x.from && m.fills(x.long) {
			return x.long
		}
		return x.tile
	}
	return MatrixTile{}
}

// fills reports whether a tile fits, has half of the invocations at least that keep a device busy, and has few rows beyond the
// queries.
func (m *matrixJob) fills(t MatrixTile) bool {
	with := *m
	with.MatrixTile = t
	if !with.fits() {
		return false
	}
	rows := with.matrixQueries()
	return tile.Whole(m.queries, rows) <= m.queries+m.queries/16 && m.batches*m.queries/rows*with.threads() >= gemm.Multiprocessors*residentThreads/2
}

// flops are the operations of both products.
func (m *matrixJob) flops() int64 {
	return 2 * int64(m.batches) * int64(m.queries) * int64(m.keys) * int64(m.job.depth+m.job.width)
}

// maxUnrolled bounds the operations of logits in a kernel, which has a copy for each score of an invocation.
const maxUnrolled = 4096

// elements is how many scores an invocation has.
func (m *matrixJob) elements() int { return m.matrixQueries() * m.Keys / m.threads() }

// logitCost counts the primitive operations that make a logit of a scaled score.
func (m *matrixJob) logitCost() int { return fused.Cost(m.scale.logits, m.target) }

func (m *matrixJob) threads() int       { return m.target.SubgroupSize * m.Warps }
func (m *matrixJob) matrixQueries() int { return m.shape.M * m.FM * m.Warps }

// fits reports whether the device can run the kernel.
func (m *matrixJob) fits() bool {
	s := m.shape
	return m.Warps > 0 && m.threads() > 0 && m.threads() <= m.target.MaxInvocations && m.Keys%s.N == 0 &&
		s.M*s.N/2%m.target.SubgroupSize == 0 && m.matrixShared() <= m.target.SharedMemory
}

// matrixShared is the shared memory of a workgroup.
func (m *matrixJob) matrixShared() int {
	k, v := m.depth/vector|1, m.width/vector|1
	leave := 1
	for _, n := range []int{2, 3, 4} {
		if m.width/m.shape.N%n == 0 {
			leave = n
		}
	}
	leaving := m.Warps * m.shape.M * (leave*m.shape.N/4 + 1)
	matrix, stages := m.shape.M*m.shape.N, max(1, m.Warps/4)
	return 16*max(m.Keys*(k+v), m.matrixQueries()/stages*k, leaving) + 4*matrix*(m.Warps+1) + 4
}

// plan is the kernel, after copies of operands.
func (m *matrixJob) plan() (*lowering.Plan, error) {
	p, err := codegen.NewPlan(m.target, m.lies.Temps, m.lies.Copies...)
	if err != nil {
		return nil, err
	}
	s, err := m.step()
	if err != nil {
		return nil, err
	}
	p.Steps = append(p.Steps, s)
	if m.parts == 1 {
		return p, nil
	}
	join, err := codegen.NewStep(m.target, m.joining())
	p.Temps, p.Steps = append(slices.Clip(p.Temps), m.partBytes()), append(p.Steps, join)
	return p, err
}

func (m *matrixJob) step() (s lowering.Step, err error) {
	blocks := (m.queries + m.matrixQueries() - 1) / m.matrixQueries()
	var code *codegen.Program
	if m.scale.logits != nil {
		if code, err = m.logitProgram(); err != nil {
			return s, err
		}
	}
	if s, err = m.kernel(code); err != nil {
		return s, err
	}
	if s.Grid, err = m.target.FoldGrid(m.batches * blocks * m.parts); err != nil {
		return s, err
	}
	at := 8 * len(s.Args)
	for _, n := range m.pushed(blocks) {
		binary.LittleEndian.PutUint32(s.Push[at:], uint32(n))
		at += 4
	}
	binary.LittleEndian.PutUint32(s.Push[at:], math.Float32bits(1))
	if lit := m.scale.literal; lit != nil {
		s.Lits = append(s.Lits, lowering.Lit{Operand: lit.Operand, Offset: at, As: ops.F32})
	}
	out := int64(2 * m.batches * m.queries * m.width0())
	if m.parts > 1 {
		out = m.partBytes()
	}
	s.Flops = m.flops()
	s.Bytes += out + int64(2*(m.query.Size()+m.key.Size()+m.value.Size()))
	return s, nil
}

// width0 is how many columns values have.
func (m *matrixJob) width0() int { return m.job.width }

// pushed are the parameters of the kernel but for the scale.
func (m *matrixJob) pushed(blocks int) []int {
	depth := ceil(m.job.depth, vector)
	if m.parts > 1 {
		depth |= m.parts << 16
	}
	nums := append([]int{m.queries, m.keys, depth, m.width0(), blocks, m.batches * blocks * m.parts}, m.lies.Inner()...)
	for i := range m.lies.Rows {
		nums = append(nums, m.lies.Rows[i].Words()...)
	}
	return nums
}

// flags are the bits of FLAGS.
func (m *matrixJob) flags() (n int) {
	for _, f := range []struct {
		is  bool
		bit int
	}{{m.width0()%vector == 0, wholeRows}, {m.scale.logits != nil || max(m.depth, m.width) > foldedWidth, withLogits}, {m.mask != nil, withSkips}, {m.scale.divides, withQuotient},
		{m.shape.Small, inLockstep}, {!ByMemory && slices.Contains(m.target.Alike, m.shape), alike}, {m.parts > 1, parted}} {
		if f.is {
			n |= f.bit
		}
	}
	return n
}

// spec are the specialisation constants.
func (m *matrixJob) spec() []uint32 {
	var list []uint32
	for _, n := range []int{m.threads(), m.shape.M, m.shape.N, m.FM, m.Warps, m.Keys, m.depth, m.width, m.flags()} {
		list = append(list, uint32(n))
	}
	return list
}

// shader names the hand-written kernel.
func (m *matrixJob) shader() string {
	return "attention_matrix." + m.query.DType.String() + ".addresses"
}
