package bench

import (
	"fmt"
	"math"

	"nxvk/gen/wire"
	"nxvk/ops"
)

// The regime model: 200 observations of a mixture of three normal densities, by
// eight parameters: means, logarithms of deviations, and two logits.
const (
	regimes      = 3
	observations = 200
	parameters   = 3*regimes - 1
	chainSteps   = 32
)

// mixture is the log density of the regime model and its gradient, the regimes in any
// order and all priors normal around zero.
func mixture() *ops.Region {
	g := newGraph(ops.F64)
	q, x := g.param(f64(parameters)), g.param(f64(observations, 1))
	mu, logs, free := g.slice(q, 0, regimes), g.slice(q, regimes, regimes), g.slice(q, 2*regimes, regimes-1)
	lik, dmu, dlogs, dlogits := g.mixed(x, mu, logs, free)
	total := func(n node) node { return g.fold(ops.Sum, n, 1, true) }
	squares := g.point(ops.Add, g.point(ops.Multiply, mu, mu), g.point(ops.Multiply, logs, logs))
	logp := g.point(ops.Add, lik, g.point(ops.Multiply, total(squares), g.number(-0.5)))
	return g.density(logp, parameters, g.point(ops.Subtract, dmu, mu), g.point(ops.Subtract, dlogs, logs), dlogits)
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
	weights := g.point(ops.Multiply, g.point(ops.Exp, logw), g.number(observations))
	all := g.point(ops.Subtract, column(r), weights)
	return lik, dmu, dlogs, g.add(ops.Slice, f64(1, regimes-1), [][]int{{0, 0}, {1, regimes - 1}, {1, 1}}, all)
}

// density ends the program of a density with its value and the parts of its gradient.
func (g *graph) density(logp node, dim int, parts ...node) *ops.Region {
	row := g.add(ops.Concatenate, f64(1, dim), [][]int{{1}}, parts...)
	return g.finish(g.add(ops.Reshape, f64(), nil, logp), g.add(ops.Reshape, f64(dim), nil, row))
}

func f64(shape ...int) ops.Type { return ops.Type{DType: ops.F64, Shape: shape} }

// leapfrogs is a round of a call for steps of so many chains, with its results.
func leapfrogs(chains int) row {
	p := mixture()
	request := &wire.Leapfrog{Density: wire.Density{Program: "mixture", Type: ops.F64, Dim: parameters}, N: chains, K: chainSteps, Step: 0.01}
	for i := range chains * parameters {
		request.Q = append(request.Q, math.Sin(float64(i)))
		request.P = append(request.P, math.Cos(float64(i)))
		request.Metric = append(request.Metric, 1)
	}
	return row{name: fmt.Sprintf("leapfrog: %d steps of %d chains, regime model", chainSteps, chains), rounds: 10,
		run: func(h *harness) error {
			h.Define("mixture", p)
			request.Data = []ops.Operand{h.input(ops.Type{DType: ops.F64, Shape: ops.Shape{observations, 1}}, 0)}
			rows, err := h.Leapfrog(request)
			if err == nil && rows.Release != nil {
				rows.Release()
			}
			return err
		}}
}
