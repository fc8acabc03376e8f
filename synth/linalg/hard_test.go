package linalg_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
	"nxvk/test/fewtest"
	"nxvk/test/matrixtest"
)

// Matrices of every hard kind have orthonormal factors whose product they are. Of larger ones there are fewer: they
// take long to interpret.
func TestHardMatrices(t *testing.T) {
	for seed := range uint64(fewtest.Of(120, 50)) {
		r := rand.New(rand.NewPCG(seed, 20))
		d := []ops.DType{ops.F32, ops.F64, ops.C64, ops.C128}[r.IntN(4)]
		target := []*lowering.Target{synthtest.GPU, small}[r.IntN(2)]
		count, full, side := 1+r.IntN(2), r.IntN(2), 8
		if seed%10 == 9 {
			side = 24
		}
		m, n := matrixtest.Shape(r, side)
		kind := ""
		draw := func(m, n int, one func(m, n, field int) matrixtest.Matrix) synthtest.Tensor {
			x := synthtest.Tensor{Typ: synthtest.Type(d, count, m, n)}
			for range count {
				y := one(m, n, map[bool]int{false: 1, true: 2}[d.IsComplex()])
				kind += "; " + y.Kind
				for _, v := range y.A {
					if x.F = append(x.F, synthtest.Re(v)); d.IsComplex() {
						x.F = append(x.F, imag(v))
					}
				}
			}
			return rounded(x)
		}
		var x synthtest.Tensor
		op := []ops.Op{ops.SVD, ops.SVD, ops.QR, ops.Eigh}[seed%4]
		if op == ops.Eigh {
			m = n
			x = draw(n, n, func(m, n, field int) matrixtest.Matrix { return matrixtest.Hermitian(r, n, field) })
		} else {
			x = draw(m, n, func(m, n, field int) matrixtest.Matrix { return matrixtest.Draw(r, m, n, field) })
		}
		t.Run(fmt.Sprint(seed, op, x.Typ, full, kind), func(t *testing.T) {
			switch {
			case op == ops.SVD && d.IsComplex():
				checkComplexSVD(t, target, x, full)
			case op == ops.SVD:
				checkSVD(t, target, x, full)
			case op == ops.QR && d.IsComplex():
				checkComplexQR(t, target, x, full)
			case op == ops.QR:
				checkQR(t, target, x, full)
			case d.IsComplex():
				checkComplexEigh(t, target, x)
			default:
				checkEigh(t, target, x)
			}
		})
	}
}
