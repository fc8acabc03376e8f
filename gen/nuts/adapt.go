package nuts

import (
	"context"
	"math"
)

// The windows of warm-up, as Stan has them: the step size alone, then the
// metric in windows that double, then the step size again.
const (
	firstWindow = 75
	lastWindow  = 50
	baseWindow  = 25
)

// windows returns where the metric's windows begin and which iterations end one.
func windows(n int) (begin int, ends map[int]bool) {
	first, last, base := firstWindow, lastWindow, baseWindow
	if n < first+last+base {
		first, last = n*15/100, n/10
		base = n - first - last
	}
	ends = make(map[int]bool)
	if n < 20 {
		return n, ends
	}
	for at, size := first, base; at+size <= n-last && size > 0; size *= 2 {
		if at+size+2*size > n-last { // the rest is too short for a window of its own
			size = n - last - at
		}
		at += size
		ends[at-1] = true
	}
	return first, ends
}

// warm adapts the chain.
func (c *Chain) warm(ctx context.Context, emit func(bool, *Draw) error) error {
	if c.opts.Fixed {
		return c.still(ctx, emit)
	}
	begin, ends := windows(c.opts.Warmup)
	average, spread := newAverage(c.step, c.opts.Target), newWelford(c.Dim)
	for i := range c.opts.Warmup {
		d, err := c.transition(ctx)
		if err != nil {
			return err
		}
		c.step = average.learn(d.Accept)
		if i >= begin && i < c.opts.Warmup-c.tail() {
			spread.add(d.Q)
		}
		if ends[i] {
			c.metric = spread.metric()
			spread = newWelford(c.Dim)
			if err := c.newStep(ctx); err != nil {
				return err
			}
			average = newAverage(c.step, c.opts.Target)
		}
		if err := emit(true, d); err != nil {
			return err
		}
	}
	if c.opts.Warmup > 0 {
		c.step = average.final()
	}
	return nil
}

// tail is how many of the last iterations of warm-up the metric ignores.
func (c *Chain) tail() int {
	if c.opts.Warmup < firstWindow+lastWindow+baseWindow {
		return c.opts.Warmup / 10
	}
	return lastWindow
}

// still is a warm-up without adaptation.
func (c *Chain) still(ctx context.Context, emit func(bool, *Draw) error) error {
	for range c.opts.Warmup {
		d, err := c.transition(ctx)
		if err != nil {
			return err
		}
		if err := emit(true, d); err != nil {
			return err
		}
	}
	return nil
}

// average is dual averaging of the logarithm of the step size (Nesterov, 2009,
// as Hoffman and Gelman have it).
type average struct {
	target, mu, sum, mean float64
	n                     float64
}

func newAverage(step, target float64) *average {
	return &average{target: target, mu: math.Log(10 * step)}
}

// learn takes the acceptance statistic of a step size and gives the next one.
func (a *average) learn(accept float64) float64 {
	const gamma, t0, kappa = 0.05, 10, 0.75
	if math.IsNaN(accept) {
		accept = 0
	}
	a.n++
	eta := 1 / (a.n + t0)
	a.sum = (1-eta)*a.sum + eta*(a.target-accept)
	x := a.mu - a.sum*math.Sqrt(a.n)/gamma
	w := math.Pow(a.n, -kappa)
	a.mean = (1-w)*a.mean + w*x
	return math.Exp(x)
}

func (a *average) final() float64 { return math.Exp(a.mean) }

// welford is the running variance of positions (Welford, 1962).
type welford struct {
	n        float64
	mean, m2 []float64
}

func newWelford(dim int) *welford {
	return &welford{mean: make([]float64, dim), m2: make([]float64, dim)}
}

func (w *welford) add(q []float64) {
	w.n++
	for i, x := range q {
		d := x - w.mean[i]
		w.mean[i] += d / w.n
		w.m2[i] += d * (x - w.mean[i])
	}
}

// metric is the variance, drawn towards a small one where there are few draws.
func (w *welford) metric() []float64 {
	out := make([]float64, len(w.m2))
	for i, m := range w.m2 {
		v := 1.0
		if w.n > 1 && finite(m) { // squares of large numbers overflow
			v = m / (w.n - 1)
		}
		out[i] = w.n/(w.n+5)*v + 1e-3*5/(w.n+5)
	}
	return out
}
