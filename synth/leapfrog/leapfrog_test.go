package leapfrog_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth/leapfrog"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// model is a density twice: as a program, and in Go.
type model struct {
	name     string
	dim      int
	density  *leapfrog.Density
	data     [][]float64 // of the program, after the position
	gradient func(q []float64) (logp float64, grad []float64)
}

// region ends a sketch as the region of a density.
func density(g *synthtest.Sketch, text string, values ...ops.Operand) *leapfrog.Density {
	r := &ops.Region{Params: g.Params, Body: g.Body, Values: values}
	types, err := r.CheckProgram()
	if err != nil || len(types) != 2 {
		g.T.Fatalf("%s: %v, %v", text, types, err)
	}
	var data []ops.Type
	for _, p := range r.Params[1:] {
		data = append(data, p.Type)
	}
	return leapfrog.NewDensity(r, data, []byte(text))
}

// regression is a logistic regression with a normal prior.
func regression(t *testing.T) model {
	const n, d = 40, 3
	random := rand.New(rand.NewPCG(1, 2))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range x {
		x[i] = random.NormFloat64()
	}
	for i := range y {
		y[i] = float64(random.IntN(2))
	}
	g := synthtest.NewSketch(t)
	q, xs, ys := g.Param(ops.F64, d), g.Param(ops.F64, n, d), g.Param(ops.F64, n)
	z := g.Do(ops.Dot, ops.F64, xs, q, synthtest.Attrs{{1}, {}, {0}, {}})
	each := g.Do(ops.Subtract, ops.F64, g.Do(ops.Multiply, ops.F64, ys, z), g.Do(ops.Log1p, ops.F64, g.Do(ops.Exp, ops.F64, z)))
	prior := g.Do(ops.Multiply, ops.F64, g.Do(ops.Sum, ops.F64, g.Do(ops.Multiply, ops.F64, q, q), synthtest.Attrs{{0}, {0}}), g.Num(ops.F64, -0.5))
	logp := g.Do(ops.Add, ops.F64, g.Do(ops.Sum, ops.F64, each, synthtest.Attrs{{0}, {0}}), prior)
	residual := g.Do(ops.Subtract, ops.F64, ys, g.Do(ops.Sigmoid, ops.F64, z))
	grad := g.Do(ops.Subtract, ops.F64, g.Do(ops.Dot, ops.F64, xs, residual, synthtest.Attrs{{0}, {}, {0}, {}}), q)
	return model{"regression", d, density(g, "regression", logp, grad), [][]float64{x, y}, func(q []float64) (lp float64, out []float64) {
		out = make([]float64, d)
		for k, v := range q {
			lp -= v * v / 2
			out[k] = -v
		}
		for i := range n {
			z := 0.0
			for k, v := range q {
				z += x[i*d+k] * v
			}
			lp += y[i]*z - math.Log1p(math.Exp(z))
			for k := range q {
				out[k] += x[i*d+k] * (y[i] - 1/(1+math.Exp(-z)))
			}
		}
		return lp, out
	}}
}

