package gemm

import (
	"math"

	"nxvk/ops"
)

// model tells how long products of many workgroups take with a tile. A device
// runs them in waves; what the last wave takes depends on how many of its
// workgroups share a multiprocessor. So the best tile is not the fastest one
// but the one whose waves the product fills.
type model struct {
	tile Tile
	// rate in TFLOP/s of a device that is full, and the same where an operand
	// is transposed.
	rate, turned float64
	// parts of the time of a full wave, by how many workgroups share a
	// multiprocessor, from one to all that fit.
	parts []float64
}

// Measured on an NVIDIA H200. Other devices have other numbers, but waves too.
var models = []model{
	{Tile{true, 8, 16, 2, 2, 8}, 49.3, 49, []float64{0.98, 1}},
	{Tile{false, 8, 8, 1, 4, 16}, 49.2, 46.5, []float64{0.44, 0.75, 1}},
	{Tile{false, 4, 8, 2, 4, 16}, 43.8, 42, []float64{0.34, 0.67, 1}},
	{Tile{false, 4, 8, 2, 2, 16}, 41.8, 39.5, []float64{0.2, 0.36, 0.52, 0.68, 0.83, 1}},
}

// modelsOf are those of a type: of f32 alone.
func modelsOf(d ops.DType) []model {
	if d == ops.F32 {
		return models
	}
	return nil
}

const (
	multiprocessors = 132
	// modelFrom is how many results a product has for the models to hold.
	modelFrom = 100 * 64 * 128
)

// modelled returns the tile that a model gives the shortest time.
func (p *Problem) modelled(shares int, t *Target) (best Tile, ok bool) {
	if p.Batch*shares*p.M*p.N < modelFrom {
		return best, false
	}
	least := math.Inf(1)
	lies := p.aligned([2]int{p.across(p.A, p.M, p.K), p.across(p.B, p.K, p.N)}, p.vector())
	for _, m := range modelsOf(p.Type) {
		c := m.tile
		if !c.aligns(p.Type, lies) || !c.takes(p, t) || p.M < c.m() || p.N < c.n() {
			continue
		}
		if s := m.seconds(p, c.tiles(p)*p.Batch*shares, ceil(p.K, shares)); s < least {
			least, best, ok = s, c, true
		}
	}
	return best, ok
}

// seconds estimates the time of some workgroups that sum k terms.
func (m *model) seconds(p *Problem, groups, k int) float64 {
	rate := m.rate
	if p.across(p.A, p.M, p.K) == 1 || p.across(p.B, p.K, p.N) == 1 {
		rate = m.turned
	}
	wave := multiprocessors * len(m.parts)
	waves := float64(groups / wave)
	if rest := groups % wave; rest > 0 {
		waves += m.parts[ceil(rest, multiprocessors)-1]
	}
	return waves * float64(wave) * 2 * float64(m.tile.m()*m.tile.n()) * float64(k) / (rate * 1e12)
}

// wave is how many workgroups of a tile run at once, as far as it is known.
func (c Tile) wave(d ops.DType) int {
	for _, m := range modelsOf(d) {
		if m.tile == c {
			return multiprocessors * len(m.parts)
		}
	}
	return multiprocessors
}
