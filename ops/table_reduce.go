package ops

import "fmt"

// reduction applies an operator of x and y along axes.
func reduction(name string, code, identity Code, doc string) Info {
	return Info{Name: name, Kind: Reduce, Arity: 1, Infer: reduceShape, Code: code, Identity: identity,
		Flags: Commutative | Associative, Doc: doc,
		Attrs: []Attr{{Name: "axes", Kind: Ints}, {Name: "keep_axes", Kind: Bool}}}
}

func argReduction(name, doc string) Info {
	return Info{Name: name, Kind: ArgReduce, Arity: 1, Infer: argShape, Result: IndexType, Doc: doc,
		Attrs: []Attr{{Name: "axis", Kind: Int}, {Name: "keep_axis", Kind: Bool},
			{Name: "tie_break", Kind: Enum, Names: []string{"low", "high"}}}}
}

var reduceRows = map[Op]Info{
	Sum: reduction("sum", same("x + y"), same("0"),
		"Sum over axes, in the result type; integers wrap.").complex("(x + y, xi + yi)").from("0"),
	Product: reduction("product", same("x * y"), same("1"),
		"Product over axes, in the result type; integers wrap.").complex("cmul(x, xi, y, yi)").from("1"),
	ReduceMax: reduction("reduce_max", reals("fmax(x, y)", "x > y ? x : y", "x > y ? x : y"),
		reals("-inf", "lowest", "lowest"), "Largest element over axes; NaN if there is one."),
	ReduceMin: reduction("reduce_min", reals("fmin(x, y)", "x < y ? x : y", "x < y ? x : y"),
		reals("inf", "highest", "highest"), "Smallest element over axes; NaN if there is one."),
	All: reduction("all", same("x && y"), same("true"),
		"1 if no element over axes is zero, else 0.").result(BoolType).comparing().complex("x && y").from("true"),
	Any: reduction("any", same("x || y"), same("false"),
		"1 if an element over axes is not zero, else 0.").result(BoolType).comparing().complex("x || y").from("false"),
	ArgMax: argReduction("argmax", "Index of the largest element along an axis; axis -1 means all elements. NaN counts as largest."),
	ArgMin: argReduction("argmin", "Index of the smallest element along an axis; axis -1 means all elements. NaN counts as smallest."),
}

// from sets the identity of a reduction of complex numbers.
func (f Info) from(identity string) Info { f.Identity.Complex = identity; return f }

func (f Info) comparing() Info { f.Compare = true; return f }

func fold(name string, infer InferShape, attrs []Attr, doc string) Info {
	return Info{Name: name, Kind: Fold, Arity: 2, Doc: doc, Closed: true,
		Infer: folding(infer), Attrs: append(attrs, Attr{Name: "function", Kind: Block})}
}

// folding checks the function and the initial value of a reduction, and takes
// its shape from the reduction of that form.
func folding(infer InferShape) InferShape {
	return func(in *Instr, t []Type) ([]Shape, error) {
		if len(t[1].Shape) != 0 {
			return nil, fmt.Errorf("the initial value must be a scalar, its %w is %v", ErrShape, t[1].Shape)
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
		"Reduces axes by a function of element and accumulator, in row-major order."),
	WindowReduce: fold("window_reduce", windowShape,
		[]Attr{{Name: "window", Kind: Ints}, {Name: "padding", Kind: Pairs},
			{Name: "strides", Kind: Ints}, {Name: "window_dilations", Kind: Ints}},
		"Reduces each window by a function of element and accumulator, in row-major order; padding is the initial value."),
}
