package synth

import "nxvk/synth/kernel"

// source is one input of a mapJob: a buffer, a literal, or the number that its
// view gives for each point.
type source struct {
	view
	kind   sourceKind
	buffer buffer
	lit    literal
	shifts []shift
}

// shift moves a view by an index that another source has: stride elements for
// each one of it. The index is brought into [0, limit] first, so that no value of
// it leaves the buffer.
type shift struct {
	from          int // the source, which comes earlier
	limit, stride int
	per           int // what the index is divided by, if it is above 1
}

type sourceKind uint8

const (
	fromBuffer sourceKind = iota
	fromLiteral
	fromIndex   // the index itself, of the index type of the program
	fromProduct // the result of a product, which the kernel has just computed
	fromInside  // whether none of the shifts brings an index into bounds, or divides with a rest
)

// walks reports whether the source has a place for each point.
func (s *source) walks() bool { return s.kind == fromBuffer || s.kind == fromIndex }

// parts is how many values the source gives for a point.
func (s *source) parts() int {
	switch s.kind {
	case fromBuffer:
		return s.buffer.parts()
	case fromLiteral:
		return partsOf(s.lit.as)
	}
	return 1
}

// split divides what the source gives for some points, one behind the other.
func (s *source) split(vs []kernel.Value) [][]kernel.Value {
	var points [][]kernel.Value
	for n := s.parts(); len(vs) > 0; vs = vs[n:] {
		points = append(points, vs[:n:n])
	}
	return points
}

// farthest is how far shifts move a view at most.
func farthest(shifts []shift) int {
	n := 0
	for _, h := range shifts {
		n += h.limit * max(h.stride, 0)
	}
	return n
}
