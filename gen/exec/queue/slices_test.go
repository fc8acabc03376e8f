package queue

import (
	"slices"
	"testing"
)

// Each step is taken once and in order, others have their turn between slices, and a step that
// says so is the last one.
func TestInSlices(t *testing.T) {
	for _, n := range []int{0, 1, SliceSteps, SliceSteps + 1, 10*SliceSteps + 7} {
		for _, last := range []int{n, n / 2} {
			var posted []func()
			var taken []int
			slice, longest, ended := 0, 0, 0
			InSlices(func(f func()) { posted = append(posted, f) }, n, func(i int) bool {
				taken = append(taken, i)
				slice++
				longest = max(longest, slice)
				return i < last
			}, func(all bool) {
				if ended++; all != (last >= n) {
					t.Errorf("%d steps, stopped at %d: all is %v", n, last, all)
				}
			})
			for len(posted) > 0 {
				if len(posted) > 1 || ended > 0 {
					t.Fatalf("%d slices are posted, %d have ended it", len(posted), ended)
				}
				f := posted[0]
				posted, slice = nil, 0
				f()
			}
			var want []int
			for i := range min(last+1, n) {
				want = append(want, i)
			}
			if !slices.Equal(taken, want) || ended != 1 || longest > SliceSteps {
				t.Errorf("%d steps, stopped at %d: took %d, ended %d times, the longest slice has %d", n, last, len(taken), ended, longest)
			}
		}
	}
}
