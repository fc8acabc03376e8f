package conformance

import (
	"math"
	"slices"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
)

// convolution is one in the plain layout, and where its dimensions are. A field that
// is nil has its default: ones, no padding, the plain order.
type convolution struct {
	input, kernel                ops.Shape // as they lie
	strides, pads, spread, steps []int
	features, batches            int // groups
	in, filter, out              []int
}

// convolutions are of every form.
var convolutions = []convolution{
	{input: shape(1, 1, 5), kernel: shape(1, 1, 3)},
	{input: shape(2, 3, 9), kernel: shape(5, 3, 2), strides: []int{2}, pads: []int{1, 2}},
	{input: shape(2, 3), kernel: shape(5, 3)},
	{input: shape(2, 3, 8, 7), kernel: shape(4, 3, 3, 3), pads: []int{1, 1, 1, 1}},
	{input: shape(2, 3, 8, 7), kernel: shape(17, 3, 3, 2), pads: []int{2, 0, 0, 1}, strides: []int{2, 3}},
	{input: shape(3, 16, 8, 8), kernel: shape(32, 16, 3, 3), pads: []int{1, 1, 1, 1}},
	{input: shape(2, 5, 6, 7), kernel: shape(6, 5, 2, 2), steps: []int{2, 3}, pads: []int{1, 0, 2, 2}},
	{input: shape(2, 5, 4, 3), kernel: shape(6, 5, 3, 3), spread: []int{2, 3}, pads: []int{2, 2, 2, 3}},
	{input: shape(2, 5, 4, 5), kernel: shape(6, 5, 3, 2), spread: []int{3, 2}, steps: []int{2, 1}, strides: []int{2, 2}, pads: []int{3, -1, -2, 4}},
	{input: shape(2, 4, 9, 9), kernel: shape(8, 4, 3, 3), pads: []int{-1, -2, -2, 0}},
	{input: shape(2, 4, 9, 9), kernel: shape(2, 4, 3, 3), pads: []int{-1, -2, 0, -3}},
	{input: shape(2, 2, 5, 4, 6), kernel: shape(5, 2, 2, 3, 2), pads: []int{1, 0, 1, 1, 0, 2}, strides: []int{2, 1, 2}},
	{input: shape(1, 3, 5, 4, 6), kernel: shape(2, 3, 2, 2, 3), spread: []int{1, 2, 1}, steps: []int{2, 1, 2}, pads: []int{0, 0, -1, 2, 1, 1}},
	{input: shape(1, 1, 3, 4, 3, 4), kernel: shape(4, 1, 2, 2, 2, 2)},
	// one point
	{input: shape(3, 8, 6, 6), kernel: shape(16, 8, 1, 1)},
	{input: shape(3, 8, 6, 6), kernel: shape(16, 8, 1, 1), strides: []int{2, 2}},
	// Filters of one element that leave elements out, with sums that a product shares out.
	{input: shape(2, 300, 9), kernel: shape(70, 300, 1), strides: []int{2}},
	{input: shape(1, 257, 4, 7), kernel: shape(9, 257, 1, 1), strides: []int{3, 1}, pads: []int{0, 0, 0, -2}},
	{input: shape(3, 6, 5, 8), kernel: shape(16, 8, 1, 1), in: []int{0, 3, 1, 2}, out: []int{0, 3, 1, 2}},
	{input: shape(3, 6, 8, 5), kernel: shape(8, 16, 1, 1), in: []int{0, 2, 1, 3}, filter: []int{1, 0, 2, 3}, out: []int{2, 0, 3, 1}},
	// groups
	{input: shape(2, 6, 7, 7), kernel: shape(12, 2, 3, 3), features: 3},
	{input: shape(1, 8, 7, 7), kernel: shape(24, 2, 3, 2), features: 4, pads: []int{1, 1, 0, 1}},
	{input: shape(6, 4, 7, 7), kernel: shape(12, 4, 3, 3), batches: 3},
	{input: shape(4, 4, 7, 5), kernel: shape(4, 4, 2, 3), batches: 2},
	{input: shape(2, 8, 9, 9), kernel: shape(8, 1, 3, 3), features: 8, pads: []int{1, 1, 1, 1}},
	{input: shape(2, 8, 9, 9), kernel: shape(16, 1, 3, 3), features: 8, strides: []int{2, 2}},
	{input: shape(2, 9, 9, 8), kernel: shape(3, 3, 1, 8), features: 8, in: []int{0, 3, 1, 2}, filter: []int{3, 2, 0, 1}, out: []int{0, 3, 1, 2}},
	// channels last, kernels of the TensorFlow order
	{input: shape(2, 8, 8, 3), kernel: shape(3, 3, 3, 16), pads: []int{1, 1, 1, 1}, in: []int{0, 3, 1, 2}, filter: []int{3, 2, 0, 1}, out: []int{0, 3, 1, 2}},
	{input: shape(2, 7, 5, 6), kernel: shape(2, 3, 3, 12), features: 2, in: []int{0, 3, 1, 2}, filter: []int{3, 2, 0, 1}, out: []int{0, 3, 1, 2}},
	// the kernel's gradient: batches are summed, the result's gradient is the kernel
	{input: shape(4, 3, 8, 8), kernel: shape(4, 16, 8, 8), pads: []int{1, 1, 1, 1}, in: []int{1, 0, 2, 3}, filter: []int{1, 0, 2, 3}, out: []int{1, 0, 2, 3}},
	{input: shape(4, 3, 9, 9), kernel: shape(4, 5, 4, 4), steps: []int{2, 2}, in: []int{1, 0, 2, 3}, filter: []int{1, 0, 2, 3}, out: []int{1, 0, 2, 3}},
	{input: shape(2, 8, 9, 9), kernel: shape(2, 8, 7, 7), batches: 8, in: []int{1, 0, 2, 3}, filter: []int{1, 0, 2, 3}, out: []int{1, 0, 2, 3}},
	// enough for several parts on a processor
	{input: shape(2, 64, 24, 24), kernel: shape(8, 64, 3, 3), pads: []int{1, 1, 1, 1}},
	{input: shape(5, 24, 24, 32), kernel: shape(9, 32, 5, 3), pads: []int{1, 1, 1, 1}, in: []int{0, 3, 1, 2}, out: []int{0, 3, 1, 2}},
	{input: shape(33, 32, 12, 12), kernel: shape(5, 32, 3, 3), batches: 1, out: []int{1, 3, 0, 2}},
}

