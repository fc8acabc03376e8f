package reduction_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
	"nxvk/synth/synthtest"
)

func TestSums(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, r := range synthtest.Reductions {
			for _, d := range [][2]ops.DType{{ops.F32, ops.F32}, {ops.U8, ops.U64}, {ops.S32, ops.S8}, {ops.BF16, ops.F32}} {
				x := synthtest.Random(ops.Type{DType: d[0], Shape: r.Shape}, 11)
				out := ops.Type{DType: d[1], Shape: synthtest.KeptShape(r.Shape, r.Axes)}
				got := synthtest.Run(t, target, synthtest.Instr(ops.Sum, out, r.Axes, []int{0}), x)
				want := synthtest.ReduceRef(x, out, r.Axes, 0, func(a, b float64) float64 { return a + b })
				synthtest.Same(t, synthtest.Describe(ops.Sum, x.Typ, out), got, want)
			}
		}
	})
}

func TestReductions(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, r := range synthtest.Reductions {
			x := synthtest.Random(ops.Type{DType: ops.S16, Shape: r.Shape}, 12)
			for i := range x.N {
				if x.N[i] == 0 && i%3 != 0 {
					x.N[i] = 5
				}
			}
			kept := synthtest.KeptShape(r.Shape, r.Axes)
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
				got := synthtest.Run(t, target, synthtest.Instr(c.op, c.out, r.Axes, []int{0}), x)
				synthtest.Same(t, synthtest.Describe(c.op, x.Typ, c.out), got, synthtest.ReduceRef(x, c.out, r.Axes, c.init, c.f))
			}
		}
		x := synthtest.Tensor{Typ: synthtest.Type(ops.F32, 3, 2), F: []float64{1, 2, math.NaN(), 4, math.Inf(-1), math.Inf(-1)}}
		synthtest.Same(t, "max with NaN", synthtest.Run(t, target, synthtest.Instr(ops.ReduceMax, synthtest.Type(ops.F32, 3), []int{1}, []int{0}), x),
			synthtest.Tensor{Typ: synthtest.Type(ops.F32, 3), F: []float64{2, math.NaN(), math.Inf(-1)}})
		synthtest.Same(t, "product", synthtest.Run(t, target, synthtest.Instr(ops.Product, synthtest.Type(ops.F32, 1, 2), []int{0}, []int{1}),
			synthtest.Tensor{Typ: synthtest.Type(ops.F32, 3, 2), F: []float64{1, 2, 3, 4, 5, 6}}), synthtest.Tensor{Typ: synthtest.Type(ops.F32, 1, 2), F: []float64{15, 48}})
	})
}

// The order of a sum is what Job documents: the same bits as a plain
// loop that follows it.
func TestSumOrder(t *testing.T) {
	n := 40001
	x := synthtest.Tensor{Typ: synthtest.Type(ops.F32, n)}
	for i := range n {
		x.F = append(x.F, float64(float32(math.Sin(float64(i*i)))))
	}
	for name, target := range synthtest.Targets {
		got := synthtest.Run(t, target, synthtest.Instr(ops.Sum, synthtest.Type(ops.F32), []int{0}, []int{0}), x).F[0]
		want := orderedSum(target, x.F)
		if got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func orderedSum(target *lowering.Target, x []float64) float64 {
	n := len(x)
	lie := strided.NewReduction(ops.Shape{n}, []int{0})
	s := strided.ScheduleOf(target, &lie)
	var partials []float64
	for c := range s.Chunks {
		var parts []float32
		for p := range s.Parts {
			var component [4]float32
			for four := p; four*4 < s.Length; four += s.Parts {
				for l := range component {
					if i := four*4 + l; i < s.Length && c*s.Length+i < n {
						component[l] += float32(x[c*s.Length+i])
					}
				}
			}
			parts = append(parts, (component[0]+component[1])+(component[2]+component[3]))
		}
		for half := len(parts) / 2; s.Tree && half > 0; half /= 2 {
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

// Sums of random shapes along random axes are those of plain loops: of integers, which any
// order adds up to the same.
func TestRandomReductions(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		r := rand.New(rand.NewPCG(14, 6))
		for range 60 {
			s, axes := randomShape(r, 30000)
			d := [][2]ops.DType{{ops.S32, ops.S32}, {ops.U8, ops.U32}, {ops.S16, ops.S64}}[r.IntN(3)]
			x := synthtest.Random(ops.Type{DType: d[0], Shape: s}, r.Uint64())
			out := ops.Type{DType: d[1], Shape: synthtest.KeptShape(s, axes)}
			got := synthtest.Run(t, target, synthtest.Instr(ops.Sum, out, axes, []int{0}), x)
			synthtest.Same(t, synthtest.Describe(ops.Sum, x.Typ, out), got,
				synthtest.ReduceRef(x, out, axes, 0, func(a, b float64) float64 { return a + b }))
		}
	})
}

// Rows that are cut into chunks, and rows that are too long for the registers of a workgroup,
// have all their elements in the sum.
func TestLongRows(t *testing.T) {
	for _, s := range []ops.Shape{{2, 65536}, {2, 70001}, {3, 65538}, {300, 66}, {2, 16385}, {257, 257}} {
		x := synthtest.Random(ops.Type{DType: ops.S32, Shape: s}, 15)
		out := ops.Type{DType: ops.S32, Shape: synthtest.KeptShape(s, []int{1})}
		got := synthtest.Run(t, synthtest.GPU, synthtest.Instr(ops.Sum, out, []int{1}, []int{0}), x)
		synthtest.Same(t, synthtest.Describe(ops.Sum, x.Typ, out), got,
			synthtest.ReduceRef(x, out, []int{1}, 0, func(a, b float64) float64 { return a + b }))
	}
}

// randomShape draws a shape of at most so many elements, long in one dimension, and some of
// its axes.
func randomShape(r *rand.Rand, most int) (s ops.Shape, axes []int) {
	s = make(ops.Shape, 1+r.IntN(4))
	for i := range s {
		s[i] = 1 + r.IntN(9)
	}
	long := r.IntN(len(s))
	s[long] = 1
	s[long] = 1 + int(r.Float64()*r.Float64()*float64(most/s.Size()))
	for i := range s {
		if r.IntN(2) == 0 {
			axes = append(axes, i)
		}
	}
	if axes == nil {
		axes = []int{long}
	}
	return s, axes
}