// groups is a hierarchy: q[0] is the mean of the means of three groups, which
// data choose by an index.
func groups(t *testing.T) model {
	const n, k = 90, 3
	obs, index := make([]float64, n), make([]float64, n)
	for i := range obs {
		obs[i], index[i] = math.Sin(float64(i)), float64(i*i%k)
	}
	g := synthtest.NewSketch(t)
	q, of, xs := g.Param(ops.F64, 1+k), g.Param(ops.S32, n), g.Param(ops.F64, n)
	mu := g.Do(ops.Slice, ops.F64, q, ops.Shape{1}, synthtest.Attrs{{0}, {1}, {1}})
	theta := g.Do(ops.Slice, ops.F64, q, ops.Shape{k}, synthtest.Attrs{{1}, {k}, {1}})
	residual := g.Do(ops.Subtract, ops.F64, xs, g.Do(ops.Take, ops.F64, theta, of, synthtest.Attrs{{0}}))
	off := g.Do(ops.Subtract, ops.F64, theta, mu)
	square := func(x ops.Operand) ops.Operand {
		return g.Do(ops.Sum, ops.F64, g.Do(ops.Multiply, ops.F64, x, x), synthtest.Attrs{{0}, {0}})
	}
	all := g.Do(ops.Add, ops.F64, g.Do(ops.Add, ops.F64, square(residual), square(off)), square(mu))
	logp := g.Do(ops.Multiply, ops.F64, all, g.Num(ops.F64, -0.5))
	zeros := g.Do(ops.Constant, ops.F64, g.Num(ops.F64, 0), ops.Shape{k})
	column := g.Do(ops.Reshape, ops.S32, of, ops.Shape{n, 1})
	toTheta := g.Do(ops.Subtract, ops.F64, g.Do(ops.IndexedAdd, ops.F64, zeros, column, residual, synthtest.Attrs{{0}}), off)
	toMu := g.Do(ops.Subtract, ops.F64, g.Do(ops.Sum, ops.F64, off, synthtest.Attrs{{0}, {1}}), mu)
	padded := g.Do(ops.Pad, ops.F64, toTheta, g.Num(ops.F64, 0), synthtest.Attrs{{1, 0, 0}})
	first := g.Do(ops.PutSlice, ops.F64, padded, toMu, g.Num(ops.S32, 0), synthtest.Attrs{{}}) // as gradients have it
	grad := g.Do(ops.Reverse, ops.F64, g.Do(ops.Reverse, ops.F64, first, synthtest.Attrs{{0}}), synthtest.Attrs{{0}})
	return model{"groups", 1 + k, density(g, "groups", logp, grad), [][]float64{index, obs}, func(q []float64) (lp float64, out []float64) {
		out = make([]float64, 1+k)
		out[0], lp = -q[0], -q[0]*q[0]/2
		for j := range k {
			d := q[1+j] - q[0]
			lp -= d * d / 2
			out[0] += d
			out[1+j] -= d
		}
		for i := range obs {
			j := int(index[i])
			r := obs[i] - q[1+j]
			lp -= r * r / 2
			out[1+j] += r
		}
		return lp, out
	}}
}

// mixture is three normal densities of 150 observations, by their means and the
// logarithms of their deviations: each observation takes part in every number of
// the gradient.
func mixture(t *testing.T) model {
	const n, k = 150, 3
	obs := make([]float64, n)
	for i := range obs {
		obs[i] = 3 * math.Sin(float64(i*i))
	}
	g := synthtest.NewSketch(t)
	q, xs := g.Param(ops.F64, 2*k), g.Param(ops.F64, n, 1)
	mu := g.Do(ops.Slice, ops.F64, q, ops.Shape{k}, synthtest.Attrs{{0}, {k}, {1}})
	logs := g.Do(ops.Slice, ops.F64, q, ops.Shape{k}, synthtest.Attrs{{k}, {k}, {1}})
	scale := g.Do(ops.Exp, ops.F64, g.Do(ops.Negate, ops.F64, logs))
	z := g.Do(ops.Multiply, ops.F64, g.Do(ops.Subtract, ops.F64, xs, mu), scale)
	square := g.Do(ops.Multiply, ops.F64, z, z)
	each := g.Do(ops.Subtract, ops.F64, g.Do(ops.Multiply, ops.F64, square, g.Num(ops.F64, -0.5)), logs)
	most := g.Do(ops.ReduceMax, ops.F64, each, synthtest.Attrs{{1}, {1}})
	e := g.Do(ops.Exp, ops.F64, g.Do(ops.Subtract, ops.F64, each, most))
	total := g.Do(ops.Sum, ops.F64, e, synthtest.Attrs{{1}, {1}})
	lse := g.Do(ops.Add, ops.F64, g.Do(ops.Log, ops.F64, total), most)
	logp := g.Do(ops.Sum, ops.F64, lse, synthtest.Attrs{{0, 1}, {0}})
	r := g.Do(ops.Divide, ops.F64, e, total)
	column := func(x ops.Operand) ops.Operand { return g.Do(ops.Sum, ops.F64, x, synthtest.Attrs{{0}, {0}}) }
	dmu := column(g.Do(ops.Multiply, ops.F64, r, g.Do(ops.Multiply, ops.F64, z, scale)))
	dlogs := column(g.Do(ops.Multiply, ops.F64, r, g.Do(ops.Subtract, ops.F64, square, g.Num(ops.F64, 1))))
	grad := g.Do(ops.Concatenate, ops.F64, dmu, dlogs, synthtest.Attrs{{0}})
	return model{"mixture", 2 * k, density(g, "mixture", logp, grad), [][]float64{obs}, func(q []float64) (lp float64, out []float64) {
		out = make([]float64, 2*k)
		for _, x := range obs {
			var z, e [k]float64
			most, total := math.Inf(-1), 0.0
			for j := range k {
				z[j] = (x - q[j]) * math.Exp(-q[k+j])
				e[j] = -0.5*z[j]*z[j] - q[k+j]
				most = max(most, e[j])
			}
			for j := range k {
				e[j] = math.Exp(e[j] - most)
				total += e[j]
			}
			lp += math.Log(total) + most
			for j := range k {
				out[j] += e[j] / total * z[j] * math.Exp(-q[k+j])
				out[k+j] += e[j] / total * (z[j]*z[j] - 1)
			}
		}
		return lp, out
	}}
}

