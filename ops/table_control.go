package ops

var controlRows = map[Op]Info{
	Free: {Name: "free", Kind: Control, Stream: true, Attrs: []Attr{{Name: "ids", Kind: Ints}},
		Doc: "Lets go of values; ids that are not held are ignored."},
	Import: {Name: "import", Kind: Control, Stream: true, Results: 1,
		Doc: "A value of another session, which has shared it, under an id of this one."},

	Program: {Name: "program", Kind: Control, Stream: true,
		Doc: "Defines a program of the session under a key."},
	Run: {Name: "run", Kind: Control, Stream: true, Arity: Variadic, Results: Variadic,
		Doc: "Runs the program of a key."},
	Cancel: {Name: "cancel", Kind: Control, Stream: true, Attrs: []Attr{{Name: "runs", Kind: Ints}},
		Doc: "Ends runs, named by the ids of their first results, at once."},
	While: {Name: "while", Kind: Control, Arity: Variadic, Results: Variadic,
		Attrs: []Attr{{Name: "condition", Kind: Block}, {Name: "body", Kind: Block}}, Infer: whileShape,
		Doc: "The operands, replaced by what the body makes of them while the condition gives anything but zero."},
	Branch: {Name: "branch", Kind: Control, Arity: 1, Results: Variadic,
		Attrs: []Attr{{Name: "then", Kind: Block}, {Name: "otherwise", Kind: Block}}, Infer: branchShape,
		Doc: "The values of the first region where the operand is not zero, else of the second; only that one runs."},
	Hook: {Name: "hook", Kind: Control, Arity: Variadic, Attrs: []Attr{{Name: "index", Kind: Int}},
		Doc: "Sends the operands to the process that the run names, and goes on."},
	Callback: {Name: "callback", Kind: Control, Arity: Variadic, Results: Variadic, Attrs: []Attr{{Name: "index", Kind: Int}},
		Doc: "What the process that the run names answers for the operands."},

	Constant: {Name: "constant", Kind: Create, Arity: 1, Infer: constantShape,
		Doc: "A tensor whose elements all equal the scalar literal."},
	Tensor: {Name: "tensor", Kind: Create, Arity: 1, Result: SameType, Infer: literalShape,
		Doc: "The tensor whose elements are the bytes of the literal."},
	Iota: {Name: "iota", Kind: Create, Attrs: []Attr{{Name: "axis", Kind: Int}}, Infer: iotaShape,
		Doc: "The index along an axis, or the flat index where the axis is -1."},
	Eye: {Name: "eye", Kind: Create, Infer: eyeShape,
		Doc: "The identity matrix in the last two dimensions."},
}
