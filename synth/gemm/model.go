package gemm

import (
	"math"
	"slices"

	"nxvk/ops"
)

// model tells how long products take with a tile on an NVIDIA H200. Workgroups that share a
// multiprocessor hide each other's latency until its units are busy: r of them take
// cbrt(alone³ + (r·each)³) ns for one term of each of their sums. A device runs as many at once
// as fit, in waves, so the best tile is not the fastest one but the one whose waves the
// product fills.
//
// each was measured on products that fill the device, alone and setup were fitted to the times
// of 20 drawn shapes, each with every tile and with k in 1 to 32 shares, as
// go run ./test/bench/gemm -tiles -shares 1,2,3 prints them. What the models choose took 5 % longer
// than the best choice in the geometric mean, 22 % at most.
type model struct {
	tile        Tile
	resident    int     // workgroups that a multiprocessor has room for
	alone, each float64 // ns
	setup       float64 // µs of a dispatch
	transposed  float64 // how much longer a term takes where an operand is transposed
}

// Other devices have other numbers, but waves too. The last tile takes what is smaller than all.
var models = []model{
	{Tile{true, 8, 16, 2, 2, 8}, 2, 80.6, 84.8, 3.56, 1.01},
	{Tile{false, 8, 8, 1, 4, 16}, 3, 40.7, 43.5, 3.07, 1.06},
	{Tile{false, 4, 8, 2, 4, 16}, 3, 32.0, 49.2, 1.67, 1.04},
	{Tile{false, 4, 8, 2, 2, 16}, 6, 23.6, 25.8, 2.56, 1.06},
	{Tile{false, 4, 4, 1, 4, 32}, 6, 14.4, 15.6, 2.42, 1.05},
	{Tile{false, 4, 4, 1, 2, 16}, 12, 19.4, 8.7, 2.26, 1.05},
}

// Models of f64, fitted to the times of seven drawn shapes with every tile and k in one and in
// three shares. They are within a fifth of these times; what they choose is the best but once, by
// a fifteenth.
var models64 = []model{
	{Tile{true, 8, 8, 2, 4, 8}, 1, 123, 133, 19.6, 1.02},
	{Tile{true, 4, 8, 2, 4, 16}, 1, 58.8, 84.3, 13, 1.02},
	{Tile{false, 4, 8, 2, 4, 16}, 1, 54.7, 91.5, 10.9, 1.02},
	{Tile{true, 4, 8, 2, 2, 8}, 2, 45.7, 48.3, 8.3, 1.02},
	{Tile{false, 4, 4, 1, 2, 16}, 6, 2, 15.1, 7.4, 1.02},
}

// What it takes to add up the shares of k, which are written and read once.
const (
	chunksSetup = 5.6    // µs
	chunksByte  = 5.7e-7 // µs for a byte of a share
)

// Multiprocessors is how many an H100 or H200 has, whose times the models are.
const Multiprocessors = 132

const (
	// leastTerms is how many terms of k a share has at least, and mostShared how many bytes
	// all shares have at most.
	leastTerms = 128
	mostShared = 1 << 28
	// hardlyLonger is a difference that the models do not see.
	hardlyLonger = 1.03
)

// shareCounts are the numbers of workgroups among which the k of a tile is shared out.
var shareCounts = []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32}

// modelsOf are those of a type of floats; integers have none.
func modelsOf(d ops.DType) []model {
	switch d {
	case ops.F32:
		return models
	case ops.F64:
		return models64
	}
	return nil
}

// modelled returns the tile that a model gives the shortest time with k in so many shares.
func (p *Problem) modelled(shares int, t *Target) (best Tile, ok bool) {
	least := math.Inf(1)
	lies := p.aligned([2]int{p.across(p.A, p.M, p.K), p.across(p.B, p.K, p.N)}, p.vector())
	for _, m := range modelsOf(p.Type) {
		if !m.tile.aligns(p.Type, lies) || !m.tile.takes(p, t) || !m.covers(p) {
			continue
		}
		s := m.time(p, shares)
		if p.across(p.A, p.M, p.K) == 1 || p.across(p.B, p.K, p.N) == 1 {
			s *= m.transposed
		}
		if s < least {
			least, best, ok = s, m.tile, true
		}
	}
	return best, ok
}

// modelShares returns the fewest shares of k with which the best of some tiles takes hardly
// longer than with any other. It does not look at how operands lie.
func (p *Problem) modelShares(list []model) int {
	var times []float64
	for _, shares := range shareCounts {
		least, bytes := math.Inf(1), shares*p.Batch*p.M*p.N*p.Type.Size()
		if shares > 1 && (p.K/shares < leastTerms || bytes > mostShared) {
			break
		}
		for _, m := range list {
			if m.covers(p) {
				least = min(least, m.time(p, shares))
			}
		}
		if shares > 1 {
			least += chunksSetup + chunksByte*float64(bytes)
		}
		times = append(times, least)
	}
	most := hardlyLonger * slices.Min(times)
	return shareCounts[slices.IndexFunc(times, func(t float64) bool { return t <= most })]
}

// covers reports whether the tile is for matrices of such a size.
func (m *model) covers(p *Problem) bool {
	return p.M >= m.tile.m() && p.N >= m.tile.n() || m.tile.clamps(p.Type)
}

// time estimates the µs of the workgroups that sum k in so many shares.
func (m *model) time(p *Problem, shares int) float64 {
	groups, wave := m.tile.tiles(p)*p.Batch*shares, Multiprocessors*m.resident
	term := float64(groups/wave) * m.term(m.resident)
	if rest := groups % wave; rest > 0 {
		term += m.term(ceil(rest, Multiprocessors))
	}
	return m.setup + term*float64(ceil(p.K, shares))*1e-3
}

// term estimates the ns that r workgroups of a multiprocessor take for a term of k.
func (m *model) term(r int) float64 {
	return math.Cbrt(math.Pow(m.alone, 3) + math.Pow(float64(r)*m.each, 3))
}

// wave is how many workgroups of a tile run at once, as far as it is known.
func (c Tile) wave(d ops.DType) int {
	for _, m := range modelsOf(d) {
		if m.tile == c {
			return Multiprocessors * m.resident
		}
	}
	return Multiprocessors
}

// clamps reports whether there are kernels of the tile for matrices smaller than itself: of the
// small ones of f32, and of the last tile of every type.
func (c Tile) clamps(d ops.DType) bool {
	all := rulesOf(d)
	return c == all[len(all)-1].tile ||
		slices.ContainsFunc(modelsOf(d), func(m model) bool { return m.tile == c && c.m() <= 64 && c.n() <= 64 })
}
