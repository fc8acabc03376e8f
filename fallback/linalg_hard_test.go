package fallback

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/test/matrixtest"
)

// Matrices of every hard kind have orthonormal factors whose product they are.
func TestHardMatrices(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 20))
		d := []ops.DType{ops.F32, ops.F64, ops.C64, ops.C128}[r.IntN(4)]
		batch, field, full := []int{1 + r.IntN(2)}, 1, r.IntN(2)
		if d.IsComplex() {
			field = 2
		}
		m, n := matrixtest.Shape(r, []int{6, 20, 60}[r.IntN(3)])
		kind := ""
		draw := func(m, n int, one func() matrixtest.Matrix) Value {
			x := mats{m: m, n: n}
			for range batch[0] {
				y := one()
				kind += "; " + y.Kind
				x.a = append(x.a, y.A...)
			}
			return valueOf(d, batch, x)
		}
		a := draw(m, n, func() matrixtest.Matrix { return matrixtest.Draw(r, m, n, field) })
		h := draw(n, n, func() matrixtest.Matrix { return matrixtest.Hermitian(r, n, field) })
		t.Run(fmt.Sprint(seed, d, batch, m, n, full, kind), func(t *testing.T) {
			k := min(m, n)
			cols, rows := k, k
			if full == 1 {
				cols, rows = m, n
			}
			checkSVD(t, a, batch, factor(t, ops.SVD, [][]int{{full}}, []ops.Type{with(d, batch, m, cols), with(d, batch, k), with(d, batch, rows, n)}, a))
			f := factor(t, ops.QR, [][]int{{full}}, []ops.Type{with(d, batch, m, cols), with(d, batch, cols, n)}, a)
			q := matsOf(f[0])
			near(t, "q r", d, q.times(matsOf(f[1])), matsOf(a))
			near(t, "q^H q", d, q.adjoint().times(q), identity(cols, q.count()))
			f = factor(t, ops.Eigh, nil, []ops.Type{with(d, batch, n), h.Type}, h)
			v := matsOf(f[1])
			near(t, "v w v^H", d, v.times(diagonal(f[0], n, n)).times(v.adjoint()), matsOf(h))
			near(t, "v^H v", d, v.adjoint().times(v), identity(n, v.count()))
		})
	}
}
