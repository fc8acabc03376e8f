package gemm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nxvk/ops"
)

// Tile is a configuration of the tiled kernels: see shaders/lib/tile.glsl. A
// workgroup holds WarpsM × WarpsN warps of 32 invocations, each of which sums
// Rows × Cols results, in steps of TileK.
type Tile struct {
	Double                            bool // two buffers of shared memory, two steps ahead
	Rows, Cols, WarpsM, WarpsN, TileK int
}

// String names the tile: its size and the results of one invocation.
func (c Tile) String() string {
	kind := "single"
	if c.Double {
		kind = "double"
	}
	return fmt.Sprintf("%s %dx%dx%d %dx%d", kind, c.m(), c.n(), c.TileK, c.Rows, c.Cols)
}

func (c Tile) m() int       { return 8 * c.Rows * c.WarpsM }
func (c Tile) n() int       { return 4 * c.Cols * c.WarpsN }
func (c Tile) threads() int { return 32 * c.WarpsM * c.WarpsN }

// tiles returns the workgroups of one matrix.
func (c Tile) tiles(p *Problem) int { return ceil(p.M, c.m()) * ceil(p.N, c.n()) }

// sharedBytes is the shared memory of a workgroup: of two slices, twice, or
// when both are padded.
func (c Tile) sharedBytes(size int) int {
	slices := c.TileK * (c.m() + c.n()) * size
	if c.Double {
		return 2 * slices
	}
	return slices + 32*c.TileK
}

// fits reports whether the device can run the tile.
func (c Tile) fits(p *Problem, t *Target) bool {
	return c.threads() <= t.MaxInvocations && c.sharedBytes(p.Type.Size()) <= t.SharedMemory
}

// takes reports whether the tile is for the product. One that loads its last step again
// does so without looking for the beginning of k, and so has to have one of its own.
func (c Tile) takes(p *Problem, t *Target) bool {
	return c.fits(p, t) && (!c.Double || p.K >= 2*c.TileK)
}

// aligns reports whether the tile is for operands that lie so. The wide ones of f32 have
// no registers left for loads that are not whole vectors.
func (c Tile) aligns(d ops.DType, lies uint32) bool {
	return !c.Double || d != ops.F32 || lies&(alignedA|alignedB) == alignedA|alignedB
}

// maxTileK is the longest step of a tile. Shares of k are whole ones, so that they are the same
// with every tile.
const maxTileK = 32

// tiled carries a product with a tile, k shared out among shares workgroups.
type tiled struct {
	Tile
	shares int
	gather *Gather // what B is made of; nil where it is a matrix
}

func (m tiled) plan(p *Problem, t *Target) (*Plan, error) {
	across := [2]int{p.across(p.A, p.M, p.K), p.across(p.B, p.K, p.N)}
	lda, ldb := p.A.Row, p.B.Row
	if across[0] == 1 {
		lda = p.A.Col
	}
	if across[1] == 1 {
		ldb = p.B.Col
	}
	batchB, lies := p.B.Batch, p.aligned(across, p.vector())
	var more []int
	if g := m.gather; g != nil {
		ldb, batchB = g.Outer, g.Batch
		across[1], lies = 0, lies|alignedB
		more = g.parameters()
	}
	chunk := roundUp(ceil(p.K, m.shares), maxTileK)
	shares := ceil(p.K, chunk)
	k := m.kernel(p, across, lies, p.M < m.m() || p.N < m.n(), t)
	steps := p.product(k, m.tiles(p), p.Batch*shares, m.wave(p.Type), t,
		[]int{p.M, p.N, p.K, lda, ldb, p.A.Batch, batchB, p.Batch}, append([]int{chunk}, more...))
	return p.shared(steps, shares, t)
}

