package reduction

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"nxvk/fallback/dense"
	"nxvk/fallback/densetest"
	"nxvk/ops"
)

// before is the order of Nx: NaN is larger than everything.
func before(x, y float64) int {
	if x != x || y != y {
		return cmp.Compare(dense.Truth[int64](x != x), dense.Truth[int64](y != y))
	}
	return cmp.Compare(x, y+0) // -0 and 0 are equal to both
}

// Sorting is a stable sort by comparison, whatever the length and the direction,
// to the sign of zeros. The first elements are those of a sort.
func TestSortLine(t *testing.T) {
	for _, n := range []int{1, 2, 7, 64, radixMin - 1, radixMin, 257, 5000} {
		xs := densetest.Peculiar(n, uint64(n))
		for _, descending := range []bool{false, true} {
			want := ops.AllAxes(n)
			slices.SortStableFunc(want, func(i, j int) int {
				if descending {
					i, j = j, i
				}
				return before(xs[i], xs[j])
			})
			for _, first := range []int{1, min(5, n), min(mostFirst, n), n} {
				s := sortLine(nil, xs, descending, first)
				for i, x := range s.items[:first] {
					if x.at != want[i] {
						t.Fatalf("first %d of %d elements, descending %v: place %d has %v, want %v", first, n, descending, i, xs[x.at], xs[want[i]])
					}
				}
				s.end()
			}
		}
	}
}

// Items have their own numbers, also where processors share them.
func TestEachItem(t *testing.T) {
	for _, n := range []int{3, dense.ParallelMin + 1} {
		items, got := make([]keyed, n), make([]int, n)
		for i := range items {
			items[i].at = n - i
		}
		eachItem(nil, items, func(i, at int) { got[i] = at })
		for i, at := range got {
			if at != n-i {
				t.Fatalf("item %d of %d has %d, want %d", i, n, at, n-i)
			}
		}
	}
}

func TestSortIntegers(t *testing.T) {
	places := func(s *sorter) (list []int) {
		for _, x := range s.items {
			list = append(list, x.at)
		}
		return list
	}
	signed := []int64{3, math.MinInt64, -1, math.MaxInt64, 0, 3, -1 << 40}
	if got, want := places(sortLine(nil, signed, false, len(signed))), []int{1, 6, 2, 4, 0, 5, 3}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	unsigned := []uint64{1 << 63, 0, math.MaxUint64, 7}
	if got, want := places(sortLine(nil, unsigned, true, len(unsigned))), []int{2, 0, 3, 1}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
