package nuts

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
)

// peculiar are densities that are proper and hard to begin with, or fail at places.
var peculiar = []struct {
	name string
	dim  int
	f    func(q, grad []float64) float64
}{
	{"narrow", 1, normals([]float64{0}, []float64{1e-30})},
	{"wide", 1, normals([]float64{0}, []float64{1e30})},
	{"narrow and wide", 2, normals([]float64{0, 0}, []float64{1e-5, 1e5})},
	{"a thousand", 1000, normals(make([]float64, 1000), ones(1000))},
	{"steep", 1, func(q, grad []float64) float64 { // -exp(q²), squared again
		e := math.Exp(q[0] * q[0] * q[0] * q[0] * 20)
		grad[0] = -80 * q[0] * q[0] * q[0] * e
		return -e
	}},
	{"half-line", 1, func(q, grad []float64) float64 { // no density below 0, and says so as a logarithm does
		grad[0] = 1/q[0] - 1
		return math.Log(q[0]) - q[0]
	}},
	{"box", 2, func(q, grad []float64) float64 { // infinities at the border, and no gradient in it
		for i, x := range q {
			grad[i] = 0
			if math.Abs(x) > 0.01 {
				return math.Inf(-1)
			}
		}
		return 0
	}},
	{"plateaus", 1, func(q, grad []float64) float64 { // a discrete normal
		grad[0] = 0
		x := math.Floor(q[0])
		return -x * x / 2
	}},
	{"corner", 1, func(q, grad []float64) float64 { // whose gradient is NaN at 0 and right of 1
		grad[0] = -q[0] / math.Abs(q[0])
		if q[0] > 1 {
			grad[0] = math.NaN()
		}
		return -math.Abs(q[0])
	}},
	{"pole", 1, func(q, grad []float64) float64 { // infinite near 0.5
		if math.Abs(q[0]-0.5) < 0.01 {
			grad[0] = 0
			return math.Inf(1)
		}
		grad[0] = -q[0]
		return -q[0] * q[0] / 2
	}},
	{"funnel", 10, func(q, grad []float64) float64 {
		v, w := q[0], math.Exp(-q[0])
		lp, sum := -v*v/18-4.5*v, 0.0
		for i, x := range q[1:] {
			sum += x * x
			grad[i+1] = -x * w
		}
		grad[0] = -v/9 - 4.5 + sum*w/2
		return lp - sum*w/2
	}},
	{"cauchy", 2, func(q, grad []float64) float64 {
		lp := 0.0
		for i, x := range q {
			lp -= math.Log1p(x * x)
			grad[i] = -2 * x / (1 + x*x)
		}
		return lp
	}},
}

// TestPeculiar: no proper density ends a chain, wherever it begins, with steps one at a
// time or many ahead.
func TestPeculiar(t *testing.T) {
	for _, c := range peculiar {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(6) {
				d := &density{f: c.f, ahead: int(seed % 2 * 8), cost: float64(seed % 2 * 8)}
				o := Options{Warmup: 120, Draws: 60, Seed: seed, MaxDepth: 8}
				moved := false
				var last float64
				chain, err := New(d, c.dim, int(seed), o)
				if err == nil {
					err = chain.Run(t.Context(), func(warmup bool, d *Draw) error {
						if !finite(d.LogP) || !allFinite(d.Q) {
							t.Errorf("seed %d: a draw at %v of density %v", seed, brief(d.Q), d.LogP)
						}
						moved = moved || !warmup && last != 0 && d.Q[0] != last
						last = d.Q[0]
						return nil
					})
				}
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
				} else if !moved {
					t.Errorf("seed %d: the chain has not moved from %v", seed, last)
				}
			}
		})
	}
}

// TestStarts: a chain tries other positions where it cannot begin, and says how many.
func TestStarts(t *testing.T) {
	right := func(q, grad []float64) float64 { // finite where all of four are positive
		lp := 0.0
		for i, x := range q {
			lp += math.Log(x) - x
			grad[i] = 1/x - 1
		}
		return lp
	}
	most := 0
	for seed := range uint64(10) {
		c, err := New(&density{f: right}, 4, 0, Options{Warmup: 20, Draws: 1, Seed: seed})
		if err == nil {
			err = c.Run(t.Context(), func(bool, *Draw) error { return nil })
		}
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		most = max(most, c.Starts())
	}
	if most < 5 {
		t.Errorf("at most %d starts", most)
	}
}

// holed is a density that has no value right of a half.
type holed struct{ density }

var errHole = errors.New("a hole")

func (h *holed) Start(ctx context.Context, q []float64) (*State, error) {
	s, err := h.density.Start(ctx, q)
	if q[0] > 0.5 {
		s.Fail(errHole)
	}
	return s, err
}

func (h *holed) Steps(ctx context.Context, metric []float64, segments []Segment) ([][]State, error) {
	out, err := h.density.Steps(ctx, metric, segments[:1])
	if s := &out[0][0]; s.Q[0] > 0.5 {
		s.Fail(errHole)
	}
	return out, err
}

// TestHoles: where a density has no value trajectories end, which counts as a
// divergence, and the chain tells how often and why.
func TestHoles(t *testing.T) {
	c, err := New(&holed{density{f: normals([]float64{0}, []float64{1})}}, 1, 0, Options{Warmup: 200, Draws: 500, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	divergent := 0
	if err := c.Run(t.Context(), func(warmup bool, d *Draw) error {
		if d.Q[0] > 0.5 {
			t.Errorf("a draw at %v", d.Q)
		}
		if d.Divergent {
			divergent++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	n, why := c.Failures()
	if divergent == 0 || n < divergent || !errors.Is(why, errHole) {
		t.Errorf("%d failures (%v) and %d divergences", n, why, divergent)
	}
}

// TestNoHope: where the density has a value nowhere, the error says why.
func TestNoHope(t *testing.T) {
	never := &holed{density{f: normals([]float64{0}, []float64{1})}}
	c, err := New(never, 1, 0, Options{Warmup: 10, Init: []float64{1}})
	if err == nil {
		err = c.Run(t.Context(), func(bool, *Draw) error { return nil })
	}
	if !errors.Is(err, errHole) || !errors.Is(err, ErrDensity) || !strings.Contains(err.Error(), "give another first position") {
		t.Errorf("got %v", err)
	}
}
