package conformance

import (
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
)

// narrow draws options of a convolution of so many filters that matrix hardware takes it: groups,
// strides, dilations of both sides, padding, any order of the dimensions.
func (s sampler) narrow() convolution {
	n := 1 + s.IntN(3)
	c := convolution{features: 1, batches: 1}
	for _, p := range []*[]int{&c.in, &c.filter, &c.out} {
		*p = s.Perm(n + 2)
		switch last := make([]int, 0, n+2); s.IntN(3) {
		case 0: // channels first
			for i := range n + 2 {
				last = append(last, i)
			}
			*p = last
		case 1: // channels last
			last = append(last, 0, n+1)
			for i := range n {
				last = append(last, i+1)
			}
			*p = last
		}
	}
	rows := s.IntN(3) == 0 // filters are a matrix as they lie, whose columns are filters, as those of Axon
	if rows {
		c.filter = []int{n + 1, n}
		for i := range n {
			c.filter = append(c.filter, i)
		}
	}
	switch s.IntN(5) {
	case 0:
		c.features = 1 + s.IntN(3)
	case 1:
		c.batches = 1 + s.IntN(3)
	}
	channels, filters, batch, least := 1+s.IntN(40), 9+s.IntN(60), 1+s.IntN(4), 3
	plain := s.IntN(3) == 0 // the input may be read as it lies
	if plain || rows && s.IntN(4) > 0 {
		channels = 8 * (1 + s.IntN(4))
	}
	if rows && s.IntN(4) > 0 {
		filters = 8 * (2 + s.IntN(7))
	}
	if s.IntN(6) == 0 { // enough for tiles to transpose it
		batch, least, channels = 4+s.IntN(4), []int{26, 26, 9}[n-1], max(16, channels)
	}
	plainInput := ops.Shape{c.batches * batch, c.features * channels}
	plainKernel := ops.Shape{filters * c.features * c.batches, channels}
	s.spaces(&c, n, plainInput, plainKernel, spaces{taps: []int{4, 4, 3}[n-1], least: least, sizes: []int{14, 14, 5}[n-1], plain: plain})
	return c
}

// Convolutions of narrow types, whose sums no order rounds.
func TestConvNarrow(t *testing.T) {
	types := []ops.DType{ops.F16, ops.BF16}
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		s := newSampler(15)
		for i := range seedCount(24, 400) {
			x, typ := s.narrow(), types[i%2]
			c := x.instr(t, [3]ops.DType{typ, typ, typ})
			c.data = [][]byte{s.natural(c.types[0], 0, 2), s.natural(c.types[1], 0, 2)}
			n.near(t, d, host, &c, tolerance{})
		}
		n.report(t)
	})
}
