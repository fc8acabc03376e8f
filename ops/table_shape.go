package ops

func movement(name string, arity int, infer InferShape, doc string, attrs ...Attr) Info {
	return Info{Name: name, Kind: Movement, Arity: arity, Infer: infer, Attrs: attrs, Doc: doc}
}

var shapeRows = map[Op]Info{
	Bitcast: movement("bitcast", 1, sameBits, "The same bits as another type of the same width."),
	Reshape: movement("reshape", 1, sameCount, "The same elements in another shape.").result(SameType),
	Squeeze: movement("squeeze", 1, squeezeShape, "The same elements without axes of size 1.",
		Attr{Name: "axes", Kind: Ints}).result(SameType),
	BroadcastTo: movement("broadcast", 1, broadcastShape, "Dimension i becomes dimension axes[i] of the result; a dimension of 1 is repeated.",
		Attr{Name: "axes", Kind: Ints}).result(SameType),
	Transpose: movement("transpose", 1, transposeShape, "Dimension i of the result is dimension axes[i].",
		Attr{Name: "axes", Kind: Ints}).result(SameType),
	Pad: movement("pad", 2, padShape, "Pads with a scalar before, after and between elements; negative amounts crop.",
		Attr{Name: "config", Kind: Pads}),
	Reverse: movement("reverse", 1, reverseShape, "The elements in reverse order along axes.",
		Attr{Name: "axes", Kind: Ints}).result(SameType),
	Slice: movement("slice", Variadic, sliceShape,
		"Along each dimension, every stride-th of length elements from a start. Starts in operands are clamped so that the slice fits.",
		Attr{Name: "starts", Kind: Ints}, Attr{Name: "lengths", Kind: Ints}, Attr{Name: "strides", Kind: Ints}).result(SameType),
	PutSlice: movement("put_slice", Variadic, putSliceShape,
		"The first operand, with the second written over it from the starts, which are clamped so that it fits.",
		Attr{Name: "starts", Kind: Ints}),
	Concatenate: movement("concatenate", Variadic, concatShape, "The operands, joined along an axis.",
		Attr{Name: "axis", Kind: Int}),
	Stack: movement("stack", Variadic, stackShape, "The operands, joined along a new axis.",
		Attr{Name: "axis", Kind: Int}),
	Dot: {Name: "dot", Kind: Contract, Arity: 2, Infer: dotShape,
		Attrs: []Attr{{Name: "contract_left", Kind: Ints}, {Name: "batch_left", Kind: Ints},
			{Name: "contract_right", Kind: Ints}, {Name: "batch_right", Kind: Ints}},
		Doc: "Products summed over pairs of contracted axes, for each pair of batch entries."},
}
