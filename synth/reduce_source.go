package synth

import (
	"slices"

	"nxvk/ops"
)

// reduceShape is how the elements of a reduction lie in memory, or would if they
// did: all that the order depends on.
type reduceShape struct {
	kept, reduced     []int // dimensions of the result, and the others
	keptAt, reducedAt view
}

// reduceShapeOf divides the dimensions of a tensor into kept and reduced ones.
func reduceShapeOf(s ops.Shape, axes []int) reduceShape {
	var r reduceShape
	for i, stride := range s.Strides() {
		if slices.Contains(axes, i) {
			r.reduced, r.reducedAt.strides = append(r.reduced, s[i]), append(r.reducedAt.strides, stride)
		} else {
			r.kept, r.keptAt.strides = append(r.kept, s[i]), append(r.keptAt.strides, stride)
		}
	}
	r.kept = collapse(r.kept, []*view{&r.keptAt})
	r.reduced = collapse(r.reduced, []*view{&r.reducedAt})
	return r
}

func (r *reduceShape) elements() int { return product(r.kept) * product(r.reduced) }

// columns returns 4 where four neighbouring outputs fold neighbouring elements.
func (r *reduceShape) columns() int {
	last := len(r.kept) - 1
	if r.kept[last]%lanes != 0 || !vectored(&r.keptAt, last, lanes) {
		return 1
	}
	for _, s := range r.reducedAt.strides {
		if s%lanes != 0 {
			return 1
		}
	}
	return lanes
}

// rows reports whether the elements of an output are neighbours.
func (r *reduceShape) rows() bool {
	return len(r.reduced) == 1 && r.reducedAt.strides[0] == 1
}

// source is the source that has the elements.
func (r *reduceShape) source(b buffer) reduceSource {
	return reduceSource{source: source{buffer: b}, keptAt: r.keptAt, reducedAt: r.reducedAt}
}

// reduceSource is what elements of a reduction are made of. Its view, which is
// in two halves, begins at its offset.
type reduceSource struct {
	source
	keptAt, reducedAt view
	still             bool // the same for all elements of an output
	way               way
}

// way is how a source is loaded.
type way uint8

const (
	singly  way = iota // element by element
	steady             // once an output: it is the same for all its elements
	fours              // the fours of an output at once
	columns            // an element of four outputs at once
)

// arrange collapses the dimensions that all sources walk as one, and chooses how
// each is loaded.
func (j *reduceJob) arrange() {
	var kept, reduced []*view
	for i := range j.ins {
		if s := &j.ins[i]; s.kind != fromLiteral {
			s.offset += s.keptAt.offset
			s.keptAt.offset = 0
			kept, reduced = append(kept, &s.keptAt), append(reduced, &s.reducedAt)
		}
	}
	if j.group > 1 { // neighbouring outputs are so in every source or in none
		inner := dense(j.kept)
		kept = append(kept, &inner)
	}
	j.kept, j.reduced = collapse(j.kept, kept), collapse(j.reduced, reduced)
	for i := range j.ins {
		j.ins[i].way = j.wayOf(&j.ins[i])
	}
}

func (j *reduceJob) wayOf(s *reduceSource) way {
	r := len(j.reduced) - 1
	switch {
	case s.kind == fromLiteral, s.still:
		return steady
	case s.kind == fromIndex:
		return singly
	case j.group > 1:
		last := len(j.kept) - 1
		if j.kept[last]%lanes == 0 && s.offset%lanes == 0 && vectored(&s.keptAt, last, lanes) && even(s.reducedAt.strides) {
			return columns
		}
	case s.offset%lanes == 0 && s.reducedAt.strides[r] == 1 && (r == 0 || j.reduced[r]%lanes == 0) &&
		even(s.reducedAt.strides[:r]) && j.evenKept(s):
		return fours
	}
	return singly
}

// even reports whether four divides all strides.
func even(strides []int) bool {
	return !slices.ContainsFunc(strides, func(n int) bool { return n%lanes != 0 })
}

func (j *reduceJob) evenKept(s *reduceSource) bool {
	for i, n := range s.keptAt.strides {
		if n%lanes != 0 && j.kept[i] > 1 {
			return false
		}
	}
	return true
}

// extent is one more than the greatest index that the source reaches.
func (s *reduceSource) extent(j *reduceJob) int {
	return s.offset + s.keptAt.extent(j.kept) + s.reducedAt.extent(j.reduced) - 1
}

// numbers lists the parameters of a source: where it begins, unless at 0, and
// its strides, those along reduced dimensions in groups where it is loaded so.
func (s *reduceSource) numbers() []int {
	var nums []int
	if s.offset != 0 {
		nums = append(nums, s.offset)
	}
	nums = append(nums, s.keptAt.strides...)
	for _, n := range s.reducedAt.strides {
		if s.way == columns {
			n /= lanes
		}
		nums = append(nums, n)
	}
	return nums
}