// walk takes the steps of an instance in Go.
func (m *model) walk(q, p, metric []float64, eps float64, k int) (qs, ps, grads, lps []float64) {
	q, p = slices.Clone(q), slices.Clone(p)
	_, grad := m.gradient(q)
	for range k {
		for i := range q {
			p[i] += eps / 2 * grad[i]
			q[i] += eps * metric[i] * p[i]
		}
		var lp float64
		lp, grad = m.gradient(q)
		for i := range q {
			p[i] += eps / 2 * grad[i]
		}
		qs, ps, grads, lps = append(qs, q...), append(ps, p...), append(grads, grad...), append(lps, lp)
	}
	return qs, ps, grads, lps
}

// TestLeapfrog: the rows of a kernel, instance by instance, against Go.
func TestLeapfrog(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, m := range []model{regression(t), groups(t), mixture(t)} {
			const instances = 3
			steps := []int64{5, 2, 4}
			random := rand.New(rand.NewPCG(3, 4))
			vector := func() synthtest.Tensor {
				x := synthtest.Tensor{Typ: ops.Type{DType: ops.F64, Shape: ops.Shape{instances, m.dim}}}
				for range instances * m.dim {
					x.F = append(x.F, random.NormFloat64())
				}
				return x
			}
			q, p, grad, metric := vector(), vector(), vector(), vector()
			for i, v := range metric.F {
				metric.F[i] = math.Abs(v) + 0.1
			}
			for i := range instances {
				_, g := m.gradient(q.F[i*m.dim : (i+1)*m.dim])
				copy(grad.F[i*m.dim:], g)
			}
			eps := synthtest.Tensor{Typ: ops.Type{DType: ops.F64, Shape: ops.Shape{instances}}, F: []float64{0.05, -0.1, 0.01}}
			counts := synthtest.Tensor{Typ: ops.Type{DType: ops.U32, Shape: ops.Shape{instances}}, N: steps}
			operands := [][]byte{q.Bytes(), p.Bytes(), grad.Bytes(), metric.Bytes(), eps.Bytes(), counts.Bytes()}
			for i, data := range m.data {
				x := synthtest.Tensor{Typ: m.density.Data[i], F: data}
				for _, v := range data {
					x.N = append(x.N, int64(v))
				}
				operands = append(operands, x.Bytes())
			}
			walk := func(i int) (qs, ps, grads, lps []float64) {
				at := func(x synthtest.Tensor) []float64 { return x.F[i*m.dim : (i+1)*m.dim] }
				return m.walk(at(q), at(p), at(metric), eps.F[i], int(steps[i]))
			}
			checkLeapfrog(t, target, m, operands, false, walk)
			for i := range operands[2] { // gradients that nobody looks at
				operands[2][i] = 0xff
			}
			checkLeapfrog(t, target, m, operands, true, walk)
		}
	})
}

// checkLeapfrog compares the rows of three instances with those of walk.
func checkLeapfrog(t *testing.T, target *lowering.Target, m model, operands [][]byte, fresh bool, walk func(i int) (qs, ps, grads, lps []float64)) {
	t.Helper()
	const instances, rows = 3, 5
	plan, err := leapfrog.LowerLeapfrog(m.density, leapfrog.Leapfrog{instances, rows, fresh}, target)
	if err != nil {
		t.Fatal(err)
	}
	vectors, scalars := 8*instances*rows*m.dim, 8*instances*rows
	outs := synthtest.Execute(t, plan, []int{vectors, vectors, vectors, scalars}, operands, nil)
	for i := range instances {
		qs, ps, grads, lps := walk(i)
		for k, want := range [][]float64{qs, ps, grads, lps} {
			width := m.dim
			if k == 3 {
				width = 1
			}
			for n, v := range want {
				got := synthtest.GetFloat(outs[k], ops.F64, i*rows*width+n)
				if !(math.Abs(got-v) <= 1e-13*math.Max(1, math.Abs(v))) {
					t.Fatalf("%s: instance %d, result %d, number %d is %v, want %v", m.name, i, k, n, got, v)
				}
			}
		}
	}
}

