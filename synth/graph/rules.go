package graph

import "nxvk/ops"

// rule rewrites an instruction. It is exact: see why.
//
// Arithmetic is only ever left out of integers; of floats it may become other arithmetic. A device may flush subnormal
// numbers, and host and device make a signalling NaN quiet, so that not even
// x * 1 is x in every bit; and -0 + 0 is 0. No rule drops an operand that is a
// value, such as that of x * 0: it may carry an error, which the result carries,
// too.
type rule struct {
	name, why string
	apply     func(w *work, in *ops.Instr) bool
}

// rules are tried in order until none applies. Each makes an instruction of a
// simpler operation, or has it look at an earlier value.
var rules = []rule{
	{"starts", "a start that is a literal is an attribute, once it is clamped", literalStarts},
	{"reshape", "the elements stay as they are, in order", asReshape},
	{"reshape of reshape", "only the last shape counts", reshapeTwice},
	{"transpose of transpose", "permutations compose", transposeTwice},
	{"reverse of reverse", "an axis that is reversed twice is as it was", reverseTwice},
	{"slice of slice", "starts that are clamped add up, strides multiply", sliceTwice},
	{"broadcast of broadcast", "dimensions of size 1 stretch in one step as in two", broadcastTwice},
	{"repeated indices", "indices that differ only along the axis are those of slices along it", repeatedIndices},
	{"bitcast of bitcast", "the bits are the same all the way", bitcastTwice},
	{"conversion of conversion", "an integer goes through a type that holds all numbers of its own unchanged", convertTwice},
	{"view of constant", "all elements are the same, wherever they come from", viewOfConstant},
	{"update of constant", "what a slice is put into is one number, which pads the slice", updateOfConstant},
	{"constant beside", "what lies before or behind a tensor is one number, which pads it", constantBeside},
	{"view of number", "there is one element, and every element of the result is it", viewOfNumber},
	{"constant operand", "a number beside a tensor is taken for all its elements, in the type that the constant has", constantOperand},
	{"negate of negate", "integers wrap, so that each has one opposite and one complement", undone},
	{"result type", "arithmetic in floats converts its operands to the type of its result", resultType},
	{"power of two", "the product with the inverse of a power of two, a normal number, rounds as the quotient", byPowerOfTwo},
	{"reduction of one", "one integer is its sum, product and extremum, and one truth value tells whether any and all are true", reductionOfOne},
	{"neutral", "x + 0, x - 0, x * 1, x / 1, x | 0, x ^ 0, x & -1, x << 0 and x >> 0 are x, of integers", neutral},
}

// simplify applies the rules to every instruction, and leaves out those that do
// nothing any more.
func simplify(w *work) bool {
	return w.each(func(i int, in *ops.Instr) (changed bool) {
		for w.rewrite(in) {
			changed = true
		}
		if identity(w, in) && w.forward(i, in.Ins[0].ID) {
			return true
		}
		return changed
	})
}

// rewrite applies the first rule that fits.
func (w *work) rewrite(in *ops.Instr) bool {
	for i := range rules {
		if rules[i].apply(w, in) {
			return true
		}
	}
	return false
}

// identity reports whether an instruction gives its operand.
func identity(w *work, in *ops.Instr) bool {
	return in.Op == ops.Reshape && in.Ins[0].Lit == nil && in.Outs[0].Type.Equal(w.typeOf(in.Ins[0]))
}

// become makes an instruction one of another operation with the same result.
func become(in *ops.Instr, op ops.Op, ins []ops.Operand, attrs ...[]int) bool {
	in.Op, in.Ins, in.Attrs = op, ins, attrs
	return true
}

// constantOf is the literal that all elements of an operand equal, in the type
// of its elements; nil where they may differ.
func (w *work) constantOf(o ops.Operand) *ops.Literal {
	lit := o.Lit
	if m := w.producer(o); m != nil && m.Op == ops.Constant && m.Ins[0].Lit.Type.DType == m.Outs[0].Type.DType {
		lit = m.Ins[0].Lit
	}
	if lit == nil || len(lit.Type.Shape) > 0 || lit.Hold != nil {
		return nil
	}
	return lit
}
