package linalg_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
	"nxvk/test/fewtest"
)

// plainLU factors a matrix in place, a column after the other, and gives the row
// that each came from. The pivot is the first of the largest magnitudes; NaN is one
// where it is on the diagonal alone.
func plainLU(a mat) (from []int) {
	for i := range a.n {
		from = append(from, i)
	}
	for c := range a.n {
		p := c
		for i := c; i < a.n && !math.IsNaN(a.at(c, c)); i++ {
			if math.Abs(a.at(i, c)) > math.Abs(a.at(p, c)) {
				p = i
			}
		}
		for k := range a.n {
			v, w := a.at(c, k), a.at(p, k)
			a.set(c, k, w)
			a.set(p, k, v)
		}
		from[c], from[p] = from[p], from[c]
		if a.at(c, c) == 0 {
			continue
		}
		for i := c + 1; i < a.n; i++ {
			q := a.at(i, c) / a.at(c, c)
			a.set(i, c, q)
			for k := c + 1; k < a.n; k++ {
				a.set(i, k, math.FMA(-q, a.at(c, k), a.at(i, k)))
			}
		}
	}
	return from
}

// The factors are those of elimination a column after the other, bit for bit, where many elements are as large as others,
// columns have no pivot, and one element is NaN.
func TestLUPivots(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for i, target := range []*lowering.Target{synthtest.GPU, small} {
		name := []string{"gpu", "small"}[i]
		for k, n := range []int{1, 2, 5, 8, 13, 17, 32, 33, 64, 90, 150} {
			if !fewtest.OneIn(2, i, k) {
				continue
			}
			count := 2
			if n < 20 { // several in a workgroup
				count = 1 + r.IntN(40)
			}
			x := synthtest.Tensor{Typ: ops.Type{DType: ops.F64, Shape: ops.Shape{count, n, n}}}
			for i := range count * n * n {
				v := float64(r.IntN(5) - 2)
				if i%n == n/3 {
					v = 0
				}
				x.F = append(x.F, v)
			}
			x.F[(n/2)*n+n/2] = math.NaN()
			f := factorize(t, target, ops.LU, []ops.Type{x.Typ, x.Typ, x.Typ}, nil, x)
			for b := range count {
				a := mat{n, n, append([]float64(nil), matrix(x, b, n, n).a...)}
				p, l, u := newMat(n, n), identity(n), newMat(n, n)
				for c, row := range plainLU(a) {
					p.set(row, c, 1)
				}
				for i := range a.a {
					if i/n > i%n {
						l.a[i] = a.a[i]
					} else {
						u.a[i] = a.a[i]
					}
				}
				for i, want := range []mat{p, l, u} {
					for at, v := range matrix(f[i], b, n, n).a {
						if w := want.a[at]; v != w && !(math.IsNaN(v) && math.IsNaN(w)) {
							t.Fatalf("%s: %c of matrix %d of %d: %v in row %d and column %d, want %v", name, "plu"[i], b, n, v, at/n, at%n, w)
						}
					}
				}
			}
		}
	}
}
