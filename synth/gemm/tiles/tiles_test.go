package tiles

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// A tile has the bits of loops over single numbers, in the order of k.
func TestSum(t *testing.T) {
	t.Run("float32", test[float32])
	t.Run("float64", test[float64])
	t.Run("uint32", test[uint32])
}

func test[T Number](t *testing.T) {
	sum := Of[T]()
	if sum == nil {
		t.Skip("the processor has no vector instructions for tiles")
	}
	size := int(unsafe.Sizeof(T(0)))
	cols := Bytes / size
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		k, step := r.IntN(40), 1+r.IntN(5)
		draw := func(n int) []T {
			list := make([]T, n)
			for i := range list {
				if list[i] = T(1); list[i]/2 == 0 {
					list[i] = T(r.Uint32())
					continue
				}
				switch list[i] = T(math.Ldexp(r.NormFloat64(), r.IntN(60)-30)); r.IntN(60) {
				case 0:
					list[i] = T(math.Inf(1))
				case 1:
					list[i] = T(math.Copysign(0, -1))
				}
			}
			return list
		}
		a, b, sums := draw(Rows*(k*step+1)), draw(k*cols+1), draw(Rows*cols)
		row := func(i int) []T { return a[i*(k*step+1):] }
		want := append([]T(nil), sums...)
		for i := range Rows {
			for j := range cols {
				for l := range k {
					want[i*cols+j] += T(row(i)[l*step] * b[l*cols+j])
				}
			}
		}
		sum(k, step*size, &row(0)[0], &row(1)[0], &row(2)[0], &row(3)[0], &b[0], &sums[0])
		for i, x := range sums {
			if x != want[i] && (x == x || want[i] == want[i]) || math.Signbit(float64(x)) != math.Signbit(float64(want[i])) && x == 0 {
				t.Fatalf("seed %d: sum %d of %d products is %v, want %v", seed, i, k, x, want[i])
			}
		}
	}
}
