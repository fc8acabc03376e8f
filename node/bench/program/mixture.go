package program

import (
	"math"

	"nxvk/ops"
)

// The regime model: 200 observations of a mixture of three normal densities, by
// eight parameters: means, logarithms of deviations, and two logits.
const (
	regimes      = 3
	Observations = 200           // of the data
	Parameters   = 3*regimes - 1 // of the model
)

// Mixture is the log density of the regime model and its gradient, the regimes in any
// order and all priors normal around zero.
func Mixture() *ops.Region {
	g := newGraph(ops.F64)
	q, x := g.param(f64(Parameters)), g.param(f64(Observations, 1))
	mu, logs, free := g.slice(q, 0, regimes), g.slice(q, regimes, regimes), g.slice(q, 2*regimes, regimes-1)
	lik, dmu, dlogs, dlogits := g.mixed(x, mu, logs, free)
	total := func(n node) node { return g.fold(ops.Sum, n, 1, true) }
	squares := g.point(ops.Add, g.point(ops.Multiply, mu, mu), g.point(ops.Multiply, logs, logs))
	logp := g.point(ops.Add, lik, g.point(ops.Multiply, total(squares), g.number(-0.5)))
	return g.density(logp, Parameters, g.point(ops.Subtract, dmu, mu), g.point(ops.Subtract, dlogs, logs), dlogits)
}

// mixed is the log likelihood of a mixture of normal densities, and its gradient with
// respect to the means, the logarithms of the deviations, and the logits but the last,
// which is 0. All are rows; the observations are a column.
func (g *graph) mixed(x, mu, logs, free node) (lik, dmu, dlogs, dlogits node) {
	logits := g.add(ops.Pad, f64(1, regimes), [][]int{{0, 0, 0, 0, 1, 0}}, free, g.number(0))
	logw := g.logs(logits)
	scale := g.point(ops.Exp, g.point(ops.Negate, logs))
	z := g.point(ops.Multiply, g.point(ops.Subtract, x, mu), scale)
	square := g.point(ops.Multiply, z, z)
	each := g.point(ops.Add, g.point(ops.Multiply, square, g.number(-0.5)), g.point(ops.Subtract, logw, logs))
	most := g.fold(ops.ReduceMax, each, 1, true)
	e := g.point(ops.Exp, g.point(ops.Subtract, each, most))
	total := g.fold(ops.Sum, e, 1, true)
	column := func(n node) node { return g.fold(ops.Sum, n, 0, true) }
	lik = column(g.point(ops.Add, g.point(ops.Log, total), most))
	r := g.point(ops.Divide, e, total) // how far each observation belongs to each regime
	dmu = column(g.point(ops.Multiply, r, g.point(ops.Multiply, z, scale)))
	dlogs = column(g.point(ops.Multiply, r, g.point(ops.Subtract, square, g.number(1))))
	weights := g.point(ops.Multiply, g.point(ops.Exp, logw), g.number(Observations))
	all := g.point(ops.Subtract, column(r), weights)
	return lik, dmu, dlogs, g.add(ops.Slice, f64(1, regimes-1), [][]int{{0, 0}, {1, regimes - 1}, {1, 1}}, all)
}

// density ends the program of a density with its value and the parts of its gradient.
func (g *graph) density(logp node, dim int, parts ...node) *ops.Region {
	row := g.add(ops.Concatenate, f64(1, dim), [][]int{{1}}, parts...)
	return g.finish(g.add(ops.Reshape, f64(), nil, logp), g.add(ops.Reshape, f64(dim), nil, row))
}

// Returns are observations of three regimes in turn, from two Weyl sequences.
func Returns() (xs []float64) {
	regime := [][2]float64{{-2, 0.7}, {0, 0.4}, {1.5, 0.9}}
	for i := 1; i <= Observations; i++ {
		_, u := math.Modf(float64(i) * 0.6180339887498949)
		_, v := math.Modf(float64(i) * 0.7548776662466927)
		r := regime[i%len(regime)]
		xs = append(xs, r[0]+r[1]*math.Sqrt(-2*math.Log(u))*math.Cos(2*math.Pi*v))
	}
	return xs
}