// kernel returns the shader of a tile for operands that lie so: across as those of
// across, lies as those of aligned. With clamp a matrix may be smaller than the tile.
func (m tiled) kernel(p *Problem, across [2]int, lies uint32, clamp bool, t *Target) Kernel {
	if lies&alignedAll == alignedAll {
		lies |= direct
	}
	family, spec := "gemm", []uint32(nil)
	if g := m.gather; g != nil {
		family, lies, spec = "conv"+strconv.Itoa(g.dimensions()), lies&^alignedB, g.variant().spec()
	}
	k := Kernel{
		Shader: p.shader(m.name(family), t),
		Spec: append([]uint32{uint32(m.threads()), uint32(m.Rows), uint32(m.Cols), uint32(m.WarpsM), uint32(m.WarpsN),
			uint32(m.TileK), uint32(across[0]), uint32(across[1]), lies, bit(clamp, 1)}, spec...),
		Local: [3]uint32{uint32(m.threads()), 1, 1},
	}
	if !t.CPU { // the same tile
		k.Starter = &Kernel{Shader: p.shader(family+"_starter", t), Spec: k.Spec, Local: k.Local}
	}
	return k
}

// specAligned is the number of the specialisation constant that has the bits below.
const specAligned = 8

// What the tiled kernels are told of A, B and C: see ALIGNED of shaders/lib/tile.glsl.
const (
	alignedA = 1 << iota
	alignedB
	alignedC
	direct // invocations store their own sums, in whole vectors
	fours  // sums leave in fours of vectors, whole ones

	alignedAll = alignedA | alignedB | alignedC
)

// Staged is the kernel with one place in its code that stores results. What is done to
// them comes there as often as there are such places, and drivers take as much longer.
func (k *Kernel) Staged() Kernel {
	s := *k
	if k.Places() > 1 {
		s.Spec = slices.Clone(s.Spec)
		s.Spec[specAligned] &^= direct
	}
	if k.Starter != nil {
		starter := k.Starter.Staged()
		s.Starter = &starter
	}
	return s
}

// runs reports whether the sums of a line leave in whole vectors but for its ends, wherever it begins: on matrix
// hardware, of a convolution whose channels come first within an image.
func (k *Kernel) runs() bool {
	family, _, _ := strings.Cut(k.Shader, ".")
	switch strings.TrimSuffix(family, "_starter") {
	case "matrix_single", "matrix_double", "matrix_sliced", "conv_matrix":
		return true
	}
	return false
}

// InFours is the kernel whose sums leave by way of shared memory, four vectors at once, if they leave in
// whole vectors.
func (k *Kernel) InFours() Kernel {
	s := *k
	if len(k.Spec) > specAligned && (k.Spec[specAligned]&alignedC != 0 || k.runs()) {
		s.Spec = slices.Clone(s.Spec)
		s.Spec[specAligned] = s.Spec[specAligned]&^direct | fours
	}
	if k.Starter != nil {
		starter := k.Starter.InFours()
		s.Starter = &starter
	}
	return s
}

// Places is how many results the code of a kernel stores, each at a place of its own.
func (k *Kernel) Places() int {
	if len(k.Spec) > specAligned && k.Spec[specAligned]&direct != 0 {
		return int(k.Spec[1] * k.Spec[2])
	}
	return 1
}

// Stores reports whether the code of a kernel ever stores so many vectors of so many elements at once.
// It is true for a kernel that nothing is known about.
func (k *Kernel) Stores(vectors, elements int) bool {
	if len(k.Spec) <= specAligned {
		return true
	}
	lies := k.Spec[specAligned]
	if lies&alignedC == 0 && k.runs() && vectors == 1 && elements == 1 {
		return true // the ends of lines
	}
	switch {
	case lies&fours != 0:
		return vectors == 4
	case lies&alignedC != 0 || k.runs():
		return vectors == 1 && elements > 1
	default:
		return vectors == 1 && elements == 1
	}
}

// name returns the name of the shader of a family.
func (c Tile) name(family string) string {
	if c.Double {
		return family + "_double"
	}
	return family + "_single"
}

// aligned returns a bit for each of A, B and C whose rows of storage all begin
// at a whole vector of v elements, and hold whole vectors.
func (p *Problem) aligned(across [2]int, v int) uint32 {
	whole := func(s Strides, rows, cols, across int) bool {
		if s.Whole {
			return true
		}
		along, lead, outer := cols, s.Row, rows
		if across == 1 {
			along, lead, outer = rows, s.Col, cols
		}
		return along%v == 0 && (outer == 1 || lead%v == 0) && (p.Batch == 1 || s.Batch%v == 0)
	}
	return bit(whole(p.A, p.M, p.K, across[0]), alignedA) |
		bit(whole(p.B, p.K, p.N, across[1]), alignedB) |
		bit(p.N%v == 0, alignedC)
}
