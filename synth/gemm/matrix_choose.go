package gemm

import (
	"fmt"
	"slices"

	"nxvk/ops"
)

// matrixModel tells how long products take with a tile on matrix hardware.
type matrixModel struct {
	tile  MatrixTile
	rate  float64 // TFLOP/s of a device that is full
	nt    float64 // the same where B is contiguous in k
	per   int     // workgroups that share a multiprocessor
	part  float64 // of the time of a full wave that one workgroup a multiprocessor takes
	start float64 // µs of a wave before and after the loops of its workgroups

	slice  float64 // µs that a workgroup waits for a slice of k that comes from memory; 0 where its products take longer
	beside int     // workgroups of a multiprocessor that wait at the same time
}

// Fitted to the times of eight products on an NVIDIA H200, of bf16 with results of f32, with each tile. The large
// tiles begin and end slowly: a wave of them has up to 17 MB of results to write at once. The times of slices are fitted to
// 20 products of 40 to 256 rows, whose operands no cache had, and to nine large ones.
var matrixModels = []matrixModel{
	{MatrixTile{true, 4, 4, 2, 4, 1, 32}, 363, 238, 1, 1, 6.2, 0, 1},
	{MatrixTile{false, 4, 4, 2, 2, 1, 64}, 352, 380, 1, 1, 2.6, 1.06, 2},
	{MatrixTile{false, 4, 4, 2, 2, 1, 32}, 294, 275, 2, 0.68, 4, 0.68, 2},
	{MatrixTile{false, 4, 4, 1, 4, 1, 32}, 313, 244, 1, 1, 2.8, 0.77, 2},
	{MatrixTile{false, 4, 4, 4, 1, 1, 32}, 256, 239, 1, 1, 2.5, 0.74, 2},
	{MatrixTile{false, 2, 4, 2, 2, 1, 64}, 263, 268, 1, 1, 2, 0.68, 2},
	{MatrixTile{false, 2, 2, 2, 2, 1, 64}, 212, 212, 2, 0.55, 2.8, 0.59, 3},
	{MatrixTile{false, 2, 1, 1, 4, 1, 64}, 139, 139, 3, 0.4, 2, 0.56, 4},
	{MatrixTile{false, 1, 1, 2, 8, 1, 128}, 118, 118, 1, 1, 2.4, 1.25, 2},
	{MatrixTile{false, 1, 1, 1, 8, 1, 128}, 99, 99, 1, 1, 2.4, 0.95, 2},
	{MatrixTile{false, 2, 1, 4, 1, 1, 64}, 98, 108, 2, 0.6, 2.4, 0.77, 3},

	// Sliced tiles, fitted to eleven products of 8 to 32 rows, whose operands no cache had.
	{MatrixTile{false, 1, 2, 1, 1, 8, 32}, 59, 59, 1, 1, 2.4, 0, 1},
	{MatrixTile{false, 1, 4, 1, 1, 4, 32}, 100, 48, 2, 1, 0.4, 0, 1},
	{MatrixTile{false, 2, 4, 1, 1, 4, 32}, 174, 100, 2, 1, 1, 0, 1},
	{MatrixTile{false, 2, 1, 1, 1, 8, 32}, 59, 59, 1, 1, 2.4, 0, 1}, // of few columns
	{MatrixTile{false, 4, 1, 1, 1, 4, 32}, 70, 70, 2, 1, 0.4, 0, 1},
}

// smallModels are for a Matrix that is Small; nothing was measured.
var smallModels = []matrixModel{
	{MatrixTile{true, 1, 1, 1, 2, 1, 16}, 1, 1, 1, 1, 1, 0, 1},
	{MatrixTile{false, 1, 1, 2, 2, 1, 16}, 1, 1, 1, 1, 1, 0, 1},
	{MatrixTile{false, 1, 2, 1, 1, 4, 16}, 1, 1, 1, 1, 1, 0, 1},
}

func (s *Matrix) models() []matrixModel {
	if s.Small {
		return smallModels
	}
	return matrixModels
}

