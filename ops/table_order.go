package ops

import (
	"fmt"
	"slices"
)

// In ascending order -inf is first and NaN last; descending order is the
// reverse. Equal elements keep their order, stable or not.
var orderRows = map[Op]Info{
	Sort: ordering("sort", "The elements, sorted along an axis.").result(SameType),
	Argsort: ordering("argsort", "The indices that sort the elements along an axis.").
		result(IndexType),
	TopK: {Name: "top_k", Kind: Order, Arity: 1, Results: 2, Infer: topKShape,
		Attrs: []Attr{{Name: "k", Kind: Int}},
		Doc:   "The k largest elements of the last axis in descending order, and their indices."},

	CumulativeSum:     scan("cumulative_sum", "Running sum along an axis."),
	CumulativeProduct: scan("cumulative_product", "Running product along an axis."),
	CumulativeMin:     scan("cumulative_min", "Running minimum along an axis; NaN from the first NaN on."),
	CumulativeMax:     scan("cumulative_max", "Running maximum along an axis; NaN from the first NaN on."),
}

func ordering(name, doc string) Info {
	return Info{Name: name, Kind: Order, Arity: 1, Infer: alongAxis, Doc: doc,
		Attrs: []Attr{{Name: "axis", Kind: Int}, {Name: "direction", Kind: Enum, Names: []string{"asc", "desc"}},
			{Name: "stable", Kind: Bool}}}
}

// scan is a cumulative operation along an axis; reversed, it begins at the end.
func scan(name, doc string) Info {
	return Info{Name: name, Kind: Scan, Arity: 1, Result: SameType, Infer: alongAxis, Doc: doc,
		Attrs: []Attr{{Name: "axis", Kind: Int}, {Name: "reverse", Kind: Bool}}}
}

// alongAxis is the shape of the operand, which has the axis of attribute 0. A
// scalar is a line of one element.
func alongAxis(in *Instr, t []Type) ([]Shape, error) {
	if len(t[0].Shape) == 0 {
		return one(Shape{})
	}
	if err := checkAxes(in.Attrs[0][:1], t[0].Shape); err != nil {
		return nil, err
	}
	return one(t[0].Shape)
}

func topKShape(in *Instr, t []Type) ([]Shape, error) {
	s, k := slices.Clone(t[0].Shape), in.Attrs[0][0]
	if len(s) == 0 || k < 1 || k > s[len(s)-1] {
		return nil, fmt.Errorf("k must be between 1 and the last dimension of %w %v, is %d", ErrShape, s, k)
	}
	if d := in.Outs[0].Type.DType; d != t[0].DType {
		return nil, fmt.Errorf("the type of the elements must be %v, is %v", t[0].DType, d)
	}
	if d := in.Outs[1].Type.DType; !d.IsInteger() {
		return nil, fmt.Errorf("the type of the indices must be an integer type, is %v", d)
	}
	s[len(s)-1] = k
	return []Shape{s, s}, nil
}
