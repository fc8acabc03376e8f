package ops

import (
	"fmt"
	"slices"
)

// collectiveRows are the operations that several devices carry out together. Each rank of a mesh has an
// instruction of its own, whose attribute "ranks" is its group. What several ranks give is stacked along the
// first axis, in the order of the group, so that a rank's part is a run of bytes.
var collectiveRows = map[Op]Info{
	AllReduce: collective("all_reduce", sameShape, "The operands of the ranks, combined element by element in the order of the group.", operator),
	AllGather: collective("all_gather", gatheredShape, "The operands of the ranks, stacked along a new first axis."),
	ReduceScatter: collective("reduce_scatter", scatteredShape,
		"The operands of the ranks, combined as by all_reduce; the n-th rank of the group gets part n along the first axis.", operator),
	AllToAll: collective("all_to_all", exchangedShape,
		"Part n along the first axis goes to the n-th rank of the group; the parts that come are stacked in the order of the group."),
	CollectiveBroadcast: collective("collective_broadcast", sameShape, "The operand of the first rank of the group."),
}

var operator = Attr{Name: "operator", Kind: Enum, Names: []string{"sum", "product", "max", "min"}}

// Combiner is the pointwise operation by which a collective with an operator combines two operands.
func (in *Instr) Combiner() Op { return [...]Op{Add, Multiply, Max, Min}[in.Attrs[1][0]] }

// IsCollective reports whether several devices carry out the operation together.
func (o Op) IsCollective() bool { return o >= AllReduce && o <= CollectiveBroadcast }

func collective(name string, infer InferShape, doc string, more ...Attr) Info {
	attrs := append([]Attr{{Name: "ranks", Kind: Ints}}, more...)
	return Info{Name: name, Kind: Control, Arity: 1, Results: 1, Result: SameType, Infer: grouped(infer), Attrs: attrs, Doc: doc}
}

// grouped checks the group of a collective, and its operator, before the shapes.
func grouped(infer InferShape) InferShape {
	return func(in *Instr, t []Type) ([]Shape, error) {
		ranks := in.Attrs[0]
		if len(ranks) == 0 {
			return nil, fmt.Errorf("names no ranks")
		}
		for i, r := range ranks {
			if r < 0 || slices.Contains(ranks[:i], r) {
				return nil, fmt.Errorf("ranks %v must be distinct and not negative", ranks)
			}
		}
		if len(in.Attrs) > 1 && in.Combiner() >= Min && t[0].DType.IsComplex() {
			return nil, fmt.Errorf("complex numbers have no order; combine them by sum or product")
		}
		return infer(in, t)
	}
}

func gatheredShape(in *Instr, t []Type) ([]Shape, error) {
	return one(append(Shape{len(in.Attrs[0])}, t[0].Shape...))
}

// exchangedShape has a part for each rank along its first axis.
func exchangedShape(in *Instr, t []Type) ([]Shape, error) {
	if s, n := t[0].Shape, len(in.Attrs[0]); len(s) == 0 || s[0] != n {
		return nil, fmt.Errorf("the first axis of %w %v must be %d, the number of ranks", ErrShape, s, n)
	}
	return sameShape(in, t)
}

func scatteredShape(in *Instr, t []Type) ([]Shape, error) {
	if _, err := exchangedShape(in, t); err != nil {
		return nil, err
	}
	return one(t[0].Shape[1:])
}
