package conformance

import (
	"math"
	"slices"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/draw"
)

// windowing lays windows over a shape: their size, padding, strides and
// dilations.
func windowing(of ops.Shape, window, padding, strides, dilations []int) instr {
	return instr{attrs: [][]int{window, padding, strides, dilations}, types: []ops.Type{{Shape: of}}}
}

var windowings = []instr{
	windowing(shape(), []int{}, []int{}, []int{}, []int{}),
	windowing(shape(300), []int{5}, []int{0, 0}, []int{1}, []int{1}),
	windowing(shape(300), []int{7}, []int{3, 9}, []int{4}, []int{3}),
	windowing(shape(300), []int{4}, []int{-3, -5}, []int{1}, []int{2}),
	windowing(shape(7), []int{3}, []int{9, 4}, []int{2}, []int{1}),
	windowing(shape(13, 17), []int{13, 1}, []int{0, 0, 0, 0}, []int{1, 1}, []int{1, 1}),
	windowing(shape(13, 17), []int{1, 3}, []int{0, 0, 1, 1}, []int{2, 3}, []int{1, 2}),
	windowing(shape(13, 17), []int{2, 2}, []int{1, 0, -2, 1}, []int{1, 1}, []int{1, 1}),
	windowing(shape(2, 16, 16, 3), []int{1, 2, 2, 1}, []int{0, 0, 0, 0, 0, 0, 0, 0}, []int{1, 2, 2, 1}, []int{1, 1, 1, 1}),
	windowing(shape(2, 3, 9, 11), []int{1, 1, 3, 3}, []int{0, 0, 0, 0, 1, 1, 1, 1}, []int{1, 1, 2, 2}, []int{1, 1, 1, 1}),
	windowing(shape(3, 4, 3, 4, 3, 4), []int{2, 2, 2, 2, 2, 2}, []int{1, 0, 0, 1, 1, 1, 0, 0, -1, 0, 0, 0},
		[]int{1, 2, 1, 2, 1, 2}, []int{1, 1, 2, 1, 1, 2}),
}

// scans are lines of every length and place.
func scans() (all []instr) {
	for _, s := range []struct {
		shape ops.Shape
		axis  int
	}{{shape(1), 0}, {shape(33), 0}, {shape(5000), 0}, {shape(200001), 0}, {shape(3, 700), 1}, {shape(700, 3), 0},
		{shape(2, 500, 7), 1}, {shape(4, 3, 2), 0}, {shape(5000, 2), 0}, {shape(1, 40, 1), 1}} {
		for reverse := range 2 {
			all = append(all, instr{attrs: [][]int{{s.axis}, {reverse}}, types: []ops.Type{{Shape: s.shape}}})
		}
	}
	return all
}

// accumulations are the operations that fold elements into more than one
// result; the one that each folds with decides what is exact.
var accumulations = map[ops.Op]ops.Op{
	ops.WindowSum: ops.Sum, ops.WindowProduct: ops.Product, ops.WindowMax: ops.ReduceMax, ops.WindowMin: ops.ReduceMin,
	ops.CumulativeSum: ops.Sum, ops.CumulativeProduct: ops.Product, ops.CumulativeMax: ops.ReduceMax, ops.CumulativeMin: ops.ReduceMin,
}

// Windows and running folds of numbers whose result is exact in any order.
func TestAccumulate(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for op := range ops.Count {
			fold, ok := accumulations[op]
			if !ok {
				continue
			}
			forms := windowings
			if op.Info().Kind == ops.Scan {
				forms = scans()
			}
			for _, dt := range ops.DTypes() {
				if dt.IsComplex() {
					continue
				}
				for _, c := range forms {
					c.op = op
					c.types = []ops.Type{{DType: dt, Shape: c.types[0].Shape}}
					c.infer(t, dt)
					of := 40
					if dt == ops.F32 && !gpu {
						of = 2
					}
					if rarely(of, &c) {
						c.data = [][]byte{foldable(&c, fold)}
						n.near(t, d, host, &c, tolerance{})
					}
				}
			}
		}
		n.report(t)
	})
}

// foldable draws elements that no order of folding rounds.
func foldable(c *instr, fold ops.Op) []byte {
	typ := c.types[0]
	s := newSampler(seed(c.op, typ.DType, typ.Size()))
	v := make([]float64, typ.Size())
	for i := range v {
		switch {
		case fold == ops.Sum && typ.DType.IsFloat() && digits[typ.DType] < 24:
			v[i] = float64(1 - 2*(i%2)) // sums stay small
		case fold == ops.Sum:
			v[i] = float64(s.IntN(5) - 2)
		case fold == ops.Product && typ.DType.IsFloat():
			v[i] = float64(1 - 2*s.IntN(2))
		case typ.DType.IsFloat() && s.IntN(1+typ.Size()/3) == 0:
			v[i] = specials[s.IntN(len(specials))]
		default:
			v[i] = s.Number(typ.DType, ops.Small, false)
		}
	}
	return draw.Encode(v, typ)
}

// Sums at the extremes of windows: many elements are equal, and some NaN.
func TestWindowScatter(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, op := range []ops.Op{ops.WindowScatterMax, ops.WindowScatterMin} {
			for i, form := range windowings {
				for _, dt := range ops.DTypes() {
					if dt.IsComplex() {
						continue
					}
					c, ok := scattering(op, form, dt)
					of := 24
					if dt == ops.F32 && !gpu {
						of = 1
					}
					if !ok || !rarely(of, &c) {
						continue
					}
					s := newSampler(uint64(i))
					c.data = [][]byte{s.natural(c.types[0], 0, 1), s.natural(c.types[1], 0, 1), s.natural(c.types[2], 0, 1)}
					if dt == ops.F32 && c.types[0].Size() > 4 {
						copy(c.data[0], draw.Encode([]float64{math.NaN(), 1, math.Inf(1)}, ops.Type{DType: dt, Shape: ops.Shape{3}}))
					}
					n.near(t, d, host, &c, tolerance{})
				}
			}
		}
		n.report(t)
	})
}

// scattering is a sum over the windows of a form that has no dilations.
func scattering(op ops.Op, form instr, dt ops.DType) (c instr, ok bool) {
	in := ops.Instr{Op: ops.WindowMax, Attrs: slices.Clone(form.attrs)}
	in.Attrs[3] = slices.Repeat([]int{1}, len(form.attrs[3]))
	shapes, err := in.Op.Info().Infer(&in, form.types)
	if err != nil {
		return c, false
	}
	tensor := ops.Type{DType: dt, Shape: form.types[0].Shape}
	return instr{op: op, attrs: form.attrs[:3], out: tensor,
		types: []ops.Type{tensor, {DType: dt, Shape: shapes[0]}, {DType: dt}}}, true
}
