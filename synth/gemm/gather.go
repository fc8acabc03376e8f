package gemm

import "fmt"

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

// Axis is one axis of space: how many places, how many taps, how far between
// them, where the first tap of the first place is before the input, and the
// input: the distance of its elements for taps and in memory, and one more than
// the last of them that a tap may see.
type Axis struct {
	Out, Taps         int
	Stride, Step, Low int
	Gap, Reach, At    int
}

const maxAxes = 3

// Gathers reports whether the device has a kernel for the product.
func (g *Gather) Gathers(p *Problem, t *Target) bool {
	if t.CPU || !p.Type.IsFloat() || len(g.Axes) > maxAxes {
		return false
	}
	_, ok := p.chooseGather(t).(tiled)
	return ok
}

// gatherRules are the tiles that gather best where there are enough of them,
// measured as rules were: looking elements up takes registers, so that smaller
// tiles than those of matrices win.
var gatherRules = []rule{
	{Tile{false, 8, 8, 1, 4, 16}, 200},
	{Tile{false, 4, 8, 1, 4, 16}, 200},
}

func (p *Problem) chooseGather(t *Target) method {
	shares := p.shares()
	for _, r := range gatherRules {
		c := r.tile
		if p.Type.Size() == 4 && c.fits(p, t) && p.M >= c.m() && p.N >= c.n() && c.tiles(p)*p.Batch*shares >= r.groups {
			return tiled{Tile: c, shares: shares}
		}
	}
	return p.ruled(shares, t)
}

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
	m, ok := p.chooseGather(t).(tiled)
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
func (g *Gather) axes() [maxAxes]Axis {
	var out [maxAxes]Axis
	for i := range out {
		out[i] = Axis{Out: 1, Taps: 1, Stride: 1, Step: 1, Gap: 1, Reach: 1}
		if i < len(g.Axes) {
			out[i] = g.Axes[len(g.Axes)-1-i]
		}
	}
	return out
}

// spec lists the specialisation constants after those of the tile.
func (g *Gather) spec() []uint32 {
	spec := []uint32{uint32(len(g.Axes))}
	axes := g.axes()
	for _, f := range []func(a Axis) int{
		func(a Axis) int { return a.Taps }, func(a Axis) int { return a.Stride },
		func(a Axis) int { return a.Step }, func(a Axis) int { return a.Gap }} {
		for _, a := range axes {
			spec = append(spec, uint32(f(a)))
		}
	}
	return spec
}

// parameters lists the push constants after those of the tile.
func (g *Gather) parameters() []int {
	var list []int
	axes := g.axes()
	for _, f := range []func(a Axis) int{
		func(a Axis) int { return a.Out }, func(a Axis) int { return a.Low },
		func(a Axis) int { return a.Reach }, func(a Axis) int { return a.At }} {
		for _, a := range axes {
			list = append(list, f(a))
		}
	}
	return append(list, g.Channel, g.Groups, g.Group)
}