// moreMatrixTiles were measured and not taken.
var moreMatrixTiles = []MatrixTile{
	{false, 2, 2, 4, 2, 1, 64}, {false, 4, 2, 2, 4, 1, 64}, {false, 4, 2, 2, 4, 1, 32}, {false, 4, 2, 2, 2, 1, 64},
	{false, 1, 1, 1, 4, 1, 128}, {false, 1, 1, 2, 4, 1, 128}, {false, 2, 2, 2, 4, 1, 64}, {false, 1, 2, 2, 4, 1, 64},
	{false, 1, 2, 1, 1, 8, 64}, {false, 1, 4, 1, 1, 8, 16}, {false, 1, 4, 1, 1, 4, 16}, {false, 2, 2, 1, 1, 8, 32},
}

// MatrixTiles lists the tiles that New chooses from on matrix hardware, or with all also those that
// were measured and not taken.
func MatrixTiles(s Matrix, all bool) []MatrixTile {
	var list []MatrixTile
	if all && !s.Small {
		list = append(list, moreMatrixTiles...)
	}
	for _, m := range s.models() {
		list = append(list, m.tile)
	}
	return list
}

// matrixLeast is how many rows and columns the results of products on matrix hardware have at
// least, unless the product is of a large matrix and few vectors. Those with less are bound by
// memory, and other kernels read that as fast.
const matrixLeast = maxVectors + 1

// A large matrix of 16 bits and at least fewVectors vectors is a product on matrix hardware: the
// other kernels are bound by the arithmetic of so many vectors, not by memory.
const (
	fewVectors = 3
	largeSide  = 512 // rows and columns of a large matrix, at least
)

// Matrix returns the shape that a product uses on matrix hardware, whose operands are of a
// type; ok is false where there is none, or where other kernels are better.
func (t *Target) Matrix(d ops.DType, m, n int) (best Matrix, ok bool) {
	if t.CPU || !t.Addresses || min(m, n) < matrixLeast {
		return best, false
	}
	for _, s := range t.Matrices {
		if s.Type == d && t.tilesOf(s) && (!ok || s.M*s.N*s.K > best.M*best.N*best.K) {
			best, ok = s, true
		}
	}
	return best, ok
}

// MatrixProduct returns the shape that a product of matrices of m × k and k × n elements uses on
// matrix hardware; ok is false where there is none, or where other kernels are better.
func (t *Target) MatrixProduct(d ops.DType, m, n, k, batch int) (best Matrix, ok bool) {
	if Slim(d, m, n, k, batch, t) {
		return best, false
	}
	few, side := min(m, n), max(m, n)
	if few >= fewVectors && d.Size() == 2 && min(side, k) >= largeSide {
		m, n = max(m, matrixLeast), max(n, matrixLeast)
	}
	return t.Matrix(d, m, n)
}

// matrixShape is the shape that the product uses on matrix hardware.
func (p *Problem) matrixShape(t *Target) (best Matrix, ok bool) {
	return t.MatrixProduct(p.Operands, p.M, p.N, p.K, p.Batch)
}

// tilesOf reports whether a tile takes operands of a shape however they lie.
func (t *Target) tilesOf(s Matrix) bool {
	for _, across := range pairs {
		if !slices.ContainsFunc(s.models(), func(x matrixModel) bool {
			m := matrixMethod{MatrixTile: x.tile, shape: s, subgroup: t.Subgroup}
			return m.takes(across, 0, t)
		}) {
			return false
		}
	}
	return true
}

// chooseMatrix returns the tile that the models give the shortest time.
func (p *Problem) chooseMatrix(t *Target) method {
	m, _ := p.bestMatrix(t)
	if m == nil {
		panic("BUG: no kernel for a product of " + p.Operands.String() + " on matrix hardware")
	}
	return m
}

// sharesOf are among how many workgroups k may be shared out: as many as fill the multiprocessors
// once, twice or more often, and some numbers beside.
func (x *matrixModel) sharesOf(m *matrixMethod, p *Problem) []int {
	list := []int{1, 2, 3, 4, 6, 8, 12, 16, 24, mostShares}
	for waves := 1; waves <= 3; waves++ {
		if n := waves * Multiprocessors * x.per / (m.tiles(p) * p.Batch); n > 1 {
			list = append(list, min(n, mostShares))
		}
	}
	return list
}

