package nuts

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// State is a point of a trajectory.
type State struct {
	Q, P, Grad []float64 // position, momentum, gradient of the log density at the position
	LogP       float64
	Err        error // why the density has no value there; then LogP and Grad are no numbers
}

// Fail says that the density has no value at the position.
func (s *State) Fail(err error) {
	s.Err, s.LogP = err, math.NaN()
	for i := range s.Grad {
		s.Grad[i] = math.NaN()
	}
}

// Segment is a part of a trajectory: so many leapfrog steps from a state.
type Segment struct {
	From  *State
	Eps   float64 // the size of a step, negative to go backward
	Steps int
}

// Integrator computes the density and moves along trajectories.
type Integrator interface {
	// Start returns the state at a position, without a momentum.
	Start(ctx context.Context, q []float64) (*State, error)
	// Steps takes leapfrog steps along segments, and returns the states after each step. It
	// may take fewer steps than a segment asks for, but at least one along the first
	// segment. metric is the diagonal of the inverse mass matrix.
	Steps(ctx context.Context, metric []float64, segments []Segment) ([][]State, error)
	// CallCost is the cost of a call of Steps without its steps, in steps. The higher it
	// is, the more steps a chain asks for before it knows whether it needs them.
	CallCost() float64
}

// Options are those of a chain. The zero value of a field stands for its
// default.
type Options struct {
	Warmup, Draws int       // iterations; 1000 each
	Seed          uint64    // of all chains
	Target        float64   // acceptance statistic that the step size aims at; 0.8
	MaxDepth      int       // of a trajectory, which has at most 2^depth steps; 10
	Step          float64   // the first step size; found by trial where it is 0
	Metric        []float64 // the first diagonal of the inverse mass matrix; ones where it is nil
	Init          []float64 // where the chain begins; drawn where it is nil, see Chain.begin
	Thin          int       // every so many draws are kept; 1
	Fixed         bool      // step size and metric stay as they are given
}

func (o *Options) defaults(dim int) error {
	set := func(n *int, v int) {
		if *n == 0 {
			*n = v
		}
	}
	set(&o.MaxDepth, 10)
	set(&o.Thin, 1)
	if o.Target == 0 {
		o.Target = 0.8
	}
	switch {
	case dim < 1:
		return fmt.Errorf("%w: the density has no parameters", ErrOptions)
	case o.Warmup < 0 || o.Draws < 0 || o.Thin < 1:
		return fmt.Errorf("%w: warm-up %d, draws %d and thinning %d must not be negative", ErrOptions, o.Warmup, o.Draws, o.Thin)
	case o.MaxDepth < 1 || o.MaxDepth > mostDepth:
		return fmt.Errorf("%w: the depth of trajectories is from 1 to %d, got %d", ErrOptions, mostDepth, o.MaxDepth)
	case !(o.Target > 0 && o.Target < 1):
		return fmt.Errorf("%w: the target acceptance lies between 0 and 1, got %v", ErrOptions, o.Target)
	case !(o.Step >= 0) || math.IsInf(o.Step, 0):
		return fmt.Errorf("%w: the step size must be a positive number, got %v", ErrOptions, o.Step)
	case o.Fixed && o.Step == 0:
		return fmt.Errorf("%w: a chain that does not adapt needs a step size", ErrOptions)
	case o.Init != nil && len(o.Init) != dim:
		return fmt.Errorf("%w: the first position has %d numbers, the density has %d parameters", ErrOptions, len(o.Init), dim)
	case o.Metric != nil && len(o.Metric) != dim:
		return fmt.Errorf("%w: the metric has %d numbers, the density has %d parameters", ErrOptions, len(o.Metric), dim)
	}
	for _, m := range o.Metric {
		if !(m > 0) || math.IsInf(m, 0) {
			return fmt.Errorf("%w: the metric must have positive numbers, has %v", ErrOptions, m)
		}
	}
	return nil
}

// Draw is one iteration after warm-up, or within it.
type Draw struct {
	Q         []float64
	LogP      float64
	Accept    float64 // mean acceptance statistic of the trajectory
	Step      float64 // size
	Energy    float64
	Depth     int
	Steps     int // leapfrog steps
	Divergent bool
}

// Chain is one Markov chain.
type Chain struct {
	Number int
	Dim    int
	opts   Options
	in     Integrator
	random *random
	state  *State
	step   float64
	metric []float64
	depths depthPredictor

	starts, failures int
	failure          error
}

// New returns a chain. number tells the chains of a run apart.
func New(in Integrator, dim, number int, o Options) (*Chain, error) {
	if err := o.defaults(dim); err != nil {
		return nil, err
	}
	return &Chain{Number: number, Dim: dim, opts: o, in: in, step: o.Step, random: newRandom(o.Seed, uint64(number)), depths: newDepthPredictor()}, nil
}

// Metric returns the diagonal of the inverse mass matrix as it is now, nil before Run.
func (c *Chain) Metric() []float64 { return c.metric }

// Step returns the step size as it is now.
func (c *Chain) Step() float64 { return c.step }

// Starts returns at how many positions the chain has tried to begin; it began at the
// last of them.
func (c *Chain) Starts() int { return c.starts }

// Failures returns at how many positions the density had no value, and why at the
// first of them. A trajectory ends before such a position as before one that diverges.
func (c *Chain) Failures() (count int, first error) { return c.failures, c.failure }

// note counts a state where the density has no value.
func (c *Chain) note(s *State) {
	if s.Err == nil {
		return
	}
	if c.failures++; c.failure == nil {
		c.failure = s.Err
	}
}

// Run runs the chain: warm-up, then draws. Each draw goes to emit. It ends with the first
// error of the Integrator, of emit, or of the context.
func (c *Chain) Run(ctx context.Context, emit func(warmup bool, d *Draw) error) error {
	if c.metric = slices.Clone(c.opts.Metric); c.metric == nil {
		c.metric = slices.Repeat([]float64{1}, c.Dim)
	}
	if err := c.begin(ctx); err != nil {
		return err
	}
	if err := c.warm(ctx, emit); err != nil {
		return err
	}
	for i := range c.opts.Draws * c.opts.Thin {
		d, err := c.transition(ctx)
		if err != nil {
			return err
		}
		if i%c.opts.Thin == c.opts.Thin-1 {
			if err := emit(false, d); err != nil {
				return err
			}
		}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func allFinite(xs []float64) bool {
	for _, x := range xs {
		if !finite(x) {
			return false
		}
	}
	return true
}
