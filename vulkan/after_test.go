package vulkan

import (
	"slices"
	"testing"

	"nxvk/vulkan/vk"
)

// TestAfterOtherLines says what a batch waits for on the device: of other lines the latest
// point that it needs, also through work that was taken back, and nothing that is over.
func TestAfterOtherLines(t *testing.T) {
	lines := []*line{{timeline: 10}, {timeline: 11}, {timeline: 12}}
	on := func(l int, value uint64) *submission {
		s := &submission{line: lines[l]}
		s.value.Store(value)
		return s
	}
	void := func(deps ...*submission) *submission {
		s := &submission{deps: deps}
		s.void.Store(true)
		return s
	}
	lines[2].done.Store(5)
	for _, c := range []struct {
		name string
		deps []*submission
		want []vk.Point
	}{
		{name: "nothing"},
		{name: "its own line", deps: []*submission{on(0, 3)}},
		{name: "another line", deps: []*submission{on(0, 3), on(1, 4)}, want: []vk.Point{{Semaphore: 11, Value: 4}}},
		{name: "the latest", deps: []*submission{on(1, 4), on(1, 9), on(1, 7)}, want: []vk.Point{{Semaphore: 11, Value: 9}}},
		{name: "what is over", deps: []*submission{on(2, 5), nil}},
		{name: "two lines", deps: []*submission{on(2, 6), on(1, 1)}, want: []vk.Point{{Semaphore: 12, Value: 6}, {Semaphore: 11, Value: 1}}},
		{name: "taken back", deps: []*submission{void(on(1, 2), void(on(2, 7), nil))},
			want: []vk.Point{{Semaphore: 11, Value: 2}, {Semaphore: 12, Value: 7}}},
	} {
		if got := lines[0].after(&batch{sub: &submission{deps: c.deps}}); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
