package fewtest

import (
	"slices"
	"testing"
)

// Each element of each list is tried, whatever the others are.
func TestOneIn(t *testing.T) {
	for _, sizes := range [][2]int{{2, 2}, {5, 9}, {4, 13}, {3, 3}} {
		for n := 1; n <= min(sizes[0], sizes[1]); n++ {
			count, rows, columns := 0, make([]bool, sizes[0]), make([]bool, sizes[1])
			for i := range rows {
				for k := range columns {
					if oneIn(n, []int{i, k}) {
						rows[i], columns[k] = true, true
						count++
					}
				}
			}
			if slices.Contains(rows, false) || slices.Contains(columns, false) {
				t.Errorf("one in %d of %v leaves an element out: %v %v", n, sizes, rows, columns)
			}
			if most := sizes[0]*sizes[1]/n + max(sizes[0], sizes[1]); count > most {
				t.Errorf("one in %d of %v are %d", n, sizes, count)
			}
		}
	}
}

// The flag decides, and the first and the last step are always there.
func TestSteps(t *testing.T) {
	var got []int
	for i := range 14 {
		if Step(i, 14) {
			got = append(got, i)
		}
	}
	if testing.Short() {
		if want := []int{0, 1, 2, 4, 7, 11, 13}; !slices.Equal(got, want) || Of(9, 2) != 2 {
			t.Errorf("got %v, want %v", got, want)
		}
		return
	}
	if len(got) != 14 || Of(9, 2) != 9 || !OneIn(3, 1) {
		t.Errorf("got %v, want all", got)
	}
}
