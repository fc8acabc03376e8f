package reduction

import (
	"slices"

	"nxvk/synth/codegen"
	"nxvk/synth/strided"
)

// source is the source that has the elements.
func source(r *strided.Reduction, b codegen.Buffer) Source {
	return Source{Source: codegen.Source{Buffer: b}, KeptAt: r.KeptAt, ReducedAt: r.ReducedAt}
}

// Source is a source of the elements of a reduction. Its view has two halves,
// the kept and the reduced dimensions, and begins at its offset.
type Source struct {
	codegen.Source
	KeptAt, ReducedAt strided.View
	Still             bool // the same for all elements of an output
	Way               way
}

// way is how a source is loaded.
type way uint8

const (
	Singly  way = iota // element by element
	steady             // once an output: it is the same for all its elements
	Fours              // the fours of an output at once
	columns            // an element of four outputs at once
)

// Arrange merges the dimensions that all sources traverse as one, and chooses
// how each source is loaded.
func (j *Job) Arrange() {
	var kept, reduced []*strided.View
	for i := range j.Ins {
		if s := &j.Ins[i]; s.Kind != codegen.FromLiteral {
			s.Offset += s.KeptAt.Offset
			s.KeptAt.Offset = 0
			kept, reduced = append(kept, &s.KeptAt), append(reduced, &s.ReducedAt)
		}
	}
	if j.Group > 1 { // neighbouring outputs are so in every source or in none
		inner := strided.Dense(j.Kept)
		kept = append(kept, &inner)
	}
	j.Kept, j.Reduced = strided.Collapse(j.Kept, kept), strided.Collapse(j.Reduced, reduced)
	for i := range j.Ins {
		j.Ins[i].Way = j.wayOf(&j.Ins[i])
	}
}

func (j *Job) wayOf(s *Source) way {
	r := len(j.Reduced) - 1
	switch {
	case s.Kind == codegen.FromLiteral, s.Still:
		return steady
	case s.Kind == codegen.FromIndex, j.Order.Apart:
		return Singly
	case j.Group > 1:
		last := len(j.Kept) - 1
		if j.Kept[last]%strided.Components == 0 && s.Offset%strided.Components == 0 && strided.Vectorized(&s.KeptAt, last, strided.Components) && even(s.ReducedAt.Strides) {
			return columns
		}
	case s.Offset%strided.Components == 0 && s.ReducedAt.Strides[r] == 1 && (r == 0 || j.Reduced[r]%strided.Components == 0) &&
		even(s.ReducedAt.Strides[:r]) && j.evenKept(s):
		return Fours
	}
	return Singly
}

// even reports whether all strides are multiples of four.
func even(strides []int) bool {
	return !slices.ContainsFunc(strides, func(n int) bool { return n%strided.Components != 0 })
}

func (j *Job) evenKept(s *Source) bool {
	for i, n := range s.KeptAt.Strides {
		if n%strided.Components != 0 && j.Kept[i] > 1 {
			return false
		}
	}
	return true
}

// extent is one more than the greatest index that the source reaches.
func (s *Source) extent(j *Job) int {
	return s.Offset + s.KeptAt.Extent(j.Kept) + s.ReducedAt.Extent(j.Reduced) - 1
}

// numbers lists the parameters of a source: its offset, unless it is 0, and its
// strides. Strides along reduced dimensions count in fours if the source is
// loaded in fours.
func (s *Source) numbers() []int {
	var nums []int
	if s.Offset != 0 {
		nums = append(nums, s.Offset)
	}
	nums = append(nums, s.KeptAt.Strides...)
	for _, n := range s.ReducedAt.Strides {
		if s.Way == columns {
			n /= strided.Components
		}
		nums = append(nums, n)
	}
	return nums
}