// TestLeapfrogMany: any number of instances has the same kernel, and so the same
// bits; a workgroup has an invocation for an observation.
func TestLeapfrogMany(t *testing.T) {
	m := mixture(t)
	var keys [2]string
	for i, n := range []int{1, 1024} {
		plan, err := leapfrog.LowerLeapfrog(m.density, leapfrog.Leapfrog{n, 2, true}, synthtest.GPU)
		if err != nil {
			t.Fatal(err)
		}
		k := plan.Steps[0].Kernel
		if keys[i] = k.IR.String(); k.Local[0] != 256 || plan.Steps[0].Grid[0] != uint32(n) {
			t.Errorf("%d workgroups of %d, want %d of 256", plan.Steps[0].Grid[0], k.Local[0], n)
		}
	}
	if keys[0] != keys[1] {
		t.Error("the kernel depends on the number of instances")
	}
}

// TestLeapfrogSideBySide: exponentials that a sum takes have one branch for what
// is rare in them.
func TestLeapfrogSideBySide(t *testing.T) {
	plan, err := leapfrog.LowerLeapfrog(mixture(t).density, leapfrog.Leapfrog{Instances: 1, Rows: 1}, synthtest.GPU)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(plan.Steps[0].Kernel.IR.String(), "= if "); got != 3 {
		t.Errorf("%d branches that give values, want those of the scales, of three exponentials, and of a logarithm", got)
	}
}

// TestLeapfrogEarly: what is due after a sweep is computed beside it.
func TestLeapfrogEarly(t *testing.T) {
	g := synthtest.NewSketch(t)
	q, xs := g.Param(ops.F64, 1), g.Param(ops.F64, 50)
	rate := g.Do(ops.Exp, ops.F64, q)
	all := g.Do(ops.Sum, ops.F64, g.Do(ops.Multiply, ops.F64, xs, q), synthtest.Attrs{{0}, {1}})
	grad := g.Do(ops.Subtract, ops.F64, all, rate)
	d := density(g, "early", g.Do(ops.Squeeze, ops.F64, grad, synthtest.Attrs{{0}}), grad)
	if _, err := leapfrog.LowerLeapfrog(d, leapfrog.Leapfrog{Instances: 1, Rows: 1}, synthtest.GPU); err != nil {
		t.Fatal(err)
	}
	if s := d.Job.Stages; len(s) != 1 || len(s[0].Alone) != 1 || s[0].Alone[0].Op != ops.Exp || len(s[0].Sweeps) != 1 {
		t.Errorf("stages %+v; want one, of the exponential and the sum", s)
	}
}

// TestLeapfrogStages: what belongs to one observation is computed in one sweep,
// and does not lie in memory.
func TestLeapfrogStages(t *testing.T) {
	m := mixture(t)
	plan, err := leapfrog.LowerLeapfrog(m.density, leapfrog.Leapfrog{Instances: 1, Rows: 1}, synthtest.GPU)
	if err != nil {
		t.Fatal(err)
	}
	barriers := strings.Count(plan.Steps[0].Kernel.IR.String(), "barrier")
	j := m.density.Job
	if len(j.Stages) != 2 || len(j.Stages[0].Alone) != 1 || len(j.Stages[1].Sweeps) != 1 || j.Stages[1].Sweeps[0].Outs != 7 {
		t.Errorf("stages %+v; want one for the scales and one of a sweep of 7 sums", j.Stages)
	}
	if want := 4*m.dim + 3 + 7; j.Size != want {
		t.Errorf("%d numbers of shared memory, want %d: state, scales, sums", j.Size, want)
	}
	if barriers > 7 {
		t.Errorf("%d barriers a step, want 7 at most", barriers)
	}
}
