package fallback

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/fallback/dense"
	"nxvk/ops"
)

// BenchmarkFactors times each factorisation of one matrix.
func BenchmarkFactors(b *testing.B) {
	r := rand.New(rand.NewPCG(47, 48))
	for _, d := range []ops.DType{ops.F32, ops.C64} {
		for _, n := range []int{4, 64, 256} {
			m, v, s := typ(d, n, n), typ(d, n), typ(d)
			a := gauss(r, m)
			for i := range n { // so that it has a Cholesky factor
				dense.StoreAs[float64](d)(a.Data, i*n+i, []float64{float64(2 * n)})
			}
			for _, c := range []struct {
				op    ops.Op
				attrs [][]int
				outs  []ops.Type
				args  []Value
			}{
				{ops.Cholesky, nil, []ops.Type{m}, []Value{a}},
				{ops.Solve, nil, []ops.Type{v}, []Value{a, gauss(r, v)}},
				{ops.LU, nil, []ops.Type{m, m, m}, []Value{a}},
				{ops.Determinant, nil, []ops.Type{s}, []Value{a}},
				{ops.QR, [][]int{{0}}, []ops.Type{m, m}, []Value{a}},
				{ops.Eigh, nil, []ops.Type{v, m}, []Value{a}},
				{ops.SVD, [][]int{{0}}, []ops.Type{m, v, m}, []Value{a}},
			} {
				b.Run(fmt.Sprintf("%v/%v/%d", c.op, d, n), func(b *testing.B) {
					for b.Loop() {
						factor(b, c.op, c.attrs, c.outs, c.args...)
					}
				})
			}
		}
	}
}
