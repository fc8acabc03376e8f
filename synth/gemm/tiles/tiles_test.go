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

// Columns that lie one after the other are summed, and packed, as loops over single numbers do.
func TestColumns(t *testing.T) {
	sum, pack := ColumnsOf[float32](), PackOf[float32]()
	if sum == nil {
		t.Skip("the processor has no vector instructions for columns")
	}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		fours := r.IntN(9)
		k, step := 4*fours, 4*fours+1+r.IntN(5)
		draw := func(n int) []float32 {
			list := make([]float32, n)
			for i := range list {
				list[i] = float32(math.Ldexp(r.NormFloat64(), r.IntN(60)-30))
			}
			return list
		}
		a, b, sums := draw(k+1), draw(Together*step), draw(Together)
		want, packed := append([]float32(nil), sums...), make([]float32, k*Together+1)
		for j := range want {
			for l := range k {
				want[j] += float32(a[l] * b[j*step+l])
			}
		}
		sum(fours, 4*step, &a[0], &b[0], &sums[0])
		pack(fours, 4*step, &b[0], &packed[0])
		for j := range want {
			if sums[j] != want[j] {
				t.Fatalf("seed %d: sum %d of %d products is %v, want %v", seed, j, k, sums[j], want[j])
			}
			for l := range k {
				if packed[l*Together+j] != b[j*step+l] {
					t.Fatalf("seed %d: element %d of column %d of %d is in another place", seed, l, j, k)
				}
			}
		}
		if packed[k*Together] != 0 {
			t.Fatalf("seed %d: more is packed than %d rows", seed, k)
		}
	}
}