// instr makes an instruction of a convolution, without operands.
func (c *convolution) instr(t *testing.T, d [3]ops.DType) instr {
	t.Helper()
	n := len(c.input) - 2
	or := func(list []int, value, n int) []int {
		if list == nil {
			return slices.Repeat([]int{value}, n)
		}
		return list
	}
	order := func(list []int) []int {
		for i := 0; list == nil || i < n+2-len(list); {
			list = append(list, len(list))
		}
		return list
	}
	in := instr{op: ops.Conv, types: []ops.Type{{DType: d[0], Shape: c.input}, {DType: d[1], Shape: c.kernel}},
		attrs: [][]int{or(c.strides, 1, n), or(c.pads, 0, 2*n), or(c.spread, 1, n), or(c.steps, 1, n),
			{max(1, c.features)}, {max(1, c.batches)}, order(c.in), order(c.filter), order(c.out)}}
	in.infer(t, d[2])
	return in
}

// filterings are the types of input, kernel and result.
var filterings = [][3]ops.DType{
	{ops.F32, ops.F32, ops.F32}, {ops.F64, ops.F64, ops.F64}, {ops.F16, ops.F16, ops.F16}, {ops.BF16, ops.BF16, ops.BF16},
	{ops.F8, ops.F8, ops.F8}, {ops.S32, ops.S32, ops.F32}, {ops.U8, ops.F32, ops.F32}, {ops.F32, ops.F64, ops.F64},
	{ops.S8, ops.BF16, ops.BF16}, {ops.F16, ops.F16, ops.F32}, {ops.S64, ops.F32, ops.F32},
}