// mostSliced is how many rows or columns a product has at most that a sliced tile is chosen for. With more, the workgroups would
// read the large operand from the second-level cache more often than the models know of.
const mostSliced = 64

// mostShares bounds the shares of k.
const mostShares = 32

// leastShare is the least k of a share.
const leastShare = 256

// bestMatrix returns the tile that the models give the shortest time, and that time.
func (p *Problem) bestMatrix(t *Target) (best *matrixMethod, least float64) {
	shape, ok := p.matrixShape(t)
	if !ok {
		return nil, 0
	}
	across, lies := p.matrixLies()
	return p.bestTile(shape, across, lies, p.Batch*(p.M*p.K+p.K*p.N)*p.Operands.Size(), nil, t)
}

// bestTile returns the tile that the models give the shortest time for operands that lie so and
// have so many bytes, and that time.
func (p *Problem) bestTile(shape Matrix, across [2]int, lies uint32, bytes int, g *Places, t *Target) (best *matrixMethod, least float64) {
	leastWork := 0.0 // of tiles that all wait for memory
	for _, x := range shape.models() {
		m := matrixMethod{MatrixTile: x.tile, shape: shape, subgroup: t.Subgroup, places: g}
		if !m.takes(across, lies, t) || m.sliced() && min(p.M, p.N) > mostSliced {
			continue
		}
		try := func() {
			work := x.seconds(&m, p, across, lies)
			if s := max(work, float64(bytes)/bytesSecond); best == nil || s < least || s == least && work < leastWork {
				c := m
				least, leastWork, best = s, work, &c
			}
		}
		for _, m.shares = range x.sharesOf(&m, p) {
			if m.shares == 1 || p.K >= m.shares*leastShare {
				try()
			}
		}
		m.shares = 1
		for _, m.rest = range x.restsOf(&m, p, t) {
			try()
		}
	}
	return best, least
}

// What a dispatch costs beside its work, how fast memory is read, and how fast an operand is
// copied, on the device of the models.
const (
	dispatchSeconds = 2e-6
	besideSeconds   = 0.5e-6 // of a dispatch that does not wait for the one before
	bytesSecond     = 3.8e12
	copiedSecond    = 2.5e12 // read and written; 2e12 to 3e12 were measured on an H100 with copies of 2 MB
	headSeconds     = 1.7e-6 // of a slice whose loads do not overlap its products

	// shiftedRate is that of products whose rows are not whole vectors: on an H100 five of them took 1.4 to 1.7 times
	// as long as their neighbours with rows of whole vectors.
	shiftedRate = 0.53

	// surelyLess bounds the ratio of the estimates with and without copies where copies are chosen. On an H100, 70
	// products of 369×437 by 437×96, whose estimates are alike, took 1.1 to 1.3 times as long with copies.
	surelyLess = 0.97
)

// seconds estimates the time of a product.
func (x *matrixModel) seconds(m *matrixMethod, p *Problem, across [2]int, lies uint32) float64 {
	rate := x.rate
	if across[1] == 1 {
		rate = x.nt
	}
	slice := x.slice
	if lies&(alignedA|alignedB) != alignedA|alignedB {
		rate, slice = rate*shiftedRate, slice/shiftedRate
	}
	rate *= 2 / float64(p.Operands.Size())
	groups := m.tiles(p) * p.Batch
	if m.rest.Tiles > 0 { // the shares begin while whole tiles wait
		whole := x.waves(m, groups-m.rest.Tiles, p.K, rate)
		shares := x.waves(m, m.rest.Tiles*m.rest.Shares, ceil(p.K, m.rest.Shares), rate)
		sums := float64(m.rest.Tiles*m.m()*m.n()) * 4
		time := max(whole+shares, x.waits(m, groups-m.rest.Tiles, p.K, slice))
		return 3*dispatchSeconds + time + float64(2*m.rest.Shares+1)*sums/bytesSecond
	}
	k := ceil(p.K, m.shares)
	time := dispatchSeconds + max(x.waves(m, groups*m.shares, k, rate), x.waits(m, groups*m.shares, k, slice))
	if m.shares > 1 {
		sums := float64(p.Batch*p.M*p.N) * 4
		time += 2*dispatchSeconds + float64(m.shares+1)*sums/bytesSecond
	}
	return time
}

