package gemm

import (
	"fmt"
	"math"
	"slices"
)

// Gather makes B of the input of a convolution, without laying it out: row k of
// B is a tap of a channel, taps innermost, column n a place, places outermost
// where batches are among them. The kernels are those of the tiles, compiled
// with shaders/lib/patches.glsl.
type Gather struct {
	Axes   []Axis // of space, at most three
	Size   int    // elements of the input
	Groups int    // products of a batch
	// Strides of the input: between channels, groups of a batch, batches of the
	// problem, and batches among the places.
	Channel, Group, Batch, Outer int
}

// Axis is one axis of space. A convolution has Out places along it, Stride apart, and a
// filter Taps taps, Step apart; the first tap of the first place lies Low before the
// input. Elements of the input are Gap apart for taps and At apart in memory. Extent is
// the length of the input with its gaps.
type Axis struct {
	Out, Taps         int
	Stride, Step, Low int
	Gap, Extent, At   int
}

const maxAxes = 3

// Gathers reports whether the device has a kernel for the product, whose parameters
// hold what the axes are.
func (g *Gather) Gathers(p *Problem, t *Target) bool {
	if t.CPU || !p.Type.IsFloat() || len(g.Axes) > maxAxes || 4*gatherParameters(g.dimensions()) > t.room() {
		return false
	}
	strided := false
	for _, a := range g.Axes {
		if max(a.Taps, a.Step, a.Stride, a.Gap) > math.MaxUint16 || int(int16(a.Low)) != a.Low {
			return false
		}
		strided = strided || a.Stride > 1
	}
	if strided && g.gapped() {
		return false
	}
	_, ok := g.choose(p, t).(tiled)
	return ok
}

// room is how many bytes of push constants there are beside the addresses.
func (t *Target) room() int {
	push := t.MaxPush
	if push == 0 {
		push = 128
	}
	if t.Addresses {
		push -= 3 * 8
	}
	return push
}

// dimensions is how many axes the kernel has.
func (g *Gather) dimensions() int { return max(2, len(g.Axes)) }

func (g *Gather) gapped() bool {
	return slices.ContainsFunc(g.Axes, func(a Axis) bool { return a.Gap > 1 })
}

// gatherVariant has the specialization constants of a kernel: see shaders/lib/patches.glsl.
type gatherVariant struct {
	masked, gapped bool
	side           int // taps along each axis where kernels know them; 0 where they do not
}

// knownSide is the side of most filters. Its kernels are a little faster.
const knownSide = 3

// maxMasked is how many taps a mask has bits for.
const maxMasked = 32

func (g *Gather) variant() gatherVariant {
	taps := 1
	for _, a := range g.Axes {
		taps *= a.Taps
	}
	s := gatherVariant{gapped: g.gapped()}
	if s.masked = taps <= maxMasked && !s.gapped; s.masked && len(g.Axes) >= 2 &&
		!slices.ContainsFunc(g.Axes, func(a Axis) bool { return a.Taps != knownSide }) {
		s.side = knownSide
	}
	return s
}

// gatherVariants are all of them.
var gatherVariants = []gatherVariant{{masked: true}, {masked: true, side: knownSide}, {}, {gapped: true}}

func (s gatherVariant) spec() []uint32 {
	return []uint32{bit(s.masked, 1), bit(s.gapped, 1), uint32(s.side)}
}

// gatherRules are the tiles that gather best where there are enough of them,
// measured as rules were: looking elements up takes registers, so that smaller
// tiles than those of matrices win.
var gatherRules = map[int][]rule{4: {
	{Tile{false, 8, 8, 1, 4, 16}, 200},
	{Tile{false, 4, 8, 1, 4, 16}, 200},
}}

func (g *Gather) choose(p *Problem, t *Target) method {
	shares := g.shares(p)
	for _, r := range gatherRules[p.Type.Size()] {
		c := r.tile
		if c.gathers(g.dimensions()) && c.takes(p, t) && p.M >= c.m() && p.N >= c.n() && c.tiles(p)*p.Batch*shares >= r.groups {
			return tiled{Tile: c, shares: shares}
		}
	}
	return p.ruled(shares, t)
}

