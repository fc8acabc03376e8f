package gemm

import (
	"fmt"
	"slices"

	"nxvk/ops"
)

// rule prefers a tile for products of at least groups workgroups.
type rule struct {
	tile   Tile
	groups int
}

// Rules by the size of an element, best first: the larger a tile, the less it
// reads, and the more of them a device needs to be busy. The last row takes
// what is left. Measured on an NVIDIA H200. They are for integers, and for floats that
// gather; products of floats have models.
var (
	rules32 = []rule{
		{Tile{false, 4, 8, 2, 4, 16}, 100},
		{Tile{false, 4, 4, 1, 4, 32}, 100},
		{Tile{false, 4, 4, 1, 2, 16}, 0},
	}
	rules64 = []rule{
		{Tile{true, 8, 8, 2, 4, 8}, 120},
		{Tile{false, 8, 8, 2, 4, 8}, 120},
		{Tile{true, 4, 8, 2, 4, 16}, 100},
		{Tile{false, 4, 8, 2, 4, 16}, 100},
		{Tile{false, 4, 4, 1, 2, 16}, 0},
	}
)

// A product of integers of 64 bits is several instructions, so their tiles sum less
// at a time: a driver would take a second for the others.
var rulesLong = []rule{
	{Tile{false, 4, 8, 2, 4, 8}, 100},
	{Tile{false, 4, 4, 1, 2, 8}, 0},
}

// rulesOf are those of a type.
func rulesOf(d ops.DType) []rule {
	switch {
	case d.Size() == 4:
		return rules32
	case d.IsInteger():
		return rulesLong
	}
	return rules64
}

// Tiles lists the tiles for elements of a type that New chooses from, or with
// all also those that were measured and not taken.
func Tiles(d ops.DType, all bool) []Tile {
	more := map[int][]Tile{
		4: {{true, 8, 8, 1, 4, 8}, {true, 8, 16, 2, 4, 8}, {true, 8, 8, 2, 4, 8}, {false, 8, 16, 2, 2, 16},
			{false, 4, 8, 1, 4, 16}, {false, 4, 4, 1, 2, 32}},
		8: {{true, 4, 8, 2, 4, 8}},
	}
	var list []Tile
	for _, r := range rulesOf(d) {
		list = append(list, r.tile)
	}
	for _, m := range modelsOf(d) {
		if !slices.Contains(list, m.tile) {
			list = append(list, m.tile)
		}
	}
	for _, c := range more[d.Size()] {
		if all && !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}

// WithTile plans a product with one tile and k shared out, whatever New would
// choose. It is for measurements and tests.
func WithTile(p Problem, c Tile, shares int, t *Target) (*Plan, error) {
	if err := p.check(t); err != nil {
		return nil, err
	}
	if !c.takes(&p, t) {
		return nil, fmt.Errorf("%w: tile %v takes %d bytes of shared memory and sums of %d terms", ErrTooLarge, c,
			c.sharedBytes(p.Type.Size()), 2*c.TileK)
	}
	return tiled{Tile: c, shares: shares}.plan(&p, t)
}

// Reference plans a product with the plain kernel, one result an invocation,
// which the others are checked with.
func Reference(p Problem, t *Target) (*Plan, error) {
	if err := p.check(t); err != nil {
		return nil, err
	}
	return plain{1}.plan(&p, t)
}

func (p *Problem) choose(t *Target) method {
	if t.CPU {
		return p.chooseCPU(t)
	}
	if m, ok := p.vectors(t); ok {
		return m
	}
	if m, ok := p.slim(t); ok {
		return m
	}
	if m, ok := p.small(t); ok {
		return m
	}
	switch {
	case p.Operands != ops.Invalid:
		return p.chooseMatrix(t)
	case !p.Direct() || min(p.M, p.N) < 4 || p.M*p.N < 512 && p.isPlain():
		return plain{p.plainShares()}
	}
	return p.chooseTile(t)
}

func (p *Problem) chooseTile(t *Target) method {
	shares := p.shares()
	if c, ok := p.modelled(shares, t); ok {
		return tiled{Tile: c, shares: shares}
	}
	return p.ruled(shares, t)
}

// ruled chooses by the rules.
func (p *Problem) ruled(shares int, t *Target) method {
	all := rulesOf(p.Type)
	for _, r := range all {
		c := r.tile
		if c.takes(p, t) && p.M >= c.m() && p.N >= c.n() && c.tiles(p)*p.Batch*shares >= r.groups {
			return tiled{Tile: c, shares: shares}
		}
	}
	last := all[len(all)-1].tile
	if !last.fits(p, t) {
		return plain{p.plainShares()}
	}
	return tiled{Tile: last, shares: shares}
}

// shares returns among how many workgroups the k of one tile is shared out. It
// decides the order of the sums, and so depends on the shape alone.
func (p *Problem) shares() int {
	if list := modelsOf(p.Type); list != nil {
		return p.modelShares(list)
	}
	results := p.Batch * p.M * p.N
	switch {
	case p.K < 256 || results > 1<<18:
		return 1
	case p.K >= 2048:
		return max(1, min(1<<21/results, p.K/256, 64))
	}
	return max(1, min(1<<18/results, p.K/64))
}

// plainShares spreads products of few results and long sums.
func (p *Problem) plainShares() int {
	return max(1, min(1<<16/(p.Batch*p.M*p.N), p.K/128, 256))
}

// chooseCPU runs the longer side along a subgroup when the other would leave
// most invocations idle.
func (p *Problem) chooseCPU(t *Target) method {
	direct := p.Direct() && t.blocks()
	switch {
	case direct && p.N >= blockCols && (p.N >= t.Subgroup*blockCols || p.N >= p.M):
		return block{}
	case direct && p.M >= blockCols:
		return block{flip: true}
	case p.Batch*p.M*p.N >= 64:
		return plain{1}
	}
	return plain{max(1, min(64, p.K/4096))}
}
