package ops

import (
	"fmt"
	"slices"
)

// An index outside its dimension is an error that names the index.
var indexRows = map[Op]Info{
	Gather: indexed("gather", 2, gatherShape,
		"Slices of a tensor. The last dimension of the indices holds a position along the axes; a slice has all of the other axes.",
		Attr{Name: "axes", Kind: Ints}).result(SameType),
	Take: indexed("take", 2, takeShape, "Slices at the given indices along an axis; the indices may have any shape.",
		Attr{Name: "axis", Kind: Int}).result(SameType),
	TakeAlongAxis: indexed("take_along_axis", 2, takeAlongShape, "Elements at the given indices along an axis; the indices have the shape of the result.",
		Attr{Name: "axis", Kind: Int}).result(SameType),
	IndexedAdd: indexed("indexed_add", 3, indexedShape,
		"The tensor, with each update added to the slice at its index; updates of the same slice add up, in an order that depends on "+
			"the indices, the shapes and the device.",
		Attr{Name: "axes", Kind: Ints}),
	IndexedPut: indexed("indexed_put", 3, indexedShape,
		"The tensor, with each update written over the slice at its index; of updates of the same slice the last one stays.",
		Attr{Name: "axes", Kind: Ints}),
}

func indexed(name string, arity int, infer InferShape, doc string, attrs ...Attr) Info {
	return Info{Name: name, Kind: Index, Arity: arity, Infer: infer, Attrs: attrs, Doc: doc}
}

func checkIndices(t Type) error {
	if !t.DType.IsInteger() {
		return fmt.Errorf("the indices must be of an integer type, are of %v", t.DType)
	}
	return nil
}

// checkPositions reports whether the last dimension of indices has a position
// for each of the axes.
func checkPositions(axes []int, t []Type) error {
	if err := checkIndices(t[1]); err != nil {
		return err
	}
	if err := checkAxes(axes, t[0].Shape); err != nil {
		return err
	}
	s := t[1].Shape
	if len(s) == 0 || len(axes) == 0 || s[len(s)-1] != len(axes) {
		return fmt.Errorf("%w of the indices, %v, must end in the number of axes, %d", ErrShape, s, len(axes))
	}
	return nil
}

func gatherShape(in *Instr, t []Type) ([]Shape, error) {
	if err := checkPositions(in.Attrs[0], t); err != nil {
		return nil, err
	}
	s := t[1].Shape
	return one(slices.Concat(s[:len(s)-1], reduced(t[0].Shape, in.Attrs[0], false)))
}

func takeShape(in *Instr, t []Type) ([]Shape, error) {
	axis, s := in.Attrs[0][0], t[0].Shape
	if err := checkIndices(t[1]); err != nil {
		return nil, err
	}
	if err := checkAxes([]int{axis}, s); err != nil {
		return nil, err
	}
	return one(slices.Concat(s[:axis], t[1].Shape, s[axis+1:]))
}

func takeAlongShape(in *Instr, t []Type) ([]Shape, error) {
	axis, s, idx := in.Attrs[0][0], t[0].Shape, t[1].Shape
	if err := checkIndices(t[1]); err != nil {
		return nil, err
	}
	if err := checkAxes([]int{axis}, s); err != nil {
		return nil, err
	}
	if len(idx) != len(s) {
		return nil, fmt.Errorf("%w of the indices, %v, must have as many dimensions as %v", ErrShape, idx, s)
	}
	for i := range s {
		if i != axis && s[i] != idx[i] {
			return nil, fmt.Errorf("%w of the indices, %v, must equal %v at dimension %d", ErrShape, idx, s, i)
		}
	}
	return one(idx)
}

// indexedShape is the shape of the tensor; an update is a slice of it.
func indexedShape(in *Instr, t []Type) ([]Shape, error) {
	if err := checkPositions(in.Attrs[0], t); err != nil {
		return nil, err
	}
	if len(t[1].Shape) != 2 {
		return nil, fmt.Errorf("the indices must have two dimensions, their %w is %v", ErrShape, t[1].Shape)
	}
	want := slices.Concat(t[1].Shape[:1], reduced(t[0].Shape, in.Attrs[0], false))
	if !t[2].Shape.Equal(want) {
		return nil, fmt.Errorf("%w of the updates must be %v, is %v", ErrShape, want, t[2].Shape)
	}
	return one(t[0].Shape)
}
