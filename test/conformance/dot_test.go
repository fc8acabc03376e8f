package conformance

import (
	"fmt"
	"math"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/draw"
)

// dots are contractions of every form: which axes, and the shapes.
var dots = []struct {
	left, batchLeft, right, batchRight []int
	l, r                               ops.Shape
}{
	{[]int{0}, []int{}, []int{0}, []int{}, shape(1), shape(1)},
	{[]int{0}, []int{}, []int{0}, []int{}, shape(1031), shape(1031)},
	{[]int{1}, []int{}, []int{0}, []int{}, shape(7, 5), shape(5, 3)},
	{[]int{1}, []int{}, []int{0}, []int{}, shape(64, 64), shape(64, 64)},
	{[]int{1}, []int{}, []int{0}, []int{}, shape(65, 130), shape(130, 67)},
	{[]int{1}, []int{}, []int{0}, []int{}, shape(33, 257), shape(257)},
	{[]int{0}, []int{}, []int{0}, []int{}, shape(257), shape(257, 33)},
	{[]int{0}, []int{}, []int{0}, []int{}, shape(31, 40), shape(31, 24)},
	{[]int{1}, []int{}, []int{1}, []int{}, shape(40, 31), shape(24, 31)},
	{[]int{0}, []int{}, []int{1}, []int{}, shape(31, 40), shape(24, 31)},
	{[]int{}, []int{}, []int{}, []int{}, shape(9, 2), shape(5)},
	{[]int{}, []int{}, []int{}, []int{}, shape(), shape()},
	{[]int{2}, []int{0}, []int{1}, []int{0}, shape(3, 17, 9), shape(3, 9, 20)},
	{[]int{1}, []int{0}, []int{2}, []int{0}, shape(3, 9, 17), shape(3, 20, 9)},
	{[]int{3}, []int{0, 1}, []int{2}, []int{0, 1}, shape(2, 3, 5, 8), shape(2, 3, 8, 6)},
	{[]int{1}, []int{0}, []int{1}, []int{0}, shape(40, 13), shape(40, 13)},
	{[]int{}, []int{0}, []int{}, []int{0}, shape(4, 3), shape(4, 5)},
	{[]int{1, 2}, []int{}, []int{0, 1}, []int{}, shape(6, 4, 5), shape(4, 5, 7)},
	{[]int{2, 0}, []int{}, []int{1, 2}, []int{}, shape(4, 6, 5), shape(3, 5, 4)},
	{[]int{1, 3}, []int{0}, []int{3, 2}, []int{0}, shape(2, 3, 4, 5), shape(2, 6, 5, 3)},
	{[]int{1}, []int{}, []int{2}, []int{}, shape(3, 8, 5), shape(2, 3, 8, 4)},
}

// products are the types of operands and result.
var products = [][3]ops.DType{
	{ops.F32, ops.F32, ops.F32}, {ops.F64, ops.F64, ops.F64}, {ops.F16, ops.F16, ops.F16}, {ops.BF16, ops.BF16, ops.BF16},
	{ops.S32, ops.S32, ops.S32}, {ops.S64, ops.S64, ops.S64}, {ops.U8, ops.U8, ops.U8}, {ops.U64, ops.U64, ops.U64},
	{ops.S8, ops.S8, ops.S32}, {ops.U2, ops.U2, ops.U2}, {ops.S4, ops.S4, ops.S4}, {ops.U16, ops.S8, ops.S32},
	{ops.S32, ops.F32, ops.F32}, {ops.F32, ops.U8, ops.F32}, {ops.BF16, ops.F32, ops.F32}, {ops.F32, ops.F64, ops.F64},
	{ops.F16, ops.F16, ops.F32}, {ops.F8, ops.F8, ops.F8}, {ops.F8E4M3, ops.F8E4M3, ops.F8E4M3},
}

// Contractions whose sums no order rounds.
func TestDot(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for i := range dots {
			for _, types := range products {
				c := contraction(t, i, types)
				of := 24
				if types[0] == ops.F32 && types[1] == ops.F32 {
					of = 2
				}
				if gpu {
					of *= 2
				}
				if rarely(of, &c) {
					s := newSampler(uint64(i))
					c.data = [][]byte{s.factors(c.types[0]), s.factors(c.types[1])}
					n.near(t, d, host, &c, tolerance{})
				}
			}
		}
		n.report(t)
	})
}

// contraction is one of dots in some types.
func contraction(t *testing.T, i int, types [3]ops.DType) instr {
	t.Helper()
	x := &dots[i]
	c := instr{op: ops.Dot, attrs: [][]int{x.left, x.batchLeft, x.right, x.batchRight},
		types: []ops.Type{{DType: types[0], Shape: x.l}, {DType: types[1], Shape: x.r}}}
	c.infer(t, types[2])
	return c
}

// factors draws small integers as floats, and any elements as integers.
func (s sampler) factors(typ ops.Type) []byte {
	if typ.DType.IsFloat() {
		return s.natural(typ, -2, 2)
	}
	if typ.DType.Bits() > 8 {
		return s.natural(typ, 0, 1<<14)
	}
	return s.bits(typ)
}

// Products of real numbers stay within the bound that holds for any order.
func TestDotError(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for i := range dots {
			for _, dt := range []ops.DType{ops.F32, ops.F64, ops.F16} {
				c := contraction(t, i, [3]ops.DType{dt, dt, dt})
				of := 2
				if dt != ops.F32 {
					of = 8
				}
				if gpu {
					of *= 2
				}
				if !rarely(of, &c) {
					continue
				}
				s := newSampler(uint64(i))
				c.data = [][]byte{s.draw(c.types[0], ops.Small, true), s.draw(c.types[1], ops.Small, true)}
				if got, want, ok := n.both(t, d, host, &c); ok {
					contracted(t, host, &c, got, want)
				}
			}
		}
		n.report(t)
	})
}

// contracted compares two results of a contraction. Each side sums in the wide
// type, with an error of its unit a term, and then rounds to its own.
func contracted(t *testing.T, host *exectest.Driver, c *instr, got, want []byte) {
	t.Helper()
	terms := 1
	for _, a := range c.attrs[0] {
		terms *= c.types[0].Shape[a]
	}
	unit := math.Exp2(float64(-digits[c.out.DType.Wide()]))*float64(terms+1) + math.Exp2(float64(-digits[c.out.DType]))
	if err := withinProducts(host, c, got, want, 2*unit); err != nil {
		t.Errorf("%v: %v", c, err)
	}
}

// withinProducts compares two results of sums of products. They may differ by so
// many units of the sum of the absolute products, which is what the operation
// makes of the absolute operands.
func withinProducts(host *exectest.Driver, c *instr, got, want []byte, unit float64) error {
	size := *c
	size.out.DType = ops.F64
	size.types, size.data = nil, nil
	for i, typ := range c.types {
		v := draw.Decode(c.data[i], typ)
		for j := range v {
			v[j] = math.Abs(v[j])
		}
		typ.DType = ops.F64
		size.types, size.data = append(size.types, typ), append(size.data, draw.Encode(v, typ))
	}
	raw, err := size.run(host)
	if err != nil {
		return fmt.Errorf("the absolute operands: %w", err)
	}
	g, w, bound := draw.Decode(got, c.out), draw.Decode(want, c.out), draw.Decode(raw, size.out)
	for i := range g {
		if math.Abs(g[i]-w[i]) > unit*bound[i] {
			return fmt.Errorf("element %d is %v, want %v within %v", i, g[i], w[i], unit*bound[i])
		}
	}
	return nil
}
