package ops

var controlRows = map[Op]Info{
	Free: {Name: "free", Kind: Control, Attrs: []Attr{{Name: "ids", Kind: Ints}},
		Doc: "Lets go of values; ids that are not held are ignored."},
	Import: {Name: "import", Kind: Control, Results: 1,
		Doc: "A value of another session, which has shared it, under an id of this one."},

	Constant: {Name: "constant", Kind: Create, Arity: 1, Infer: constantShape,
		Doc: "A tensor whose elements all equal the scalar literal."},
	Tensor: {Name: "tensor", Kind: Create, Arity: 1, Result: SameType, Infer: literalShape,
		Doc: "The tensor whose elements are the bytes of the literal."},
	Iota: {Name: "iota", Kind: Create, Attrs: []Attr{{Name: "axis", Kind: Int}}, Infer: iotaShape,
		Doc: "The index along an axis, or the flat index where the axis is -1."},
	Eye: {Name: "eye", Kind: Create, Infer: eyeShape,
		Doc: "The identity matrix in the last two dimensions."},
}
