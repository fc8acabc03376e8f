package gemm

import (
	"fmt"
	"slices"

	"nxvk/ops"
)

// Places makes an operand of the input of a convolution, without laying its patches out: see
// shaders/lib/places.glsl. The input is {batch, z, y, x, channels} with its padding, channels in
// whole vectors; a row of A, or a column of B, is a place, and k counts taps and channels.
type Places struct {
	Of    Buffer // the operand: A, or B
	First bool   // results of an image are {group, filter, z, y, x}; else they lie as the product
	Size  int    // elements of the input

	Channels, TapsX, TapsY int
	Tap                    [3]int // elements between taps, along x, y and z
	Out                    [3]int
	Place                  [3]int // elements between places
	Image                  int    // elements between batches
	Group                  int    // elements between groups, which are the batches of the problem
}

// NewPlaces plans a product on matrix hardware, one of whose operands g makes. The strides of that
// operand do not matter. The other one is contiguous in k or along its other side, in whole vectors.
func NewPlaces(p Problem, g *Places, t *Target) (*Plan, error) {
	m := g.choose(&p, t)
	if m == nil {
		return nil, fmt.Errorf("%w: no tile for places", ErrTooLarge)
	}
	other := p.A
	if g.Of == A {
		other = Strides{Row: p.B.Col, Col: p.B.Row, Batch: p.B.Batch}
	}
	rows := p.M
	if g.Of == A {
		rows = p.N
	}
	if n := max(g.Size, p.extent(other, rows, p.K), p.Batch*p.M*p.N); n > maxElements {
		return nil, fmt.Errorf("%w: an operand spans %d elements", ErrTooLarge, n)
	}
	across := g.across(&p)
	lda, ldb, batchA, batchB := max(p.A.Row, p.A.Col), max(p.B.Row, p.B.Col), p.A.Batch, p.B.Batch
	if g.Of == A {
		lda, batchA = 0, g.Group
	} else {
		ldb, batchB = 0, g.Group
	}
	chunk, shares := m.chunks(&p, m.shares)
	steps := p.product(m.kernel(across, g.lies(&p), t), m.tiles(&p)*p.Batch, shares, Multiprocessors, t,
		[]int{p.M, p.N, p.K, lda, ldb, batchA, batchB, p.Batch},
		slices.Concat([]int{chunk, 0, 0, g.Channels, g.TapsX, g.TapsY}, g.Tap[:], g.Out[:], g.Place[:], []int{g.Image}))
	plan, err := p.shared(steps, shares, t)
	if g.First {
		return plan, err
	}
	return p.inRows(plan, err)
}

// Gathers reports whether there is a kernel for the product.
func (g *Places) Gathers(p *Problem, t *Target) bool {
	return 4*placesParameters <= t.room() && g.choose(p, t) != nil
}

// placesParameters is how many parameters the kernels have.
const placesParameters = matrixParameters - 4 + 13

// lies tells that the operands are aligned, and whether results of a row begin at whole fours.
func (g *Places) lies(p *Problem) uint32 {
	n := p.N
	if g.First {
		n = g.Out[0] * g.Out[1] * g.Out[2]
	}
	return alignedA | alignedB | bit(n%4 == 0, alignedC)
}

// across tells how the operands lie. Channels of places are contiguous, and so k is.
func (g *Places) across(p *Problem) [2]int {
	if g.Of == A {
		return [2]int{0, p.across(p.B, p.K, p.N)}
	}
	return [2]int{p.across(p.A, p.M, p.K), 1}
}

// choose returns the tile that the models give the shortest time; nil where there is none.
func (g *Places) choose(p *Problem, t *Target) *matrixMethod {
	shape, ok := t.Matrix(p.Operands, p.M, p.N)
	if !ok {
		return nil
	}
	bytes := (g.Size + p.Batch*min(p.M, p.N)*p.K) * p.Operands.Size()
	best, _ := p.bestTile(shape, g.across(p), g.lies(p), bytes, g, t)
	return best
}

// PlacesKernels lists every kernel that NewPlaces can choose, as MatrixKernels does.
func PlacesKernels(d ops.DType, t *Target) []Step {
	var list []Step
	if 4*placesParameters > t.room() || !d.IsFloat() {
		return nil
	}
	for _, m := range matrixMethods(d, t) {
		for _, g := range []*Places{{Of: A}, {Of: B}, {Of: B, First: true}} {
			for _, along := range []int{0, 1} {
				across := [2]int{along, 1}
				if g.Of == A {
					across = [2]int{0, along}
				}
				for _, lies := range []uint32{alignedA | alignedB | alignedC, alignedA | alignedB} {
					if m.places = g; m.takes(across, lies, t) {
						list = append(list, empty(m.kernel(across, lies, t), placesParameters))
					}
				}
			}
		}
	}
	return list
}
