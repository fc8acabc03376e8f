package ops

// reduction folds the operator expr, over x and y, along axes.
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
		reals("-inf", "lowest", "lowest"), "Largest element over axes; NaN wins."),
	ReduceMin: reduction("reduce_min", reals("fmin(x, y)", "x < y ? x : y", "x < y ? x : y"),
		reals("inf", "highest", "highest"), "Smallest element over axes; NaN wins."),
	All: reduction("all", same("x && y"), same("true"),
		"1 where no element over axes is zero.").result(BoolType).comparing().complex("x && y").from("true"),
	Any: reduction("any", same("x || y"), same("false"),
		"1 where an element over axes is not zero.").result(BoolType).comparing().complex("x || y").from("false"),
	ArgMax: argReduction("argmax", "Index of the largest element along an axis; axis -1 is all. NaN is largest."),
	ArgMin: argReduction("argmin", "Index of the smallest element along an axis; axis -1 is all. NaN is smallest."),
}

// from is what a reduction of complex numbers starts from.
func (f Info) from(identity string) Info { f.Identity.Complex = identity; return f }

func (f Info) comparing() Info { f.Compare = true; return f }
