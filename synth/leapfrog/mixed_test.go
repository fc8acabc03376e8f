package leapfrog_test

import (
	"math"
	"testing"

	"nxvk/ops"
	"nxvk/synth/leapfrog"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// mixedCase is a value of six numbers that a density computes from its position, q, and
// from operands of another type, which hold x and, as a scalar, 3. want is the result.
type mixedCase struct {
	name string
	kind func(d ops.DType) bool // the types that it takes
	make func(g *synthtest.Sketch, d ops.DType, q, x, three ops.Operand) ops.Operand
	want func(q, x []float64) []float64
}

func anyReal(d ops.DType) bool  { return !d.IsComplex() }
func anyIndex(d ops.DType) bool { return d.IsInteger() }

var mixedCases = []mixedCase{
	{"pad by a parameter", anyReal, func(g *synthtest.Sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		return g.Do(ops.Pad, ops.F64, q, three, synthtest.Attrs{{1, -1, 0}})
	}, func(q, x []float64) []float64 { return append([]float64{3}, q[:5]...) }},
	{"pad by a literal", anyReal, func(g *synthtest.Sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		return g.Do(ops.Pad, ops.F64, q, g.Num(d, 2), synthtest.Attrs{{-1, 1, 0}})
	}, func(q, x []float64) []float64 { return append(append([]float64(nil), q[1:]...), 2) }},
	{"pad of another type", anyReal, func(g *synthtest.Sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		first := g.Do(ops.Squeeze, ops.F64, g.Do(ops.Slice, ops.F64, q, ops.Shape{1}, synthtest.Attrs{{0}, {1}, {1}}), synthtest.Attrs{{0}})
		return g.Do(ops.Pad, ops.F64, x, first, synthtest.Attrs{{2, -2, 0}})
	}, func(q, x []float64) []float64 { return append([]float64{q[0], q[0]}, x[:4]...) }},
	{"concatenate", anyReal, func(g *synthtest.Sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		all := g.Do(ops.Concatenate, ops.F64, x, q, synthtest.Attrs{{0}})
		return g.Do(ops.Slice, ops.F64, all, ops.Shape{6}, synthtest.Attrs{{3}, {6}, {1}})
	}, func(q, x []float64) []float64 { return append(append([]float64(nil), x[3:]...), q[:3]...) }},
	{"stack", anyReal, func(g *synthtest.Sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		return g.Do(ops.Sum, ops.F64, g.Do(ops.Stack, ops.F64, q, x, synthtest.Attrs{{0}}), synthtest.Attrs{{0}, {0}})
	}, func(q, x []float64) []float64 { return zip(q, x, func(a, b float64) float64 { return a + b }) }},
	{"put_slice", anyReal, func(g *synthtest.Sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		return g.Do(ops.PutSlice, ops.F64, q, g.Do(ops.Slice, d, x, ops.Shape{2}, synthtest.Attrs{{0}, {2}, {1}}), synthtest.Attrs{{2}})
	}, func(q, x []float64) []float64 { return []float64{q[0], q[1], x[0], x[1], q[4], q[5]} }},
	{"select", anyReal, func(g *synthtest.Sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		return g.Do(ops.Select, ops.F64, g.Do(ops.Greater, ops.U8, q, x), q, x)
	}, func(q, x []float64) []float64 { return zip(q, x, math.Max) }},
	{"arithmetic", anyReal, func(g *synthtest.Sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		return g.Do(ops.Multiply, ops.F64, q, g.Do(ops.Add, ops.F64, x, three))
	}, func(q, x []float64) []float64 { return zip(q, x, func(a, b float64) float64 { return a * (b + 3) }) }},
	{"as_type and broadcast", anyReal, func(g *synthtest.Sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		wide := g.Do(ops.BroadcastTo, d, three, ops.Shape{6}, synthtest.Attrs{{}})
		return g.Do(ops.Add, ops.F64, q, g.Do(ops.AsType, ops.F64, wide))
	}, func(q, x []float64) []float64 { return zip(q, q, func(a, _ float64) float64 { return a + 3 }) }},
	{"sum", anyReal, func(g *synthtest.Sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		return g.Do(ops.Add, ops.F64, q, g.Do(ops.Sum, ops.F64, x, synthtest.Attrs{{0}, {1}}))
	}, func(q, x []float64) []float64 {
		all := 0.0
		for _, v := range x {
			all += v
		}
		return zip(q, q, func(a, _ float64) float64 { return a + all })
	}},
	{"dot", anyReal, func(g *synthtest.Sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		outer := g.Do(ops.Reshape, d, x, ops.Shape{6, 1})
		one := g.Do(ops.Slice, ops.F64, q, ops.Shape{1}, synthtest.Attrs{{2}, {1}, {1}})
		return g.Do(ops.Dot, ops.F64, outer, one, synthtest.Attrs{{1}, {}, {0}, {}})
	}, func(q, x []float64) []float64 { return zip(x, x, func(a, _ float64) float64 { return a * q[2] }) }},
	{"take", anyIndex, func(g *synthtest.Sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		return g.Do(ops.Take, ops.F64, q, x, synthtest.Attrs{{0}})
	}, func(q, x []float64) []float64 {
		return zip(x, x, func(a, _ float64) float64 { return q[int(a)] })
	}},
	{"indexed_add", anyReal, func(g *synthtest.Sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		at := g.Do(ops.Reshape, ops.S32, g.Do(ops.Iota, ops.S32, ops.Shape{6}, synthtest.Attrs{{0}}), ops.Shape{6, 1})
		return g.Do(ops.IndexedAdd, ops.F64, q, at, x, synthtest.Attrs{{0}})
	}, func(q, x []float64) []float64 { return zip(q, x, func(a, b float64) float64 { return a + b }) }},
	{"indexed_add by other indices", anyIndex, func(g *synthtest.Sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		return g.Do(ops.IndexedAdd, ops.F64, q, g.Do(ops.Reshape, d, x, ops.Shape{6, 1}), q, synthtest.Attrs{{0}})
	}, func(q, x []float64) []float64 {
		out := append([]float64(nil), q...)
		for i, at := range x {
			out[int(at)] += q[i]
		}
		return out
	}},
}

func zip(a, b []float64, f func(a, b float64) float64) (out []float64) {
	for i := range a {
		out = append(out, f(a[i], b[i]))
	}
	return out
}

// TestLeapfrogMixed: operands of every type take part in what moves and folds elements,
// converted where the result has another.
func TestLeapfrogMixed(t *testing.T) {
	q, x := []float64{0.5, -1.25, 2, 3.5, -0.75, 1}, []float64{0, 1, 0, 1, 1, 0}
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, c := range mixedCases {
			for _, d := range ops.DTypes() {
				if !c.kind(d) || d.Bits() < 4 { // 3 is in all of the others
					continue
				}
				want := 0.0
				for _, v := range c.want(q, x) {
					want += v * v
				}
				if got := mixedDensity(t, target, &c, d, q, x); math.Abs(got-want) > 1e-12 {
					t.Errorf("%s with %v: the density is %v, want %v", c.name, d, got, want)
				}
			}
		}
	})
}

