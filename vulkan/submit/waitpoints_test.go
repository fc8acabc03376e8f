package submit

import (
	"slices"
	"testing"

	"nxvk/vulkan/vk"
)

// TestWaitPoints checks the points of other timelines that a batch waits for on the device: of each
// timeline the latest one, also through cancelled submissions, and none that is complete.
func TestWaitPoints(t *testing.T) {
	lines := []*timeline{{semaphore: 10}, {semaphore: 11}, {semaphore: 12}}
	on := func(l int, value uint64) *Submission {
		s := &Submission{timeline: lines[l]}
		s.value.Store(value)
		return s
	}
	void := func(deps ...*Submission) *Submission {
		return NewCancelled(nil, nil, deps)
	}
	lines[2].done.Store(5)
	for _, c := range []struct {
		name string
		deps []*Submission
		want []vk.Point
	}{
		{name: "nothing"},
		{name: "its own timeline", deps: []*Submission{on(0, 3)}},
		{name: "another timeline", deps: []*Submission{on(0, 3), on(1, 4)}, want: []vk.Point{{Semaphore: 11, Value: 4}}},
		{name: "the latest", deps: []*Submission{on(1, 4), on(1, 9), on(1, 7)}, want: []vk.Point{{Semaphore: 11, Value: 9}}},
		{name: "a complete one", deps: []*Submission{on(2, 5), nil}},
		{name: "two timelines", deps: []*Submission{on(2, 6), on(1, 1)}, want: []vk.Point{{Semaphore: 12, Value: 6}, {Semaphore: 11, Value: 1}}},
		{name: "cancelled", deps: []*Submission{void(on(1, 2), void(on(2, 7), nil))},
			want: []vk.Point{{Semaphore: 11, Value: 2}, {Semaphore: 12, Value: 7}}},
	} {
		if got := (&Submission{deps: c.deps}).waitPoints(lines[0]); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
