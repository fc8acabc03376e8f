package gemm

import (
	"fmt"
	"slices"
	"strings"

	"nxvk/ops"
)

// Matrix is a shape of the matrices that the device multiplies by one instruction
// (VK_KHR_cooperative_matrix): M×K by K×N elements of a type, whose sums are f32, or
// integers of 32 bits.
type Matrix struct {
	Type    ops.DType
	M, N, K int
	Small   bool // only small tiles, as for a driver that writes matrices out as loops
}

// MatrixTile is a configuration of the kernels for matrix hardware: see
// shaders/lib/matrix.glsl. A workgroup holds WarpsM × WarpsN × WarpsK subgroups, each of which sums
// FM × FN matrices, in steps of TileK. Those along k have the same results.
type MatrixTile struct {
	Double                                bool // two buffers of shared memory
	FM, FN, WarpsM, WarpsN, WarpsK, TileK int
}

// sliced reports whether subgroups share out k: shaders/matrix_sliced.comp.
func (c MatrixTile) sliced() bool { return c.WarpsK > 1 }

// String names the tile by its size, for matrices of 16×16 sums, and that of a subgroup.
func (c MatrixTile) String() string {
	kind := "single"
	switch {
	case c.Double:
		kind = "double"
	case c.sliced():
		kind = fmt.Sprintf("sliced by %d", c.WarpsK)
	}
	return fmt.Sprintf("%s %dx%dx%d %dx%d", kind, 16*c.FM*c.WarpsM, 16*c.FN*c.WarpsN, c.TileK, 16*c.FM, 16*c.FN)
}

// matrixMethod carries a product out on matrix hardware.
type matrixMethod struct {
	MatrixTile
	shape    Matrix
	subgroup int
	shares   int // of the k of each tile
	rest     Rest
	places   *Places // what makes an operand; nil where both are matrices
}

func (m *matrixMethod) m() int       { return m.shape.M * m.FM * m.WarpsM }
func (m *matrixMethod) n() int       { return m.shape.N * m.FN * m.WarpsN }
func (m *matrixMethod) threads() int { return m.movers() * m.WarpsK }

// movers are the invocations that move a slice.
func (m *matrixMethod) movers() int { return m.subgroup * m.WarpsM * m.WarpsN }

// slices are the elements along k that a buffer of A and of B has.
func (m *matrixMethod) slices() (a, b int) {
	if m.Double {
		return 2 * m.shape.K, m.shape.K
	}
	return m.TileK, m.TileK
}

// tiles returns the workgroups of one matrix.
func (m *matrixMethod) tiles(p *Problem) int { return ceil(p.M, m.m()) * ceil(p.N, m.n()) }

// sharedBytes is the shared memory of a workgroup: the slices, or the sums on their way out.
func (m *matrixMethod) sharedBytes(across [2]int) int {
	e, buffers := 16/m.shape.Type.Size(), 1
	if m.Double {
		buffers = 2
	}
	slice := func(size, k int, rows bool) int {
		if rows {
			return (k/e | 1) * size
		}
		return (size/e | 1) * k
	}
	a, b := m.slices()
	words := buffers * (slice(m.m(), a, across[0] == 0) + slice(m.n(), b, across[1] == 1))
	return 16 * m.WarpsK * max(words, m.WarpsM*m.WarpsN*m.shape.M*(m.FN*m.shape.N/4+1))
}

// fits reports whether the device can run the kernel: its shared memory holds the slices,
// its invocations move whole vectors, and matrices begin at whole vectors.
func (m *matrixMethod) fits(across [2]int, t *Target) bool {
	e := 16 / m.shape.Type.Size()
	a, b := m.slices()
	moves := func(size, k int) bool { return size*k%(e*m.movers()) == 0 && size%e == 0 && k%e == 0 }
	rows := func(size, k int, contiguousK bool) bool {
		per := size / e // vectors of a row
		if contiguousK {
			per = k / e
		}
		return per > 0 && m.movers()%per == 0
	}
	return m.threads() <= t.MaxInvocations && m.sharedBytes(across) <= t.SharedMemory &&
		m.TileK%m.shape.K == 0 && m.shape.K%e == 0 && m.shape.M%e == 0 && m.shape.N%e == 0 && m.shape.N%4 == 0 &&
		moves(m.m(), a) && moves(m.n(), b) && rows(m.m(), a, across[0] == 0) && rows(m.n(), b, across[1] == 1)
}

// takes reports whether the kernel is for operands that lie so. Those with much code for a load are for aligned matrices only.
func (m *matrixMethod) takes(across [2]int, lies uint32, t *Target) bool {
	if !m.Double && !m.sliced() {
		return m.fits(across, t)
	}
	return m.fits(across, t) && m.places == nil && lies&(alignedA|alignedB) == alignedA|alignedB
}

// matrixLies tells how the operands of a product on matrix hardware lie. Kernels for operands of
// which one is aligned do not pay.
func (p *Problem) matrixLies() (across [2]int, lies uint32) {
	across = [2]int{p.across(p.A, p.M, p.K), p.across(p.B, p.K, p.N)}
	lies = bit(p.N%4 == 0, alignedC)
	if both := uint32(alignedA | alignedB); p.aligned(across, 16/p.Operands.Size())&both == both {
		lies |= both
	}
	return across, lies
}

