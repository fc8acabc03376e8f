package gemm

import (
	"math/rand/v2"
	"testing"

	"nxvk/ops"
)

// How operands lie does not change the order of a sum.
func TestSharesFollowTheShape(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		p := drawProblem(r)
		q := p
		q.A = Strides{Row: 1, Col: p.M + r.IntN(3), Batch: p.A.Batch}
		q.B = Strides{Row: p.N + r.IntN(3), Col: 1, Batch: p.B.Batch}
		if r.IntN(2) == 0 {
			q.B = Strides{Row: 1, Col: p.K + r.IntN(3), Batch: p.B.Batch}
		}
		if p.shares() != q.shares() {
			t.Errorf("%+v is summed in %d shares, %+v in %d", p, p.shares(), q, q.shares())
		}
	}
}

// Few tiles with long sums are shared out, so that all multiprocessors work; products that
// fill them are not.
func TestSharesFillWaves(t *testing.T) {
	for _, c := range []struct {
		m, n, k          int
		shared, gathered bool
	}{
		{557, 1327, 16384, true, true}, {179, 660, 2048, true, true}, {61, 53, 9860, true, true},
		{512, 3136, 4608, false, true}, // which fills a wave of 64x64 tiles, and those do not gather
		{512, 25088, 2304, false, false}, {4096, 4096, 4096, false, false}, {2048, 2048, 2048, false, false},
		{512, 3136, 512, false, false}, {8192, 8192, 8192, false, false}, {300, 300, 200, false, false},
	} {
		p := rowMajor(ops.F32, c.m, c.n, c.k, 1)
		g := &Gather{Axes: make([]Axis, 2)}
		if got := p.shares(); got > 1 != c.shared {
			t.Errorf("%dx%dx%d: %d shares", c.m, c.n, c.k, got)
		}
		if got := g.shares(&p); got > 1 != c.gathered {
			t.Errorf("%dx%dx%d gathered: %d shares", c.m, c.n, c.k, got)
		}
	}
}