// mixedDensity is the density of a case at q, after a step of no size.
func mixedDensity(t *testing.T, target *lowering.Target, c *mixedCase, d ops.DType, q, x []float64) float64 {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("%s with %v: %v", c.name, d, r)
		}
	}()
	vector := func(d ops.DType, v ...float64) synthtest.Tensor {
		x := synthtest.Tensor{Typ: synthtest.Type(d, len(v)), F: v}
		for _, y := range v {
			x.N = append(x.N, int64(y))
		}
		return x
	}
	g := synthtest.NewSketch(t)
	qs, xs, three := g.Param(ops.F64, len(q)), g.Param(d, len(x)), g.Param(d)
	z := c.make(g, d, qs, xs, three)
	logp := g.Do(ops.Sum, ops.F64, g.Do(ops.Multiply, ops.F64, z, z), synthtest.Attrs{{0}, {0}})
	density := density(g, c.name+d.String(), logp, g.Do(ops.Multiply, ops.F64, qs, g.Num(ops.F64, 1)))
	plan, err := leapfrog.LowerLeapfrog(density, leapfrog.Leapfrog{Instances: 1, Rows: 1}, target)
	if err != nil {
		t.Fatalf("%s with %v: %v", c.name, d, err)
	}
	zeros, scalar := make([]float64, len(q)), vector(d, 3)
	operands := [][]byte{vector(ops.F64, q...).Bytes(), vector(ops.F64, zeros...).Bytes(), vector(ops.F64, zeros...).Bytes(),
		vector(ops.F64, zeros...).Bytes(), vector(ops.F64, 0).Bytes(), vector(ops.U32, 1).Bytes(), vector(d, x...).Bytes(), scalar.Bytes()}
	size := 8 * len(q)
	return synthtest.GetFloat(synthtest.Execute(t, plan, []int{size, size, size, 8}, operands, nil)[3], ops.F64, 0)
}