func (m *matrixMethod) plan(p *Problem, t *Target) (*Plan, error) {
	across, lies := p.matrixLies()
	lda, ldb := p.A.Row, p.B.Row
	if across[0] == 1 {
		lda = p.A.Col
	}
	if across[1] == 1 {
		ldb = p.B.Col
	}
	e := 16 / p.Operands.Size()
	before := []int{p.M, p.N, p.K, lda, ldb, p.A.Batch, p.B.Batch, p.Batch}
	after := []int{p.A.First, p.B.First, (p.extent(p.A, p.M, p.K) - 1) / e, (p.extent(p.B, p.K, p.N) - 1) / e}
	if m.rest.Tiles > 0 {
		return m.planRest(p, m.kernel(across, lies, t), m.kernel(across, lies|alignedC, t), before, after, t), nil
	}
	chunk, shares := m.chunks(p, m.shares)
	steps := p.product(m.kernel(across, lies, t), m.tiles(p)*p.Batch, shares, Multiprocessors, t, before, slices.Concat([]int{chunk, 0, 0}, after))
	return p.inRows(p.shared(steps, shares, t))
}

// inRows completes a plan whose results lie in rows as long as those of C.
func (p *Problem) inRows(plan *Plan, err error) (*Plan, error) {
	if err == nil {
		plan.Row = p.N
	}
	return plan, err
}

// chunks is how much k a workgroup sums where it is shared out, in whole steps, and among how many.
func (m *matrixMethod) chunks(p *Problem, shares int) (chunk, of int) {
	chunk = roundUp(ceil(p.K, shares), m.TileK)
	return chunk, ceil(p.K, chunk)
}

// kernel returns the shader of a tile for operands that lie so, and a starter.
func (m *matrixMethod) kernel(across [2]int, lies uint32, t *Target) Kernel {
	k := m.shader(across, lies)
	if m.sliced() { // the same with fewer slices on their way
		starter := k
		starter.Shader = strings.Replace(k.Shader, "sliced", "sliced_starter", 1)
		k.Starter = &starter
	} else if s, ok := m.starter(across, lies, t); ok {
		starter := s.shader(across, lies)
		k.Starter = &starter
	}
	return k
}

// starter is a method with the same tiles, whose subgroups have fewer matrices of sums each: a driver takes the longer to
// compile a kernel the more of them it has. An instruction adds up the same products of k as before, in the same order.
func (m *matrixMethod) starter(across [2]int, lies uint32, t *Target) (best matrixMethod, ok bool) {
	code := func(m *matrixMethod) int { return m.FM * m.FN * m.TileK }
	down, along := m.FM*m.WarpsM, m.FN*m.WarpsN
	for fm := 1; fm <= m.FM; fm *= 2 {
		for fn := 1; fn <= m.FN; fn *= 2 {
			for k := m.TileK; k >= m.shape.K; k /= 2 {
				s := *m
				s.MatrixTile = MatrixTile{false, fm, fn, down / fm, along / fn, 1, k}
				if down%fm == 0 && along%fn == 0 && s.threads() <= starterThreads && s.takes(across, lies, t) && (!ok || code(&s) < code(&best)) {
					best, ok = s, true
				}
			}
		}
	}
	return best, ok && 2*code(&best) <= code(m)
}

// starterThreads is how many invocations a starter has at most.
const starterThreads = 512

// shader returns the shader of a tile for operands that lie so.
func (m *matrixMethod) shader(across [2]int, lies uint32) Kernel {
	name := "matrix_single"
	switch {
	case m.Double:
		name = "matrix_double"
	case m.sliced():
		name = "matrix_sliced"
	}
	list := []int{m.threads(), m.shape.M, m.shape.N, m.shape.K, m.FM, m.FN, m.WarpsM, m.WarpsN, int(lies), m.TileK, across[0], across[1]}
	spec := make([]uint32, len(list))
	for i, v := range list {
		spec[i] = uint32(v)
	}
	if m.sliced() {
		spec = append(spec, uint32(m.WarpsK))
	}
	if g := m.places; g != nil {
		name, spec = "conv_matrix", append(spec, bit(g.Of == A, 1)|bit(g.Of == B, 2), bit(g.First, 1))
	}
	return Kernel{Shader: name + "." + m.shape.Type.String() + ".addresses", Spec: spec,
		Local: [3]uint32{uint32(m.threads()), 1, 1}, SubgroupSize: m.subgroup}
}

// MatrixKernels lists every kernel that New can choose for products on matrix hardware whose
// sums are of a type, as Kernels does.
func MatrixKernels(d ops.DType, t *Target) []Step {
	var list []Step
	for _, m := range matrixMethods(d, t) {
		for _, across := range pairs {
			for _, lies := range []uint32{alignedA | alignedB | alignedC, alignedA | alignedB, alignedC, 0} {
				if m.takes(across, lies, t) {
					list = append(list, empty(m.kernel(across, lies, t), matrixParameters))
				}
			}
		}
	}
	if len(list) > 0 {
		list = append(list, restKernels(d, t)...)
	}
	return list
}

// matrixMethods are the tiles for all operands whose sums are of a type, U32 for any integers.
func matrixMethods(d ops.DType, t *Target) []*matrixMethod {
	var list []*matrixMethod
	for _, s := range t.Matrices {
		best, ok := t.Matrix(s.Type, matrixLeast, matrixLeast)
		if wide := s.Type.Wide(); !ok || best != s || wide != d && (wide != ops.S32 || d != ops.U32) {
			continue
		}
		for _, x := range s.models() {
			list = append(list, &matrixMethod{MatrixTile: x.tile, shape: s, subgroup: t.Subgroup})
		}
	}
	return list
}

// matrixParameters is how many parameters the kernels have.
const matrixParameters = 17
