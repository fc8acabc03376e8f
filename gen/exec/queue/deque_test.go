package queue

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A Deque is the slice that the same changes make.
func TestDeque(t *testing.T) {
	draw := rand.New(rand.NewPCG(12, 3))
	var d Deque[int]
	var want []int
	for i := range 100_000 {
		grows := 3 + i/10_000%2 // it is long and short in turns
		switch k := draw.IntN(8); {
		case k == 0:
			d.PushFront(i)
			want = slices.Insert(want, 0, i)
		case k <= grows:
			d.Push(i)
			want = append(want, i)
		default:
			d.Pop()
			want = want[min(1, len(want)):]
		}
		if d.Len() != len(want) || len(want) > 0 && (*d.At(0) != want[0] || *d.At(len(want) - 1) != want[len(want)-1]) {
			t.Fatalf("after change %d: %d elements, want %d", i, d.Len(), len(want))
		}
	}
	if !slices.Equal(d.All(), want) {
		t.Error("other elements")
	}
}
