package nuts

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// density is an Integrator of a function in Go.
type density struct {
	f     func(q, grad []float64) float64
	ahead int     // how many steps of a segment are given at once; 0 is one of the first
	cost  float64 // of a call
	count int     // steps
	calls int
}

func (d *density) CallCost() float64 { return d.cost }

func (d *density) Start(_ context.Context, q []float64) (*State, error) {
	s := &State{Q: slices.Clone(q), Grad: make([]float64, len(q))}
	s.LogP = d.f(s.Q, s.Grad)
	return s, nil
}

func (d *density) Steps(ctx context.Context, metric []float64, segments []Segment) (out [][]State, err error) {
	d.calls++
	if d.ahead == 0 {
		segments = segments[:1]
	}
	for _, l := range segments {
		out = append(out, d.along(l, metric))
	}
	return out, ctx.Err()
}

// along takes steps of a segment.
func (d *density) along(l Segment, metric []float64) (out []State) {
	from, eps := l.From, l.Eps
	for range min(l.Steps, max(1, d.ahead)) {
		d.count++
		s := State{Q: slices.Clone(from.Q), P: slices.Clone(from.P), Grad: make([]float64, len(from.Q))}
		for i := range s.Q {
			s.P[i] += eps / 2 * from.Grad[i]
			s.Q[i] += eps * metric[i] * s.P[i]
		}
		s.LogP = d.f(s.Q, s.Grad)
		for i := range s.P {
			s.P[i] += eps / 2 * s.Grad[i]
		}
		out = append(out, s)
		from = &s
	}
	return out
}

// normals are independent normal densities.
func normals(mean, sd []float64) func(q, grad []float64) float64 {
	return func(q, grad []float64) float64 {
		lp := 0.0
		for i, x := range q {
			z := (x - mean[i]) / sd[i]
			lp -= z * z / 2
			grad[i] = -z / sd[i]
		}
		return lp
	}
}

