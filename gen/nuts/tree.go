package nuts

import (
	"context"
	"math"
	"slices"
)

// divergence is how much energy a trajectory may gain before it counts as one
// that has left the level set.
const divergence = 1000

// Directions.
const (
	backward = iota
	forward
)

// tree grows a trajectory in both directions.
type tree struct {
	*Chain
	h0        float64 // energy at the start
	steps     int
	accept    float64 // sum of acceptance probabilities
	diverg    bool
	ways      uint64     // bit i is the direction of doubling i, which is of 2^i steps
	doublings int        // that are complete
	ahead     [2][]State // states that have been computed and not used, by direction
	taken     [2]int     // steps, by direction
	end       [2]*State  // where the trajectory ends, by direction
}

// span is a part of a trajectory: its ends and sums, in the direction in which it grew.
type span struct {
	proposal             *State
	weight               float64   // logarithm of the sum of exp(h0 - h)
	rho                  []float64 // sum of the momenta
	first, last          []float64 // momenta at the ends
	sharpFirst, sharpEnd []float64 // the same times the metric
}

// transition moves the chain.
func (c *Chain) transition(ctx context.Context) (*Draw, error) {
	start := *c.state
	start.P = make([]float64, c.Dim)
	for i := range start.P {
		start.P[i] = c.random.normal() / math.Sqrt(c.metric[i])
	}
	t := &tree{Chain: c, h0: c.energy(&start), ways: c.random.next(), end: [2]*State{&start, &start}}
	sample, all := &start, c.leaf(&start, 0)
	began := 0
	for on := true; on && began < c.opts.MaxDepth; {
		way := int(t.ways >> began & 1)
		began++
		part, ok, err := t.grow(ctx, way, t.doublings)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		t.doublings++
		if part.weight > all.weight || c.random.uniform() < math.Exp(part.weight-all.weight) {
			sample = part.proposal
		}
		all, on = joined(all, part, way)
	}
	c.depths.learn(began)
	// A state may lie among many others, which end here.
	c.state = &State{Q: slices.Clone(sample.Q), Grad: slices.Clone(sample.Grad), LogP: sample.LogP}
	d := &Draw{Q: c.state.Q, LogP: sample.LogP, Step: c.step, Energy: c.energy(sample), Depth: t.doublings, Steps: t.steps, Divergent: t.diverg}
	if t.steps > 0 {
		d.Accept = t.accept / float64(t.steps)
	}
	return d, nil
}

// energy is minus the log density plus the kinetic energy.
func (c *Chain) energy(s *State) float64 {
	k := 0.0
	for i, p := range s.P {
		k += p * p * c.metric[i]
	}
	return k/2 - s.LogP
}

// leaf is the span of one state.
func (c *Chain) leaf(s *State, weight float64) *span {
	sharp := make([]float64, c.Dim)
	for i, p := range s.P {
		sharp[i] = p * c.metric[i]
	}
	return &span{proposal: s, weight: weight, rho: s.P, first: s.P, last: s.P, sharpFirst: sharp, sharpEnd: sharp}
}

// grow adds 2^depth states to an end of the trajectory. ok is false where they
// turn back among themselves or diverge.
func (t *tree) grow(ctx context.Context, way, depth int) (part *span, ok bool, err error) {
	if depth == 0 {
		return t.one(ctx, way)
	}
	a, ok, err := t.grow(ctx, way, depth-1)
	if !ok || err != nil {
		return nil, false, err
	}
	b, ok, err := t.grow(ctx, way, depth-1)
	if !ok || err != nil {
		return nil, false, err
	}
	weight := logSum(a.weight, b.weight)
	proposal := a.proposal
	if b.weight > weight || t.random.uniform() < math.Exp(b.weight-weight) {
		proposal = b.proposal
	}
	part, ok = joined(a, b, 1)
	part.proposal = proposal
	return part, ok, nil
}

