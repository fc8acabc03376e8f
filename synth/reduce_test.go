package synth

import (
	"math"
	"testing"

	"nxvk/ops"
)

// reduceRef folds along axes in float64.
func reduceRef(x tensor, out ops.Type, axes []int, init float64, f func(a, b float64) float64) tensor {
	acc := make([]float64, out.Size())
	for i := range acc {
		acc[i] = init
	}
	drop := map[int]bool{}
	for _, a := range axes {
		drop[a] = true
	}
	each(x.typ.Shape, func(i int, c []int) {
		o := 0
		for d, n := range x.typ.Shape {
			if !drop[d] {
				o = o*n + c[d]
			}
		}
		acc[o] = f(acc[o], x.at(i))
	})
	y := tensor{typ: out}
	for _, v := range acc {
		if out.DType.IsInteger() {
			y.n = append(y.n, wrap(out.DType, int64(v)))
		} else {
			y.f = append(y.f, v)
		}
	}
	return y
}

func keptShape(s ops.Shape, axes []int) ops.Shape {
	out := ops.Shape{}
	for i, d := range s {
		in := false
		for _, a := range axes {
			in = in || a == i
		}
		if !in {
			out = append(out, d)
		}
	}
	return out
}

var reductions = []struct {
	shape ops.Shape
	axes  []int
}{
	{ops.Shape{}, []int{}}, {ops.Shape{5}, []int{}}, {ops.Shape{1}, []int{0}}, {ops.Shape{7}, []int{0}},
	{ops.Shape{64}, []int{0}}, {ops.Shape{1023}, []int{0}}, {ops.Shape{40001}, []int{0}}, {ops.Shape{3, 300}, []int{1}},
	{ops.Shape{3, 303}, []int{1}}, {ops.Shape{20, 9}, []int{1}}, {ops.Shape{300, 8}, []int{0}}, {ops.Shape{303, 7}, []int{0}},
	{ops.Shape{5, 2048}, []int{1}}, {ops.Shape{4, 3, 5, 8}, []int{0, 2}}, {ops.Shape{4, 6, 5, 7}, []int{1, 3}},
	{ops.Shape{4, 6, 5, 3}, []int{0, 2, 3}}, {ops.Shape{2, 3, 2, 3, 2, 3, 2}, []int{0, 2, 4, 6}},
	{ops.Shape{2, 1500, 4}, []int{1}}, {ops.Shape{2, 70, 3}, []int{0, 1, 2}},
}

func TestSums(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, r := range reductions {
			for _, d := range [][2]ops.DType{{ops.F32, ops.F32}, {ops.U8, ops.U64}, {ops.S32, ops.S8}, {ops.BF16, ops.F32}} {
				x := random(ops.Type{DType: d[0], Shape: r.shape}, 11)
				out := ops.Type{DType: d[1], Shape: keptShape(r.shape, r.axes)}
				got := run(t, target, instr(ops.Sum, out, r.axes, []int{0}), x)
				want := reduceRef(x, out, r.axes, 0, func(a, b float64) float64 { return a + b })
				same(t, describe(ops.Sum, x.typ, out), got, want)
			}
		}
	})
}

func TestReductions(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, r := range reductions {
			x := random(ops.Type{DType: ops.S16, Shape: r.shape}, 12)
			for i := range x.n {
				if x.n[i] == 0 && i%3 != 0 {
					x.n[i] = 5
				}
			}
			kept := keptShape(r.shape, r.axes)
			bool8, s16 := ops.Type{DType: ops.U8, Shape: kept}, ops.Type{DType: ops.S16, Shape: kept}
			for _, c := range []struct {
				op   ops.Op
				out  ops.Type
				init float64
				f    func(a, b float64) float64
			}{
				{ops.ReduceMax, s16, -1e9, math.Max}, {ops.ReduceMin, s16, 1e9, math.Min},
				{ops.All, bool8, 1, func(a, b float64) float64 { return min(a, math.Abs(b)) }},
				{ops.Any, bool8, 0, func(a, b float64) float64 { return min(1, max(a, math.Abs(b))) }},
			} {
				got := run(t, target, instr(c.op, c.out, r.axes, []int{0}), x)
				same(t, describe(c.op, x.typ, c.out), got, reduceRef(x, c.out, r.axes, c.init, c.f))
			}
		}
		x := tensor{typ: typ(ops.F32, 3, 2), f: []float64{1, 2, math.NaN(), 4, math.Inf(-1), math.Inf(-1)}}
		same(t, "max with NaN", run(t, target, instr(ops.ReduceMax, typ(ops.F32, 3), []int{1}, []int{0}), x),
			tensor{typ: typ(ops.F32, 3), f: []float64{2, math.NaN(), math.Inf(-1)}})
		same(t, "product", run(t, target, instr(ops.Product, typ(ops.F32, 1, 2), []int{0}, []int{1}),
			tensor{typ: typ(ops.F32, 3, 2), f: []float64{1, 2, 3, 4, 5, 6}}), tensor{typ: typ(ops.F32, 1, 2), f: []float64{15, 48}})
	})
}

// The order of a sum is what reduceJob documents: the same bits as a plain
// loop that follows it.
func TestSumOrder(t *testing.T) {
	n := 40001
	x := tensor{typ: typ(ops.F32, n)}
	for i := range n {
		x.f = append(x.f, float64(float32(math.Sin(float64(i*i)))))
	}
	for name, target := range targets {
		got := run(t, target, instr(ops.Sum, typ(ops.F32), []int{0}, []int{0}), x).f[0]
		want := orderedSum(target, x.f)
		if got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func orderedSum(target *Target, x []float64) float64 {
	n := len(x)
	lie := reduceShapeOf(ops.Shape{n}, []int{0})
	s := target.schedule(&lie)
	var partials []float64
	for c := range s.chunks {
		var parts []float32
		for p := range s.parts {
			var lane [4]float32
			for four := p; four*4 < s.length; four += s.parts {
				for l := range lane {
					if i := four*4 + l; i < s.length && c*s.length+i < n {
						lane[l] += float32(x[c*s.length+i])
					}
				}
			}
			parts = append(parts, (lane[0]+lane[1])+(lane[2]+lane[3]))
		}
		for half := len(parts) / 2; s.tree && half > 0; half /= 2 {
			for p := range half {
				parts[p] += parts[p+half]
			}
			parts = parts[:half]
		}
		for _, p := range parts {
			partials = append(partials, float64(p))
		}
	}
	if len(partials) == 1 {
		return partials[0]
	}
	return orderedSum(target, partials)
}