// sample runs a chain and gives its draws.
func sample(t *testing.T, d *density, dim int, o Options) []*Draw {
	t.Helper()
	c, err := New(d, dim, 0, o)
	if err != nil {
		t.Fatal(err)
	}
	var draws []*Draw
	err = c.Run(t.Context(), func(warmup bool, d *Draw) error {
		if !warmup {
			draws = append(draws, d)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return draws
}

// moments are mean and variance of a function of the draws.
func moments(draws []*Draw, f func(q []float64) float64) (mean, variance float64) {
	w := newWelford(1)
	for _, d := range draws {
		w.add([]float64{f(d.Q)})
	}
	return w.mean[0], w.m2[0] / (w.n - 1)
}

// TestNormals: means and variances of a density whose scales differ a
// thousandfold, which the metric has to learn.
func TestNormals(t *testing.T) {
	mean, sd := []float64{1, -200, 0.5}, []float64{1, 100, 0.1}
	for seed := range uint64(6) {
		draws := sample(t, &density{f: normals(mean, sd)}, 3, Options{Warmup: 1000, Draws: 4000, Seed: seed})
		steps := 0
		for i := range mean {
			m, v := moments(draws, func(q []float64) float64 { return q[i] })
			if math.Abs(m-mean[i]) > 0.1*sd[i] || math.Abs(v/(sd[i]*sd[i])-1) > 0.15 {
				t.Errorf("seed %d, parameter %d: mean %v and variance %v, want %v and %v", seed, i, m, v, mean[i], sd[i]*sd[i])
			}
		}
		for _, d := range draws {
			steps += d.Steps
			if d.Divergent {
				t.Fatalf("seed %d: a divergence", seed)
			}
		}
		if steps > 10*len(draws) {
			t.Errorf("seed %d: %d steps for %d draws; the metric was not learnt", seed, steps, len(draws))
		}
	}
}

// TestExponential: a half-line by its logarithm, as models have it.
func TestExponential(t *testing.T) {
	exponential := func(q, grad []float64) float64 { // rate 2
		grad[0] = 1 - 2*math.Exp(q[0])
		return q[0] - 2*math.Exp(q[0])
	}
	draws := sample(t, &density{f: exponential}, 1, Options{Warmup: 1000, Draws: 8000, Seed: 3})
	m, v := moments(draws, func(q []float64) float64 { return math.Exp(q[0]) })
	if math.Abs(m-0.5) > 0.025 || math.Abs(v-0.25) > 0.04 {
		t.Errorf("mean %v and variance %v, want 0.5 and 0.25", m, v)
	}
}

// TestCorrelated: two parameters with a correlation of 0.9, which a diagonal
// metric cannot take away.
func TestCorrelated(t *testing.T) {
	const r = 0.9
	f := func(q, grad []float64) float64 {
		k := 1 / (1 - r*r)
		grad[0], grad[1] = -k*(q[0]-r*q[1]), -k*(q[1]-r*q[0])
		return -k / 2 * (q[0]*q[0] - 2*r*q[0]*q[1] + q[1]*q[1])
	}
	draws := sample(t, &density{f: f}, 2, Options{Warmup: 1000, Draws: 8000, Seed: 5})
	m, _ := moments(draws, func(q []float64) float64 { return q[0] * q[1] })
	_, v := moments(draws, func(q []float64) float64 { return q[0] })
	if math.Abs(m-r) > 0.14 || math.Abs(v-1) > 0.14 { // four deviations of what seeds give
		t.Errorf("covariance %v and variance %v, want %v and 1", m, v, r)
	}
}

// TestSame: a chain is a function of seed and number, and how many steps the
// integrator is asked for and gives at once changes nothing.
func TestSame(t *testing.T) {
	f := normals([]float64{0, 0}, []float64{1, 3})
	o := Options{Warmup: 200, Draws: 100, Seed: 42}
	one := sample(t, &density{f: f}, 2, o)
	for _, ahead := range []int{1, 4, 1024} {
		for _, cost := range []float64{0, 1, 16, 1e9} {
			again := sample(t, &density{f: f, ahead: ahead, cost: cost}, 2, o)
			for i := range one {
				if !slices.Equal(one[i].Q, again[i].Q) || one[i].Energy != again[i].Energy || one[i].Steps != again[i].Steps {
					t.Fatalf("draw %d differs with %d steps at once, a call of which costs as much as %v", i, ahead, cost)
				}
			}
		}
	}
	o.Seed = 43
	if other := sample(t, &density{f: f}, 2, o); slices.Equal(other[0].Q, one[0].Q) {
		t.Error("another seed gives the same draws")
	}
}

// TestAdapts: the acceptance statistic comes near its target.
func TestAdapts(t *testing.T) {
	f := normals(make([]float64, 20), slices.Repeat([]float64{1}, 20))
	for _, target := range []float64{0.6, 0.8, 0.95} {
		draws := sample(t, &density{f: f}, 20, Options{Warmup: 1000, Draws: 1000, Seed: 1, Target: target})
		mean := 0.0
		for _, d := range draws {
			mean += d.Accept / float64(len(draws))
		}
		if math.Abs(mean-target) > 0.15 {
			t.Errorf("acceptance %v, target %v", mean, target)
		}
	}
}

// TestDivergences: Neal's funnel makes some, and they are told.
func TestDivergences(t *testing.T) {
	funnel := func(q, grad []float64) float64 { // q[0] is the log of the variance of q[1]
		v, x := q[0], q[1]
		grad[0] = -v/9 - 0.5 + x*x*math.Exp(-v)/2
		grad[1] = -x * math.Exp(-v)
		return -v*v/18 - v/2 - x*x*math.Exp(-v)/2
	}
	n := 0
	for _, d := range sample(t, &density{f: funnel}, 2, Options{Warmup: 500, Draws: 2000, Seed: 1}) {
		if d.Divergent {
			n++
		}
	}
	if n == 0 {
		t.Error("no divergence in the neck of the funnel")
	}
}

func TestFaults(t *testing.T) {
	f := normals([]float64{0}, []float64{1})
	nowhere := func(q, grad []float64) float64 { return math.Inf(-1) }
	point := func(q, grad []float64) float64 {
		if q[0] == 1 {
			return 0
		}
		return math.Inf(-1)
	}
	flat := func(q, grad []float64) float64 { return 0 }
	for _, c := range []struct {
		name string
		f    func(q, grad []float64) float64
		o    Options
		want error
		text string
	}{
		{"depth", f, Options{MaxDepth: 21}, ErrOptions, "from 1 to 20"},
		{"draws", f, Options{Draws: -1}, ErrOptions, "must not be negative"},
		{"target", f, Options{Target: 1}, ErrOptions, "between 0 and 1"},
		{"step", f, Options{Step: math.NaN()}, ErrOptions, "positive number"},
		{"init", f, Options{Init: []float64{1, 2}}, ErrOptions, "has 2 numbers"},
		{"metric", f, Options{Metric: []float64{-1}}, ErrOptions, "positive numbers"},
		{"fixed", f, Options{Fixed: true}, ErrOptions, "needs a step size"},
		{"nowhere finite", nowhere, Options{Warmup: 10}, ErrDensity, "none of 100 random positions"},
		{"not finite at init", nowhere, Options{Warmup: 10, Init: []float64{1}}, ErrDensity, "give another first position"},
		{"a point", point, Options{Warmup: 10, Init: []float64{1}}, ErrDensity, "every step size is rejected"},
		{"improper", flat, Options{Warmup: 10}, ErrDensity, "every step size is accepted"},
	} {
		chain, err := New(&density{f: c.f}, 1, 0, c.o)
		if err == nil {
			err = chain.Run(t.Context(), func(bool, *Draw) error { return nil })
		}
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.text)
		}
	}
}

// TestCancelled: a chain ends with its context.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, err := New(&density{f: normals([]float64{0}, []float64{1})}, 1, 0, Options{Warmup: 100, Draws: 1e9})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = c.Run(ctx, func(bool, *Draw) error {
		if n++; n == 200 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestThreefry has the known answers of the authors.
func TestThreefry(t *testing.T) {
	for _, c := range []struct{ key, x, want [2]uint32 }{
		{[2]uint32{}, [2]uint32{}, [2]uint32{0x6b200159, 0x99ba4efe}},
		{[2]uint32{0xffffffff, 0xffffffff}, [2]uint32{0xffffffff, 0xffffffff}, [2]uint32{0x1cb996fc, 0xbb002be7}},
		{[2]uint32{0x13198a2e, 0x03707344}, [2]uint32{0x243f6a88, 0x85a308d3}, [2]uint32{0xc4923a9c, 0x483df7a0}},
	} {
		if a, b := threefry(c.key, c.x); a != c.want[0] || b != c.want[1] {
			t.Errorf("threefry(%x, %x) = %x %x, want %x", c.key, c.x, a, b, c.want)
		}
	}
}

func TestWindows(t *testing.T) {
	for n, want := range map[int][]int{1000: {99, 149, 249, 449, 949}, 500: {99, 149, 249, 449}, 150: {99}, 100: {89}, 10: nil} {
		_, ends := windows(n)
		var got []int
		for i := range n {
			if ends[i] {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("windows of %d end at %v, want %v", n, got, want)
		}
	}
}
