package conformance

import (
	"math"
	"slices"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/draw"
)

// TestSumsOfNegativeZeros: a sum of negative zeros has the same sign wherever and by whatever kernel a
// device computes it. Drivers drop the addition of a constant zero, which a short loop begins with once it is
// written out.
func TestSumsOfNegativeZeros(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, typ := range []ops.DType{ops.F32, ops.F64, ops.BF16} {
			for terms := 1; terms <= 5; terms++ {
				for _, c := range zeroSums(t, typ, terms) {
					n.near(t, d, host, &c, tolerance{})
				}
			}
		}
		s := newSampler(29)
		for range 150 {
			x := s.convolution()
			c := x.instr(t, filterings[0])
			c.data = zerosAndOnes(c.types)
			n.near(t, d, host, &c, tolerance{})
		}
		n.report(t)
	})
}

// zeroSums are instructions that sum so many terms, each of them -0.
func zeroSums(t *testing.T, typ ops.DType, terms int) (list []instr) {
	add := func(op ops.Op, attrs [][]int, shapes ...ops.Shape) {
		c := instr{op: op, attrs: attrs}
		for _, s := range shapes {
			c.types = append(c.types, ops.Type{DType: typ, Shape: s})
		}
		c.data = zerosAndOnes(c.types)
		c.infer(t, typ)
		list = append(list, c)
	}
	for _, size := range []int{1, 6, 100} {
		add(ops.Sum, [][]int{{1}, {0}}, ops.Shape{size, terms})
		add(ops.Sum, [][]int{{0}, {0}}, ops.Shape{terms, size})
		add(ops.CumulativeSum, [][]int{{1}, {0}}, ops.Shape{size, terms})
		add(ops.Dot, [][]int{{1}, {}, {0}, {}}, ops.Shape{size, terms}, ops.Shape{terms, 3})
		add(ops.WindowSum, [][]int{{1, terms}, {0, 0, 0, 0}, {1, 1}, {1, 1}}, ops.Shape{size, terms + 2})
		add(ops.WindowSum, [][]int{{terms, 1}, {1, 0, 0, 0}, {1, 2}, {1, 1}}, ops.Shape{terms + 2, size})
		x := convolution{input: ops.Shape{2, 1, size + terms - 1}, kernel: ops.Shape{3, 1, terms}}
		c := x.instr(t, [3]ops.DType{typ, typ, typ})
		add(ops.Conv, c.attrs, c.types[0].Shape, c.types[1].Shape)
		x = convolution{input: ops.Shape{2, terms, size}, kernel: ops.Shape{3, terms, 1}}
		c = x.instr(t, [3]ops.DType{typ, typ, typ})
		add(ops.Conv, c.attrs, c.types[0].Shape, c.types[1].Shape)
	}
	return list
}

// zerosAndOnes are operands whose products are -0: the first has -0 everywhere, the others 1.
func zerosAndOnes(types []ops.Type) (data [][]byte) {
	number := math.Copysign(0, -1)
	for _, typ := range types {
		data = append(data, draw.Encode(slices.Repeat([]float64{number}, typ.Size()), typ))
		number = 1
	}
	return data
}
