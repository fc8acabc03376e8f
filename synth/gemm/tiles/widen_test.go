package tiles

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// Widen gives the bits of one, for every number of 16 bits and of 8, and any count of them.
func TestWiden(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	for _, n := range []Narrow{BF16, F16, S8, U8} {
		from := make([]byte, 0, 1<<17)
		for i := range 1 << (8 * n.Size()) {
			from = binary.LittleEndian.AppendUint16(from, uint16(i))[:len(from)+n.Size()]
		}
		for range 40 {
			at := r.IntN(len(from) / n.Size())
			count := 1 + r.IntN(len(from)/n.Size()-at)
			if n.Size() == 2 {
				checkWiden[float32](t, n, from[at*n.Size():], count)
			} else {
				checkWiden[uint32](t, n, from[at*n.Size():], count)
			}
		}
	}
}

func checkWiden[T Number](t *testing.T, n Narrow, from []byte, count int) {
	t.Helper()
	to := make([]T, count+1)
	to[count] = 77
	Widen(n, from, to[:count])
	for i, x := range to[:count] {
		want := one[T](n, from[i*n.Size():])
		if a, b := float64(x), float64(want); a != b && !(math.IsNaN(a) && math.IsNaN(b)) || math.Signbit(a) != math.Signbit(b) {
			t.Fatalf("number %d of %d, type %d: %v, want %v", i, count, n, x, want)
		}
	}
	if to[count] != 77 {
		t.Fatalf("type %d: written beyond %d numbers", n, count)
	}
}

// half is exact where float32 tells.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		sign, exponent, fraction := 1-2*float64(h>>15), h>>10&31, float64(h&1023)
		want := sign * math.Ldexp(1+fraction/1024, exponent-15)
		switch {
		case exponent == 0:
			want = sign * math.Ldexp(fraction/1024, -14)
		case exponent == 31 && fraction == 0:
			want = sign * math.Inf(1)
		case exponent == 31:
			want = math.NaN()
		}
		if got := float64(half(uint16(h))); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("%#x is %v, want %v", h, got, want)
		}
	}
}

// AddRows gives the bits of sums of single numbers, in the order of the rows.
func TestAddRows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 6))
	for range 300 {
		n := []Narrow{BF16, F16, S8, U8, F32}[r.IntN(5)]
		if n.Size() > 1 {
			checkAddRows[float32](t, r, n)
		} else {
			checkAddRows[uint32](t, r, n)
		}
	}
}

func checkAddRows[T Number](t *testing.T, r *rand.Rand, n Narrow) {
	t.Helper()
	rows, columns := 1+r.IntN(11), 1+r.IntN(300)
	step := (columns + r.IntN(3)) * n.Size()
	from := make([]byte, rows*step)
	for i := range from {
		from[i] = byte(r.Uint32()) &^ 0x40 // no infinities
	}
	a, sums := make([]T, rows), make([]T, columns+1)
	for i := range a {
		a[i] = T(r.IntN(1000)) / 3
	}
	want := make([]T, columns+1)
	for i := range sums {
		sums[i] = T(i)
		want[i] = sums[i]
	}
	for l, x := range a {
		for i := range columns {
			want[i] = T(x*one[T](n, from[l*step+i*n.Size():])) + want[i]
		}
	}
	AddRows(n, a, from, step, sums[:columns], make([]T, columns))
	for i := range want {
		if sums[i] != want[i] {
			t.Fatalf("%d rows of %d columns, type %d: column %d is %v, want %v", rows, columns, n, i, sums[i], want[i])
		}
	}
}
