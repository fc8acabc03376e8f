package synth

import (
	"math"
	"testing"

	"nxvk/ops"
)

// mixedCase is a value of six numbers that a density makes of its position, q, and of
// operands of another type, which hold x and, as a scalar, 3; want is what it is.
type mixedCase struct {
	name string
	kind func(d ops.DType) bool // the types that it takes
	make func(g *sketch, d ops.DType, q, x, three ops.Operand) ops.Operand
	want func(q, x []float64) []float64
}

func anyReal(d ops.DType) bool  { return !d.IsComplex() }
func anyIndex(d ops.DType) bool { return d.IsInteger() }

var mixedCases = []mixedCase{
	{"pad by a parameter", anyReal, func(g *sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		return g.do(ops.Pad, ops.F64, q, three, attrs{{1, -1, 0}})
	}, func(q, x []float64) []float64 { return append([]float64{3}, q[:5]...) }},
	{"pad by a literal", anyReal, func(g *sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		return g.do(ops.Pad, ops.F64, q, g.num(d, 2), attrs{{-1, 1, 0}})
	}, func(q, x []float64) []float64 { return append(append([]float64(nil), q[1:]...), 2) }},
	{"pad of another type", anyReal, func(g *sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		first := g.do(ops.Squeeze, ops.F64, g.do(ops.Slice, ops.F64, q, ops.Shape{1}, attrs{{0}, {1}, {1}}), attrs{{0}})
		return g.do(ops.Pad, ops.F64, x, first, attrs{{2, -2, 0}})
	}, func(q, x []float64) []float64 { return append([]float64{q[0], q[0]}, x[:4]...) }},
	{"concatenate", anyReal, func(g *sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		all := g.do(ops.Concatenate, ops.F64, x, q, attrs{{0}})
		return g.do(ops.Slice, ops.F64, all, ops.Shape{6}, attrs{{3}, {6}, {1}})
	}, func(q, x []float64) []float64 { return append(append([]float64(nil), x[3:]...), q[:3]...) }},
	{"stack", anyReal, func(g *sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		return g.do(ops.Sum, ops.F64, g.do(ops.Stack, ops.F64, q, x, attrs{{0}}), attrs{{0}, {0}})
	}, func(q, x []float64) []float64 { return zip(q, x, func(a, b float64) float64 { return a + b }) }},
	{"put_slice", anyReal, func(g *sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		return g.do(ops.PutSlice, ops.F64, q, g.do(ops.Slice, d, x, ops.Shape{2}, attrs{{0}, {2}, {1}}), attrs{{2}})
	}, func(q, x []float64) []float64 { return []float64{q[0], q[1], x[0], x[1], q[4], q[5]} }},
	{"select", anyReal, func(g *sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		return g.do(ops.Select, ops.F64, g.do(ops.Greater, ops.U8, q, x), q, x)
	}, func(q, x []float64) []float64 { return zip(q, x, math.Max) }},
	{"arithmetic", anyReal, func(g *sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		return g.do(ops.Multiply, ops.F64, q, g.do(ops.Add, ops.F64, x, three))
	}, func(q, x []float64) []float64 { return zip(q, x, func(a, b float64) float64 { return a * (b + 3) }) }},
	{"as_type and broadcast", anyReal, func(g *sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		wide := g.do(ops.BroadcastTo, d, three, ops.Shape{6}, attrs{{}})
		return g.do(ops.Add, ops.F64, q, g.do(ops.AsType, ops.F64, wide))
	}, func(q, x []float64) []float64 { return zip(q, q, func(a, _ float64) float64 { return a + 3 }) }},
	{"sum", anyReal, func(g *sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		return g.do(ops.Add, ops.F64, q, g.do(ops.Sum, ops.F64, x, attrs{{0}, {1}}))
	}, func(q, x []float64) []float64 {
		all := 0.0
		for _, v := range x {
			all += v
		}
		return zip(q, q, func(a, _ float64) float64 { return a + all })
	}},
	{"dot", anyReal, func(g *sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		outer := g.do(ops.Reshape, d, x, ops.Shape{6, 1})
		one := g.do(ops.Slice, ops.F64, q, ops.Shape{1}, attrs{{2}, {1}, {1}})
		return g.do(ops.Dot, ops.F64, outer, one, attrs{{1}, {}, {0}, {}})
	}, func(q, x []float64) []float64 { return zip(x, x, func(a, _ float64) float64 { return a * q[2] }) }},
	{"take", anyIndex, func(g *sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		return g.do(ops.Take, ops.F64, q, x, attrs{{0}})
	}, func(q, x []float64) []float64 {
		return zip(x, x, func(a, _ float64) float64 { return q[int(a)] })
	}},
	{"indexed_add", anyReal, func(g *sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		at := g.do(ops.Reshape, ops.S32, g.do(ops.Iota, ops.S32, ops.Shape{6}, attrs{{0}}), ops.Shape{6, 1})
		return g.do(ops.IndexedAdd, ops.F64, q, at, x, attrs{{0}})
	}, func(q, x []float64) []float64 { return zip(q, x, func(a, b float64) float64 { return a + b }) }},
	{"indexed_add by other indices", anyIndex, func(g *sketch, d ops.DType, q, x, three ops.Operand) ops.Operand {
		return g.do(ops.IndexedAdd, ops.F64, q, g.do(ops.Reshape, d, x, ops.Shape{6, 1}), q, attrs{{0}})
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
	forTargets(t, func(t *testing.T, target *Target) {
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
func mixedDensity(t *testing.T, target *Target, c *mixedCase, d ops.DType, q, x []float64) float64 {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("%s with %v: %v", c.name, d, r)
		}
	}()
	vector := func(d ops.DType, v ...float64) tensor {
		x := tensor{typ: typ(d, len(v)), f: v}
		for _, y := range v {
			x.n = append(x.n, int64(y))
		}
		return x
	}
	g := newSketch(t)
	qs, xs, three := g.param(ops.F64, len(q)), g.param(d, len(x)), g.param(d)
	z := c.make(g, d, qs, xs, three)
	logp := g.do(ops.Sum, ops.F64, g.do(ops.Multiply, ops.F64, z, z), attrs{{0}, {0}})
	density := g.density(c.name+d.String(), logp, g.do(ops.Multiply, ops.F64, qs, g.num(ops.F64, 1)))
	plan, err := LowerLeapfrog(density, Leapfrog{Instances: 1, Rows: 1}, target)
	if err != nil {
		t.Fatalf("%s with %v: %v", c.name, d, err)
	}
	zeros, scalar := make([]float64, len(q)), vector(d, 3)
	operands := [][]byte{vector(ops.F64, q...).bytes(), vector(ops.F64, zeros...).bytes(), vector(ops.F64, zeros...).bytes(),
		vector(ops.F64, zeros...).bytes(), vector(ops.F64, 0).bytes(), vector(ops.U32, 1).bytes(), vector(d, x...).bytes(), scalar.bytes()}
	size := 8 * len(q)
	return getFloat(execute(t, plan, []int{size, size, size, 8}, operands, nil)[3], ops.F64, 0)
}
