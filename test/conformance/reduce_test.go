package conformance

import (
	"math"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/draw"
)

// lengths are the numbers of elements that make one of a result: one, less
// than a vector, beside the size of a workgroup, several rounds of one, and
// enough for a second pass.
var lengths = []int{1, 7, 255, 257, 4099, 70001}

// folds are the ways in which n elements lie that make one of the result.
func folds(n int) []instr {
	fold := func(axes []int, shape ...int) instr {
		return instr{attrs: [][]int{axes, {0}}, types: []ops.Type{{Shape: shape}}}
	}
	return []instr{
		fold([]int{0}, n),
		fold([]int{1}, 3, n),
		fold([]int{0}, n, 5),
		fold([]int{1}, 2, n, 3),
		fold([]int{0, 1}, 1, n, 4),
		fold([]int{1, 2}, 2, 3, n),
		fold([]int{0, 2}, n, 4, 1),
		fold([]int{0, 2}, 2, 3, n),
		fold([]int{1, 3}, 2, n, 3, 2),
		fold([]int{0, 1, 2}, 1, n, 1),
	}
}

var reductions = []ops.Op{ops.Sum, ops.Product, ops.ReduceMax, ops.ReduceMin, ops.All, ops.Any}

// accumulates are types of results that are not those of the operand.
var accumulates = map[ops.DType]ops.DType{
	ops.U8: ops.U32, ops.S8: ops.S32, ops.S32: ops.S64, ops.U32: ops.U64, ops.BF16: ops.F32, ops.S16: ops.F32,
}

// Reductions of numbers whose result is exact in any order.
func TestReduce(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, op := range reductions {
			for _, dt := range ops.DTypes() {
				if dt.IsComplex() {
					continue
				}
				for _, length := range lengths {
					for _, c := range folds(length) {
						reduction(t, &n, d, host, op, dt, c, gpu)
					}
				}
			}
		}
		n.report(t)
	})
}

func reduction(t *testing.T, n *tally, d, host *exectest.Driver, op ops.Op, dt ops.DType, c instr, gpu bool) {
	c.op = op
	c.types = []ops.Type{{DType: dt, Shape: c.types[0].Shape}}
	out := dt
	if op == ops.All || op == ops.Any {
		out = ops.U8
	} else if wide, ok := accumulates[dt]; ok && len(c.types[0].Shape) == 2 {
		out = wide
	}
	c.infer(t, out)
	of := 120
	if op == ops.Sum && dt == ops.F32 {
		of = 4
	}
	if gpu {
		of *= 2
	}
	if !rarely(of, &c) {
		return
	}
	c.data = [][]byte{exact(&c)}
	n.near(t, d, host, &c, tolerance{})
}

// exact draws the elements of a reduction that no order of folding rounds.
func exact(c *instr) []byte {
	op, typ := c.op, c.types[0]
	each := typ.Size() / c.out.Size()
	s := newSampler(seed(op, typ.DType, each))
	v := make([]float64, typ.Size())
	float := c.out.DType.IsFloat()
	for i := range v {
		seldom := s.IntN(2*each) == 0
		switch {
		case op == ops.All || op == ops.Any:
			v[i] = 0
			if seldom == (op == ops.Any) {
				v[i] = 1
			}
		case op == ops.Product && float:
			v[i] = float64(1 - 2*s.IntN(2))
			if typ.DType.IsFloat() && s.IntN(100) == 0 {
				v[i] *= [2]float64{0.5, 2}[s.IntN(2)]
			}
		case op == ops.Sum && float:
			v[i] = float64(s.IntN(5) - 2)
		case typ.DType.IsFloat() && seldom:
			v[i] = specials[s.IntN(len(specials))]
		default:
			v[i] = s.Number(typ.DType, ops.Small, false)
		}
	}
	return draw.Encode(v, typ)
}

// Sums of real numbers stay within the bound that holds for any order.
func TestSumError(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, dt := range []ops.DType{ops.F32, ops.F64} {
			for _, length := range lengths[1:] {
				for i, c := range folds(length)[:3] {
					if (gpu || dt == ops.F64) && i > 0 && !*full {
						continue
					}
					c.op, c.types[0].DType = ops.Sum, dt
					c.infer(t, dt)
					c.data = [][]byte{newSampler(uint64(length)).draw(c.types[0], ops.Small, true)}
					if got, want, ok := n.both(t, d, host, &c); ok {
						bounded(t, &c, "device", got)
						bounded(t, &c, "host", want)
					}
				}
			}
		}
		n.report(t)
	})
}