// Convolutions whose sums no order rounds.
func TestConv(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for i := range convolutions {
			for _, types := range filterings {
				c := convolutions[i].instr(t, types)
				of := 8
				if types == filterings[0] {
					of = 1
				}
				if gpu {
					of *= 3 // its tiles take long to compile for a processor
				}
				if rarely(of, &c) {
					s := newSampler(uint64(i))
					c.data = [][]byte{s.natural(c.types[0], 0, 2), s.natural(c.types[1], 0, 2)}
					n.near(t, d, host, &c, tolerance{})
				}
			}
		}
		n.allOnDevice(t)
	})
}

// Convolutions with options drawn at random.
func TestConvOptions(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		count := 40
		switch {
		case *full:
			count = 100 // each compiles kernels of its own
		case gpu:
			count = 10
		}
		s := newSampler(11)
		for range count {
			x := s.convolution()
			c := x.instr(t, filterings[0])
			c.data = [][]byte{s.natural(c.types[0], -2, 2), s.natural(c.types[1], -2, 2)}
			n.near(t, d, host, &c, tolerance{})
		}
		n.report(t)
	})
}

// convolution draws options that fit each other.
func (s sampler) convolution() convolution {
	n := 1 + s.IntN(3)
	c := convolution{features: 1, batches: 1, in: s.Perm(n + 2), filter: s.Perm(n + 2), out: s.Perm(n + 2)}
	switch s.IntN(4) {
	case 0:
		c.features = 1 + s.IntN(4)
	case 1:
		c.batches = 1 + s.IntN(4)
	}
	channels, filters := 1+s.IntN(5), 1+s.IntN(9)
	plainInput := ops.Shape{c.batches * (1 + s.IntN(3)), c.features * channels}
	plainKernel := ops.Shape{filters * c.features * c.batches, channels}
	s.spaces(&c, n, plainInput, plainKernel, spaces{taps: 3, least: 1, sizes: 7})
	return c
}

// spaces bounds the spatial dimensions of a drawn convolution.
type spaces struct {
	taps, least, sizes int  // taps are 1 to taps, sizes least to least + sizes - 1
	plain              bool // no gaps, and no padding before
}

// spaces draws n spatial dimensions behind those of the plain shapes, and permutes the
// shapes.
func (s sampler) spaces(c *convolution, n int, plainInput, plainKernel ops.Shape, l spaces) {
	for range n {
		taps, step, spread := 1+s.IntN(l.taps), 1+s.IntN(2), 1+s.IntN(2)
		low, high := s.IntN(5)-2, s.IntN(5)-2
		size := l.least + s.IntN(l.sizes)
		if l.plain {
			spread, low = 1, 0
		}
		for (size-1)*spread+1+low+high < (taps-1)*step+1 || (size-1)*spread+1+min(low, high, 0) < 1 {
			size++
		}
		plainInput, plainKernel = append(plainInput, size), append(plainKernel, taps)
		c.strides, c.steps = append(c.strides, 1+s.IntN(3)), append(c.steps, step)
		c.spread, c.pads = append(c.spread, spread), append(c.pads, low, high)
	}
	c.input, c.kernel = make(ops.Shape, n+2), make(ops.Shape, n+2)
	for i := range n + 2 {
		c.input[c.in[i]], c.kernel[c.filter[i]] = plainInput[i], plainKernel[i]
	}
}

// Convolutions of real numbers stay within the bound that holds for any order.
func TestConvError(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for i := range convolutions {
			c := convolutions[i].instr(t, filterings[0])
			if !rarely(3, &c) {
				continue
			}
			s := newSampler(uint64(i))
			c.data = [][]byte{s.draw(c.types[0], ops.Small, true), s.draw(c.types[1], ops.Small, true)}
			if got, want, ok := n.both(t, d, host, &c); ok {
				if err := convolved(host, &c, got, want); err != nil {
					t.Errorf("%v: %v", &c, err)
				}
			}
		}
		n.report(t)
	})
}

// convolved compares two results of a convolution.
func convolved(host *exectest.Driver, c *instr, got, want []byte) error {
	terms := c.types[1].Shape.Size()
	return withinProducts(host, c, got, want, math.Exp2(float64(-digits[c.out.DType]))*float64(terms+2))
}
