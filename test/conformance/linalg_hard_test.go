package conformance

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/fewtest"
	"nxvk/test/matrixtest"
)

// Matrices of every hard kind have orthonormal factors whose product they are.
func TestHardMatrices(t *testing.T) {
	onGPU(t, func(t *testing.T, d, host *exectest.Driver) {
		var n tally
		seeds := uint64(fewtest.Of(40, 16))
		if *full {
			seeds = 1000
		}
		for seed := range seeds {
			r := rand.New(rand.NewPCG(seed, 21))
			of := []ops.DType{ops.F32, ops.F64, ops.C64, ops.C128}[r.IntN(4)]
			m, cols := matrixtest.Shape(r, []int{8, 40, 100}[seed%3])
			x := hard(r, ops.Type{DType: of, Shape: ops.Shape{1 + r.IntN(3), m, cols}}, matrixtest.Draw)
			h := hard(r, ops.Type{DType: of, Shape: ops.Shape{1 + r.IntN(3), cols, cols}}, func(r *rand.Rand, n, _, field int) matrixtest.Matrix {
				return matrixtest.Hermitian(r, n, field)
			})
			t.Run(fmt.Sprint(seed, x.Type, h.Type), func(t *testing.T) {
				checkSVD(t, &n, d, x, int(seed/2%2))
				checkQR(t, &n, d, x, int(seed/4%2))
				checkEigh(t, &n, d, h)
			})
		}
		n.allOnDevice(t)
	})
}

// hard draws matrices of a type.
func hard(r *rand.Rand, of ops.Type, draw func(r *rand.Rand, m, n, field int) matrixtest.Matrix) numbers {
	x := numbers{Type: of}
	m, n := x.dims()
	for range of.Size() / (m * n) {
		y := draw(r, m, n, x.block())
		for _, v := range y.A {
			if x.v = append(x.v, real(v)); of.DType.IsComplex() {
				x.v = append(x.v, imag(v))
			}
		}
	}
	return x.rounded()
}
