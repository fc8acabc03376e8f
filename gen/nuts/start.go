package nuts

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// tries is at how many positions a chain tries to begin, as many as Stan does.
const tries = 100

// begin finds a position where density and gradient are finite and trajectories can set
// out, and a step size for it. Positions are drawn from [-2, 2], as Stan does. After half
// of the tries, each further range is ten times smaller than the one before: this finds a
// density that is very narrow, or finite only around 0.
func (c *Chain) begin(ctx context.Context) error {
	var why noStart
	for c.starts < tries {
		c.starts++
		err := c.beginAt(ctx, c.start())
		if err == nil || !errors.As(err, &why) {
			return err
		}
		if c.opts.Init != nil {
			return fmt.Errorf("%w: at the given first position %w; give another first position", ErrDensity, why)
		}
	}
	return fmt.Errorf("%w: none of %d random positions in [-2, 2] can begin a chain; at the last one %w; give a first position", ErrDensity, tries, why)
}

// start is where the chain tries to begin.
func (c *Chain) start() []float64 {
	if c.opts.Init != nil {
		return c.opts.Init
	}
	radius := 2.0
	if late := c.starts - tries/2; late > 0 {
		radius *= math.Pow(10, -float64(late))
	}
	q := make([]float64, c.Dim)
	for i := range q {
		q[i] = radius * (2*c.random.uniform() - 1)
	}
	return q
}

// beginAt tries a position. The error is a noStart where another may do.
func (c *Chain) beginAt(ctx context.Context, q []float64) error {
	s, err := c.in.Start(ctx, q)
	if err != nil {
		return err
	}
	c.note(s)
	switch {
	case len(s.Grad) != c.Dim:
		return fmt.Errorf("%w: its gradient has %d numbers, there are %d parameters", ErrDensity, len(s.Grad), c.Dim)
	case s.Err != nil:
		return noStart{fmt.Errorf("it has no value: %w", s.Err)}
	case !finite(s.LogP):
		return noStart{fmt.Errorf("it is %v", s.LogP)}
	case !allFinite(s.Grad):
		return noStart{fmt.Errorf("its gradient is %v", brief(s.Grad))}
	}
	c.state = s
	if c.opts.Fixed {
		return nil
	}
	c.step = c.opts.Step
	return c.findStep(ctx)
}

// mostShown bounds the numbers of a vector in an error.
const mostShown = 8

func brief(xs []float64) string {
	if len(xs) <= mostShown {
		return fmt.Sprint(xs)
	}
	return fmt.Sprintf("%v and %d numbers more", xs[:mostShown], len(xs)-mostShown)
}

// largestStep is more than the scale of any density that single precision can tell from
// a flat one.
const largestStep = 1e35

// findStep doubles or halves the step size until one step is accepted about as
// often as the target says (Hoffman and Gelman, 2014, algorithm 4). The error is a
// noStart where none is small enough before steps lead nowhere.
func (c *Chain) findStep(ctx context.Context) error {
	if c.step == 0 {
		c.step = 1
	}
	for first, up := true, false; ; {
		s := *c.state
		s.P = make([]float64, c.Dim)
		for i := range s.P {
			s.P[i] = c.random.normal() / math.Sqrt(c.metric[i])
		}
		all, err := c.in.Steps(ctx, c.metric, []Segment{{From: &s, Eps: c.step, Steps: 1}})
		if err != nil {
			return err
		}
		next := &all[0][0]
		c.note(next)
		good := c.energy(&s)-c.energy(next) > math.Log(0.8) // false where it is not a number
		if first {
			up, first = good, false
		}
		switch {
		case !up && slices.Equal(next.Q, s.Q): // and so it would be accepted
			return noStart{fmt.Errorf("every step size is rejected, down to %g, which moves no parameter; check its gradient", c.step)}
		case good != up:
			return nil
		case up && c.step > largestStep:
			return fmt.Errorf("%w: every step size is accepted, up to %g; check that its integral is finite", ErrDensity, c.step)
		case up:
			c.step *= 2
		default:
			c.step /= 2
		}
	}
}

// newStep finds a step size for a metric that has changed. Where there is none the one
// that the chain has come with goes on.
func (c *Chain) newStep(ctx context.Context) error {
	step := c.step
	err := c.findStep(ctx)
	if ctx.Err() == nil && (errors.As(err, new(noStart)) || errors.Is(err, ErrDensity)) {
		c.step, err = step, nil
	}
	return err
}