// one takes a step.
func (t *tree) one(ctx context.Context, way int) (*span, bool, error) {
	s, err := t.next(ctx, way)
	if err != nil {
		return nil, false, err
	}
	t.note(s)
	h := t.energy(s)
	if !finite(h) { // an infinite density is no better than one that has no value
		h = math.Inf(1)
	}
	t.steps++
	t.accept += math.Min(1, math.Exp(t.h0-h))
	if h-t.h0 > divergence {
		t.diverg = true
		return nil, false, nil
	}
	return t.leaf(s, t.h0-h), true, nil
}

// next is the next state in a direction.
func (t *tree) next(ctx context.Context, way int) (*State, error) {
	if len(t.ahead[way]) == 0 {
		if err := t.integrate(ctx, way); err != nil {
			return nil, err
		}
	}
	s := &t.ahead[way][0]
	t.ahead[way] = t.ahead[way][1:]
	t.end[way] = s
	t.taken[way]++
	return s, nil
}

// integrate has steps taken that are needed in a direction and, in both, those of the
// doublings that are likely to come.
func (t *tree) integrate(ctx context.Context, way int) error {
	depth := t.depths.depth(t.doublings, t.opts.MaxDepth, t.in.CallCost())
	segments := []Segment{t.segment(way, depth)}
	if other := t.segment(1-way, depth); other.Steps > 0 {
		segments = append(segments, other)
	}
	states, err := t.in.Steps(ctx, t.metric, segments)
	if err != nil {
		return err
	}
	for i, way := range []int{way, 1 - way}[:len(states)] {
		t.ahead[way] = append(t.ahead[way], states[i]...)
	}
	return nil
}

// segment is the part of a trajectory of a depth that is still missing in a direction.
// The bits of ways give the number of its steps in that direction; those that have been
// taken are subtracted.
func (t *tree) segment(way, depth int) Segment {
	ways, eps := t.ways, t.step
	if way == backward {
		ways, eps = ^ways, -eps
	}
	l := Segment{From: t.end[way], Eps: eps, Steps: int(ways&(1<<depth-1)) - t.taken[way] - len(t.ahead[way])}
	if n := len(t.ahead[way]); n > 0 {
		l.From = &t.ahead[way][n-1]
	}
	return l
}

// joined joins two neighbouring spans; b follows a in direction 1 and precedes
// it in direction 0. on is false where the whole turns back, or where either
// does together with the nearest state of the other.
func joined(a, b *span, way int) (whole *span, on bool) {
	if way == 0 {
		a, b = reversed(b), a
	}
	whole = &span{proposal: a.proposal, weight: logSum(a.weight, b.weight), rho: sum(a.rho, b.rho),
		first: a.first, last: b.last, sharpFirst: a.sharpFirst, sharpEnd: b.sharpEnd}
	on = onward(a.sharpFirst, b.sharpEnd, whole.rho) &&
		onward(a.sharpFirst, b.sharpFirst, sum(a.rho, b.first)) &&
		onward(a.sharpEnd, b.sharpEnd, sum(b.rho, a.last))
	return whole, on
}

// reversed is a span that grew backward, in the order of time.
func reversed(s *span) *span {
	return &span{proposal: s.proposal, weight: s.weight, rho: s.rho, first: s.last, last: s.first,
		sharpFirst: s.sharpEnd, sharpEnd: s.sharpFirst}
}

// onward reports whether a span moves on at both ends.
func onward(sharpFirst, sharpEnd, rho []float64) bool {
	return dot(sharpFirst, rho) > 0 && dot(sharpEnd, rho) > 0
}

func dot(a, b []float64) float64 {
	s := 0.0
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

func sum(a, b []float64) []float64 {
	s := make([]float64, len(a))
	for i := range a {
		s[i] = a[i] + b[i]
	}
	return s
}

// logSum is log(exp(a) + exp(b)).
func logSum(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(a, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}
