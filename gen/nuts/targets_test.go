package nuts

import (
	"fmt"
	"math"
	"testing"
)

// target is a density some of whose expectations are known.
type target struct {
	name    string
	dim     int
	density func(q, grad []float64) float64
	known   []expectation
}

type expectation struct {
	name string
	of   func(q []float64) float64
	want float64
	slop float64 // of want itself
}

// moment is what is known where mean and variance are.
func moment(name string, of func(q []float64) float64, mean, variance float64) []expectation {
	return []expectation{
		{"the mean of " + name, of, mean, 0},
		{"the variance of " + name, func(q []float64) float64 { d := of(q) - mean; return d * d }, variance, 0},
	}
}

func coordinate(i int) func(q []float64) float64 { return func(q []float64) float64 { return q[i] } }

func exponent(q []float64) float64 { return math.Exp(q[0]) }

// autoregression is a normal density of 50 dimensions, each of which has a
// correlation of 0.9 with the one before.
func autoregression() target {
	const dim, r = 50, 0.9
	k := 1 / (1 - r*r)
	t := target{name: "correlated normal", dim: dim, density: func(q, grad []float64) float64 {
		lp := -q[0] * q[0] / 2
		clear(grad)
		grad[0] = -q[0]
		for i := 1; i < dim; i++ {
			d := q[i] - r*q[i-1]
			lp -= k * d * d / 2
			grad[i] -= k * d
			grad[i-1] += k * r * d
		}
		return lp
	}}
	for _, i := range []int{0, 24, 49} {
		t.known = append(t.known, moment(fmt.Sprint("x", i), coordinate(i), 0, 1)...)
	}
	return t
}

// schools is the hierarchy of eight schools, its effects not centred; q is mu,
// the logarithm of tau, and the effects. posteriordb has the means of mu and tau,
// of 10,000 draws.
func schools() target {
	y := []float64{28, 8, -3, 7, -1, 1, 18, 12}
	sigma := []float64{15, 10, 16, 11, 9, 11, 10, 18}
	density := func(q, grad []float64) float64 {
		mu, tau := q[0], math.Exp(q[1])
		c := tau / 5
		lp := -mu*mu/50 + q[1] - math.Log1p(c*c)
		grad[0], grad[1] = -mu/25, 1-2*c*c/(1+c*c)
		for i, z := range q[2:] {
			d := (y[i] - mu - tau*z) / sigma[i]
			lp -= z*z/2 + d*d/2
			grad[0] += d / sigma[i]
			grad[1] += d / sigma[i] * tau * z
			grad[2+i] = d/sigma[i]*tau - z
		}
		return lp
	}
	return target{"eight schools", 10, density, []expectation{
		{"mu", coordinate(0), 4.42, 0.05},
		{"tau", func(q []float64) float64 { return math.Exp(q[1]) }, 3.60, 0.05},
	}}
}

// targets are densities that are known. Those on a half-line are sampled by the
// logarithm, so they have its derivative as a factor.
func targets() []target {
	data, precision := []float64{4.1, 5.3, 4.7, 5.9, 5.0}, 5.01
	return []target{
		{"normal", 1, normals([]float64{0}, []float64{1}), moment("x", coordinate(0), 0, 1)},
		{"conjugate normal", 1, func(q, grad []float64) float64 {
			lp := -q[0] * q[0] / 200
			grad[0] = -q[0] / 100
			for _, y := range data {
				lp -= (y - q[0]) * (y - q[0]) / 2
				grad[0] += y - q[0]
			}
			return lp
		}, moment("mu", coordinate(0), 25/precision, 1/precision)},
		{"half-normal", 1, func(q, grad []float64) float64 {
			x := math.Exp(q[0])
			grad[0] = 1 - x*x
			return q[0] - x*x/2
		}, moment("x", exponent, 0.797885, 0.363380)},
		{"exponential", 1, func(q, grad []float64) float64 {
			x := math.Exp(q[0])
			grad[0] = 1 - 2*x
			return q[0] - 2*x
		}, moment("x", exponent, 0.5, 0.25)},
		autoregression(),
		schools(),
	}
}

// TestTargets: known expectations within four Monte Carlo standard errors for
// each of six seeds, and chains of these seeds that agree.
func TestTargets(t *testing.T) {
	const seeds = 6
	for _, target := range targets() {
		t.Run(target.name, func(t *testing.T) {
			t.Parallel()
			var chains [seeds][]*Draw
			for seed := range chains {
				chains[seed] = sample(t, &density{f: target.density}, target.dim,
					Options{Warmup: 1000, Draws: 2000, Seed: uint64(seed), Target: 0.9})
			}
			for _, e := range target.known {
				var all [][]float64
				for seed, draws := range chains {
					xs := make([]float64, len(draws))
					for i, d := range draws {
						xs[i] = e.of(d.Q)
					}
					mean := mean(xs)
					mcse := math.Sqrt(variance(xs) / effective([][]float64{xs}))
					if off := math.Abs(mean - e.want); !(off <= 4*mcse+e.slop) {
						t.Errorf("seed %d: %s is %.4f, want %.4f, %.1f standard errors away", seed, e.name, mean, e.want, off/mcse)
					}
					all = append(all, xs[:len(xs)/2], xs[len(xs)/2:])
				}
				if r := rhat(all); !(r < 1.01) {
					t.Errorf("%s: R-hat is %.4f, want less than 1.01", e.name, r)
				}
			}
		})
	}
}
