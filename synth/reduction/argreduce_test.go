package reduction_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

func TestArgReductions(t *testing.T) {
	shapes := []struct {
		shape ops.Shape
		axis  int
	}{{ops.Shape{}, -1}, {ops.Shape{9}, 0}, {ops.Shape{9}, -1}, {ops.Shape{5000}, 0}, {ops.Shape{5, 700}, 1},
		{ops.Shape{700, 5}, 0}, {ops.Shape{3, 4, 5}, 1}, {ops.Shape{30, 20, 10}, -1}}
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, c := range shapes {
			for _, d := range []ops.DType{ops.F32, ops.U8, ops.S64, ops.F16} {
				x := synthtest.Random(ops.Type{DType: d, Shape: c.shape}, 13)
				for _, op := range []ops.Op{ops.ArgMax, ops.ArgMin} {
					for tie := range 2 {
						out := ops.Type{DType: ops.S64, Shape: ops.Shape{}}
						if c.axis >= 0 {
							out.Shape = synthtest.KeptShape(c.shape, []int{c.axis})
						}
						got := synthtest.Run(t, target, synthtest.Instr(op, out, []int{c.axis}, []int{0}, []int{tie}), x)
						synthtest.Same(t, synthtest.Describe(op, x.Typ, out), got, argRef(x, out, c.axis, op == ops.ArgMax, tie == 1))
					}
				}
			}
		}
		nan := math.NaN()
		x := synthtest.Tensor{Typ: synthtest.Type(ops.F32, 5), F: []float64{1, nan, math.Inf(1), nan, -7}}
		for _, op := range []ops.Op{ops.ArgMax, ops.ArgMin} {
			synthtest.Same(t, "NaN", synthtest.Run(t, target, synthtest.Instr(op, synthtest.Type(ops.U8), []int{0}, []int{0}, []int{0}), x),
				synthtest.Tensor{Typ: synthtest.Type(ops.U8), N: []int64{3}})
		}
	})
}

func argRef(x synthtest.Tensor, out ops.Type, axis int, biggest, high bool) synthtest.Tensor {
	best := make([]int64, out.Size())
	val := make([]float64, out.Size())
	for i := range best {
		best[i] = -1
	}
	synthtest.Each(x.Typ.Shape, func(i int, c []int) {
		o, r := 0, i
		if axis >= 0 {
			r = c[axis]
			for d, n := range x.Typ.Shape {
				if d != axis {
					o = o*n + c[d]
				}
			}
		}
		v := x.At(i)
		if !biggest {
			v = -v
		}
		if best[o] < 0 || v > val[o] || (high && v == val[o]) {
			best[o], val[o] = int64(r), v
		}
	})
	return synthtest.Tensor{Typ: out, N: best}
}

// Extremes of random shapes along a random axis, or of all, are those of plain loops; there
// are few different elements, so that many are equal.
func TestRandomArgReductions(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		r := rand.New(rand.NewPCG(14, 7))
		for range 40 {
			s, axes := randomShape(r, 30000)
			axis := axes[0]
			if r.IntN(4) == 0 {
				axis = -1
			}
			d := []ops.DType{ops.F32, ops.U8, ops.S8, ops.BF16, ops.F64, ops.U64}[r.IntN(6)]
			x, op, tie := synthtest.Random(ops.Type{DType: d, Shape: s}, r.Uint64()), []ops.Op{ops.ArgMax, ops.ArgMin}[r.IntN(2)], r.IntN(2)
			out := ops.Type{DType: ops.S32, Shape: ops.Shape{}}
			if axis >= 0 {
				out.Shape = synthtest.KeptShape(s, []int{axis})
			}
			got := synthtest.Run(t, target, synthtest.Instr(op, out, []int{axis}, []int{0}, []int{tie}), x)
			synthtest.Same(t, synthtest.Describe(op, x.Typ, out), got, argRef(x, out, axis, op == ops.ArgMax, tie == 1))
		}
		least := math.Inf(-1)
		x := synthtest.Tensor{Typ: synthtest.Type(ops.F32, 2, 3), F: []float64{least, least, least, math.NaN(), least, least}}
		for tie, want := range []int64{0, 2} {
			synthtest.Same(t, "infinities", synthtest.Run(t, target, synthtest.Instr(ops.ArgMax, synthtest.Type(ops.S32, 2), []int{1}, []int{0}, []int{tie}), x),
				synthtest.Tensor{Typ: synthtest.Type(ops.S32, 2), N: []int64{want, 0}})
		}
	})
}