// LeastRows are the rows of the smallest tiles.
const LeastRows = 32

// FewRows reports whether the tile has few rows and sums all of k. It looks an element up for few sums, so that gathering takes up
// to five times as long as the same product of matrices.
func (g *Gather) FewRows(p *Problem, t *Target) bool {
	m, ok := g.choose(p, t).(tiled)
	return ok && m.shares == 1 && m.m() <= LeastRows
}

// shares are those of a product whose tiles are ones that gather.
func (g *Gather) shares(p *Problem) int {
	list := modelsOf(p.Type)
	if list == nil {
		return p.shares()
	}
	list = slices.DeleteFunc(slices.Clone(list), func(m model) bool {
		return !m.tile.gathers(g.dimensions()) || !slices.Contains(gatherTiles(p.Type), m.tile)
	})
	return p.modelShares(list)
}

// gathers reports whether a tile is for so many axes: looking elements up along three
// is so much code that only small ones are.
func (c Tile) gathers(axes int) bool { return axes < 3 || c.Rows*c.Cols < 64 }

// NewGather plans a product whose B is gathered. The strides of p.B do not
// matter.
func NewGather(p Problem, g *Gather, t *Target) (*Plan, error) {
	p.B = Strides{}
	if g.Size > maxElements {
		return nil, fmt.Errorf("%w: the input has %d elements", ErrTooLarge, g.Size)
	}
	if err := p.check(t); err != nil {
		return nil, err
	}
	m, ok := g.choose(&p, t).(tiled)
	if !ok {
		panic("BUG: no tile gathers")
	}
	m.gather = g
	plan, err := m.plan(&p, t)
	if err != nil {
		return nil, err
	}
	g.countBytes(&p, plan)
	return plan, nil
}

// countBytes counts the input once, as it lies, over all products.
func (g *Gather) countBytes(p *Problem, plan *Plan) {
	bytes := int64(p.M*p.K*g.Groups+g.Size+p.Batch*p.M*p.N) * int64(p.Type.Size())
	for i := range plan.Steps {
		if s := &plan.Steps[i]; s.In[1] == B {
			s.Bytes = int64(float64(bytes) * float64(s.Flops) / float64(p.flops()))
		}
	}
}

// axes lists the axes from the innermost, those that are missing as one place
// that sees one element.
func (g *Gather) axes() []Axis {
	out := make([]Axis, g.dimensions())
	for i := range out {
		out[i] = Axis{Out: 1, Taps: 1, Stride: 1, Step: 1, Gap: 1, Extent: 1}
		if i < len(g.Axes) {
			out[i] = g.Axes[len(g.Axes)-1-i]
		}
	}
	return out
}

// parameters lists the push constants after those of the tile.
func (g *Gather) parameters() []int {
	var list []int
	axes := g.axes()
	gapped := g.gapped()
	of := []func(a Axis) int{
		func(a Axis) int { return a.Out }, func(a Axis) int { return a.Extent },
		func(a Axis) int { return halves(a.Taps, a.Low) },
		func(a Axis) int {
			if gapped {
				return halves(a.Step, a.Gap)
			}
			return halves(a.Step, a.Stride)
		},
		func(a Axis) int { return a.At },
	}
	for _, f := range of {
		for _, a := range axes[:2] {
			list = append(list, f(a))
		}
	}
	list = append(list, g.Channel, g.Groups, g.Group)
	for _, a := range axes[2:] {
		for _, f := range of {
			list = append(list, f(a))
		}
	}
	return list
}

// gatherParameters is how many parameters kernels of so many axes have.
func gatherParameters(axes int) int { return tileParameters + 5*axes + 3 }

func halves(lower, upper int) int { return lower&math.MaxUint16 | upper&math.MaxUint16<<16 }
