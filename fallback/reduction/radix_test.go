package reduction

import (
	"cmp"
	"math"
	"nxvk/fallback/dense"
	"nxvk/fallback/densetest"
	"nxvk/ops"
	"slices"
	"testing"
)

// before is the order of Nx: NaN is larger than everything.
func before(x, y float64) int {
	if x != x || y != y {
		return cmp.Compare(dense.Truth[int64](x != x), dense.Truth[int64](y != y))
	}
	return cmp.Compare(x, y+0) // -0 and 0 are equal to both
}

// Sorting is a stable sort by comparison, whatever the length and the direction,
// to the sign of zeros.
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
			sortLine(nil, xs, descending, func(items []keyed) {
				for i, x := range items {
					if x.at != want[i] {
						t.Fatalf("%d elements, descending %v: place %d has %v, want %v", n, descending, i, xs[x.at], xs[want[i]])
					}
				}
			})
		}
	}
}

func TestSortIntegers(t *testing.T) {
	signed := []int64{3, math.MinInt64, -1, math.MaxInt64, 0, 3, -1 << 40}
	sortLine(nil, signed, false, func(items []keyed) {
		got := []int{}
		for _, x := range items {
			got = append(got, x.at)
		}
		if want := []int{1, 6, 2, 4, 0, 5, 3}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
	unsigned := []uint64{1 << 63, 0, math.MaxUint64, 7}
	sortLine(nil, unsigned, true, func(items []keyed) {
		if items[0].at != 2 || items[1].at != 0 || items[2].at != 3 || items[3].at != 1 {
			t.Errorf("got %v", items)
		}
	})
}
