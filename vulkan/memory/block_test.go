package memory

import (
	"testing"

	"nxvk/vulkan/submit"
)

func TestClasses(t *testing.T) {
	last := uint64(0)
	for c := range classCount {
		size := classSize(c)
		if size <= last || size%alignment != 0 {
			t.Errorf("class %d: size %d after %d", c, size, last)
		}
		if classOf(last+1) != c || classOf(size) != c {
			t.Errorf("class %d: bounds %d and %d are in %d and %d", c, last+1, size, classOf(last+1), classOf(size))
		}
		last = size
	}
	if last != largest {
		t.Errorf("last class is %d, want %d", last, largest)
	}
}

func TestBlockJoinsSpans(t *testing.T) {
	b := &block{size: 100, free: []span{{off: 0, size: 100}}}
	var cut []span
	f := submit.NewFlow()
	for range 10 {
		cut = append(cut, b.take(b.bestFit(10, nil), 10))
	}
	if b.bestFit(1, nil) >= 0 {
		t.Error("room in a full block")
	}
	for _, i := range []int{3, 1, 2, 9, 0, 5, 7, 6, 8, 4} {
		cut[i].uses.wrote = submit.New(f)
		b.give(cut[i])
	}
	if n := len(b.free[0].uses.reads); !b.empty() || n != 10 {
		t.Errorf("after giving all back: %v", b.free)
	}
}
