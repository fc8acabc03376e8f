package conformance

import (
	"math/rand/v2"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/fewtest"
)

// drawDot draws a product of matrices: sizes about the edges of tiles, primes, or those
// of a vocabulary beside small ones; either operand transposed, with batches or without, whose axis may be any.
func drawDot(t *testing.T, seed uint64, types [3]ops.DType) instr {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	primes := []int{2, 3, 5, 7, 11, 13, 17, 31, 37, 61, 67, 97, 127, 131, 257}
	size := func() int {
		switch r.IntN(4) {
		case 0:
			return primes[r.IntN(len(primes))]
		case 1:
			return max(1, 32*(1+r.IntN(4))+r.IntN(5)-2)
		}
		return 1 + r.IntN(130)
	}
	m, n, k, batch := size(), size(), size(), 1
	switch r.IntN(6) {
	case 0:
		batch = 2 + r.IntN(4)
	case 1:
		m, n, k = 1+r.IntN(9), []int{50257, 30522, 32003}[r.IntN(3)], 1+r.IntN(9)
	case 2:
		m, k = min(m, 20), 256+r.IntN(900)
	}
	a, b, ca, cb := shape(batch, m, k), shape(batch, k, n), 2, 1
	if r.IntN(2) == 0 {
		a, ca = shape(batch, k, m), 1
	}
	if r.IntN(2) == 0 {
		b, cb = shape(batch, n, k), 2
	}
	c := instr{op: ops.Dot, attrs: [][]int{{ca}, {0}, {cb}, {0}}, types: []ops.Type{{DType: types[0], Shape: a}, {DType: types[1], Shape: b}}}
	for i := range c.types { // the axis of the batch comes behind the first one of the matrix
		if batch > 1 && r.IntN(4) == 0 {
			s := c.types[i].Shape
			c.types[i].Shape, c.attrs[2*i+1] = shape(s[1], s[0], s[2]), []int{1}
			c.attrs[2*i] = []int{map[int]int{1: 0, 2: 2}[c.attrs[2*i][0]]}
		}
	}
	if batch == 1 {
		c.types[0].Shape, c.types[1].Shape = a[1:], b[1:]
		c.attrs = [][]int{{ca - 1}, {}, {cb - 1}, {}}
	}
	c.infer(t, types[2])
	return c
}

// seedCount is how many seeds a test takes: half as many with -short.
func seedCount(few, many int) uint64 {
	if *full {
		return uint64(many)
	}
	return uint64(fewtest.Of(few, (few+1)/2))
}

// Products of any size and layout, of all types, whose sums no order rounds.
func TestDrawnDots(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for seed := range seedCount(2*len(products), 60*len(products)) {
			types := products[seed%uint64(len(products))]
			c, s := drawDot(t, seed, types), newSampler(seed)
			c.data = [][]byte{s.factors(c.types[0]), s.factors(c.types[1])}
			n.near(t, d, host, &c, tolerance{})
		}
		n.report(t)
	})
}

// An epilogue of products of any size and layout gives the bits of separate
// instructions.
func TestDrawnEpilogues(t *testing.T) {
	modes(t, func(t *testing.T, d, _ *exectest.Driver, gpu bool) {
		if target.CPU && !gpu {
			t.Skip("the products of a processor take nothing in")
		}
		fused := 0
		for seed := range seedCount(20, 600) {
			c := drawDot(t, 1000+seed, products[seed/2%6])
			fused += inEpilogue(t, d, seed, &c)
		}
		if fused == 0 {
			t.Error("nothing came into a product")
		}
	})
}
