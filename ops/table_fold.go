package ops

import "fmt"

func fold(name string, infer InferShape, attrs []Attr, doc string) Info {
	return Info{Name: name, Kind: Fold, Arity: 2, Doc: doc, Closed: true,
		Infer: folding(infer), Attrs: append(attrs, Attr{Name: "function", Kind: Block})}
}

// folding checks the function and the initial value of a reduction, and takes
// its shape from the reduction of that form.
func folding(infer InferShape) InferShape {
	return func(in *Instr, t []Type) ([]Shape, error) {
		if len(t[1].Shape) != 0 {
			return nil, fmt.Errorf("the initial value must be a scalar, %w is %v", ErrShape, t[1].Shape)
		}
		if err := checkFold(in); err != nil {
			return nil, err
		}
		return infer(in, t)
	}
}

var foldRows = map[Op]Info{
	ReduceFun: fold("reduce", reduceShape,
		[]Attr{{Name: "axes", Kind: Ints}, {Name: "keep_axes", Kind: Bool}},
		"A function of element and accumulator, folded over axes in row-major order."),
	WindowReduce: fold("window_reduce", windowShape,
		[]Attr{{Name: "window", Kind: Ints}, {Name: "padding", Kind: Pairs},
			{Name: "strides", Kind: Ints}, {Name: "window_dilations", Kind: Ints}},
		"A function of element and accumulator, folded over each window in row-major order; padding is the initial value."),
}
