package program

import "nxvk/ops"

// The models of bench/sampler.exs of the Elixir package, with the gradients that
// calculus gives.

// SchoolCount is how many schools there are.
const SchoolCount = 8

// Schools is the log density of eight schools with effects that are not centred, and
// its gradient: the mean mu, the logarithm of the deviation tau, and the effects z. The
// data are what each school has measured and its standard error.
func Schools() *ops.Region {
	g := newGraph(ops.F64)
	q, y, sigma := g.param(f64(2+SchoolCount)), g.param(f64(1, SchoolCount)), g.param(f64(1, SchoolCount))
	mu, logTau, z := g.slice(q, 0, 1), g.slice(q, 1, 1), g.slice(q, 2, SchoolCount)
	tau := g.point(ops.Exp, logTau)
	r := g.point(ops.Divide, g.minus(y, g.point(ops.Add, mu, g.times(tau, z))), sigma)
	squares := g.point(ops.Add, g.times(z, z), g.times(r, r))
	t := g.times(tau, g.times(tau, g.number(1/25.0))) // (tau/5)², of the half-Cauchy prior
	prior := g.minus(g.minus(logTau, g.point(ops.Log1p, t)), g.times(g.times(mu, mu), g.number(1/50.0)))
	logp := g.point(ops.Add, prior, g.times(g.total(squares), g.number(-0.5)))
	pull := g.point(ops.Divide, r, sigma) // of each school on its effect
	dmu := g.minus(g.total(pull), g.times(mu, g.number(1/25.0)))
	dtau := g.minus(g.point(ops.Add, g.times(tau, g.total(g.times(pull, z))), g.number(1)),
		g.point(ops.Divide, g.times(t, g.number(2)), g.point(ops.Add, t, g.number(1))))
	return g.density(logp, 2+SchoolCount, dmu, dtau, g.minus(g.times(pull, tau), z))
}

// InOrder is the log density of three regimes whose means are in order, and its
// gradient: the first mean, the logarithms of the two gaps, those of the deviations,
// and two logits. The data are the observations, a column.
func InOrder() *ops.Region {
	g := newGraph(ops.F64)
	q, x := g.param(f64(Parameters)), g.param(f64(Observations, 1))
	mu, gaps, logs, free := g.slice(q, 0, 1), g.slice(q, 1, 2), g.slice(q, 3, regimes), g.slice(q, 6, regimes-1)
	width := g.point(ops.Exp, gaps)
	second := g.point(ops.Add, mu, g.cell(width, 0))
	means := g.row(mu, second, g.point(ops.Add, second, g.cell(width, 1)))
	lik, dmeans, dlogs, dlogits := g.mixed(x, means, logs, free)
	last := g.cell(dmeans, 2)
	upper := g.point(ops.Add, g.cell(dmeans, 1), last)
	dgaps := g.times(g.row(upper, last), width)
	// The priors: normal, of the given means and deviations.
	logp, grads := lik, []node{g.point(ops.Add, g.cell(dmeans, 0), upper), dgaps, dlogs, dlogits}
	for i, p := range []struct {
		x        node
		mean, sd float64
	}{{mu, -2, 2}, {gaps, 0, 1}, {logs, -0.5, 0.5}, {free, 0, 1}} {
		z := g.times(g.minus(p.x, g.number(p.mean)), g.number(1/p.sd))
		logp = g.minus(logp, g.times(g.total(g.times(z, z)), g.number(0.5)))
		grads[i] = g.minus(grads[i], g.times(z, g.number(1/p.sd)))
	}
	return g.density(logp, Parameters, grads...)
}

func (g *graph) times(x, y node) node { return g.point(ops.Multiply, x, y) }

func (g *graph) minus(x, y node) node { return g.point(ops.Subtract, x, y) }

// total is the sum of a row.
func (g *graph) total(x node) node { return g.fold(ops.Sum, x, 1, true) }

// cell is a number of a row.
func (g *graph) cell(x node, at int) node {
	return g.add(ops.Slice, f64(1, 1), [][]int{{0, at}, {1, 1}, {1, 1}}, x)
}

// row joins numbers.
func (g *graph) row(cells ...node) node {
	return g.add(ops.Concatenate, f64(1, len(cells)), [][]int{{1}}, cells...)
}