// head is how many slices of k the kernel with two buffers takes before its main loop, whose rounds have two.
func (m *matrixMethod) head(k int) int {
	a, _ := m.slices()
	switch slices := ceil(k, a); {
	case !m.Double:
		return 0
	case slices%2 == 1:
		return 1
	case k%a != 0:
		return 2
	}
	return 0
}

// waves estimates the time of workgroups that sum so much k each, at a rate.
func (x *matrixModel) waves(m *matrixMethod, groups, k int, rate float64) float64 {
	head := m.head(k)
	k = roundUp(k, m.TileK)
	full := Multiprocessors * x.per
	wave := x.start*1e-6 + headSeconds*float64(head) + 2*float64(m.m()*m.n())*float64(k)*float64(full)/(rate*1e12)
	time := float64(groups/full) * wave
	if rest := groups % full; rest > 0 {
		time += wave * max(x.part, float64(ceil(rest, Multiprocessors))/float64(x.per))
	}
	return time
}

// waits estimates the time that they wait for slices of so many µs each.
func (x *matrixModel) waits(m *matrixMethod, groups, k int, slice float64) float64 {
	return float64(ceil(groups, Multiprocessors*x.beside)) * (x.start + float64(ceil(k, m.TileK))*slice) * 1e-6
}

// Align tells which operands of a product on matrix hardware are better copied, so that their
// rows are whole vectors: where that is less work than to shift the elements of what is read.
func (p *Problem) Align(t *Target) (a, b bool) {
	across, _ := p.matrixLies()
	lies := p.aligned(across, 16/p.Operands.Size())
	a, b = lies&alignedA == 0, lies&alignedB == 0
	if !a && !b {
		return false, false
	}
	_, shifts := p.bestMatrix(t)
	q, copies := *p, dispatchSeconds
	if a && b {
		copies += besideSeconds // neither copy waits for the other
	}
	for _, x := range []struct {
		copied bool
		s      *Strides
		size   int
	}{{a, &q.A, p.M * p.K}, {b, &q.B, p.K * p.N}} {
		if x.s.Whole = x.s.Whole || x.copied; x.copied {
			copies += 2 * float64(x.size*p.copied(x.s)*p.Operands.Size()) / copiedSecond
		}
	}
	if _, aligned := q.bestMatrix(t); aligned+copies < surelyLess*shifts {
		return a, b
	}
	return false, false
}

// copied is how many matrices of an operand a copy has: one where all products of a batch share it.
func (p *Problem) copied(s *Strides) int {
	if s.Batch == 0 {
		return 1
	}
	return p.Batch
}

// WithMatrixTile plans a product with one tile and k shared out, of all tiles or of the rest, whatever New
// would choose. It is for measurements and tests.
func WithMatrixTile(p Problem, c MatrixTile, shares int, rest Rest, t *Target) (*Plan, error) {
	if err := p.check(t); err != nil {
		return nil, err
	}
	shape, ok := p.matrixShape(t)
	m := &matrixMethod{MatrixTile: c, shape: shape, subgroup: t.Subgroup, shares: shares, rest: rest}
	across, lies := p.matrixLies()
	if !ok || !m.takes(across, lies, t) || rest.Tiles >= m.tiles(&p)*p.Batch {
		return nil, fmt.Errorf("%w: tile %v on matrix hardware", ErrTooLarge, c)
	}
	return m.plan(&p, t)
}

// RestOf is how the rest of the tiles is shared out if it is, for WithMatrixTile.
func RestOf(p Problem, c MatrixTile, t *Target) []Rest {
	shape, ok := p.matrixShape(t)
	m := &matrixMethod{MatrixTile: c, shape: shape, subgroup: t.Subgroup, shares: 1}
	for _, x := range shape.models() {
		if ok && x.tile == c {
			return x.restsOf(m, &p, t)
		}
	}
	return nil
}