// bounded checks sums along the only reduced axis against compensated ones.
func bounded(t *testing.T, c *instr, who string, sums []byte) {
	t.Helper()
	x, got := draw.Decode(c.data[0], c.types[0]), draw.Decode(sums, c.out)
	shape, axis := c.types[0].Shape, c.attrs[0][0]
	stride, rows := shape.Strides()[axis], len(got)
	eps := math.Exp2(float64(-digits[c.out.DType]))
	for row := range rows {
		at := row
		if axis > 0 {
			at = row * shape[axis]
		}
		var sum, rest, size float64
		for i := range shape[axis] {
			y := x[at+i*stride]
			total := sum + y
			if math.Abs(sum) >= math.Abs(y) {
				rest += sum - total + y
			} else {
				rest += y - total + sum
			}
			sum, size = total, size+math.Abs(y)
		}
		if bound := float64(shape[axis]) * eps * size; math.Abs(got[row]-(sum+rest)) > bound {
			t.Errorf("%v: %s: sum %d is %v, want %v within %v", c, who, row, got[row], sum+rest, bound)
			return
		}
	}
}

// The same elements in the same order give the same sum, however the axes that
// are kept and reduced are written.
func TestSumOrder(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		for _, length := range []int{4098, 70002} {
			data := newSampler(uint64(length)).draw(ops.Type{DType: ops.F32, Shape: ops.Shape{3 * length}}, ops.Small, true)
			var first []byte
			for _, shape := range []ops.Shape{{3, length}, {3, length / 2, 2}, {3, 1, 2, length / 2}} {
				c := instr{op: ops.Sum, types: []ops.Type{{DType: ops.F32, Shape: shape}}, data: [][]byte{data},
					attrs: [][]int{ops.AllAxes(len(shape))[1:], {0}}}
				c.infer(t, ops.F32)
				got, err := c.run(d)
				if err != nil {
					t.Fatalf("%v: %v", &c, err)
				}
				if first == nil {
					first = got
				}
				if string(got) != string(first) {
					t.Errorf("%v: got %x, want %x as for one axis", &c, got, first)
				}
			}
		}
	})
}

// Indices of extremes among many equal elements and NaNs.
func TestArgReduce(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, op := range []ops.Op{ops.ArgMax, ops.ArgMin} {
			for _, dt := range ops.DTypes() {
				if dt.IsComplex() {
					continue
				}
				for _, length := range lengths {
					for _, c := range extremes(length) {
						c.op, c.types[0].DType = op, dt
						out := ops.S32
						if length == 7 {
							out = ops.U8
						} else if length == 255 {
							out = ops.S64
						}
						c.infer(t, out)
						of := 40
						if dt == ops.F32 {
							of = 6
						}
						if gpu {
							of *= 2
						}
						if rarely(of, &c) {
							c.data = [][]byte{tied(&c)}
							n.same(t, d, host, &c)
						}
					}
				}
			}
		}
		n.report(t)
	})
}

// extremes are the ways in which a row of n elements lies.
func extremes(n int) (all []instr) {
	for _, tie := range []int{0, 1} {
		for i, shape := range []ops.Shape{{n}, {1, n}, {3, n}, {n, 5}, {2, n, 3}} {
			axis := [...]int{0, -1, 1, 0, 1}[i]
			all = append(all, instr{attrs: [][]int{{axis}, {i % 2}, {tie}}, types: []ops.Type{{Shape: shape}}})
		}
	}
	return all
}

// tied draws few different numbers, and a NaN in about every other row.
func tied(c *instr) []byte {
	s := newSampler(seed(c.op, c.types[0].DType, len(c.types[0].Shape)))
	v := make([]float64, c.types[0].Size())
	each := len(v) / c.out.Size()
	for i := range v {
		v[i] = float64(s.IntN(2))
		if c.types[0].DType.IsFloat() && s.IntN(2*each) == 0 {
			v[i] = [...]float64{math.NaN(), math.Inf(1), math.Inf(-1)}[s.IntN(3)]
		}
	}
	return draw.Encode(v, c.types[0])
}
