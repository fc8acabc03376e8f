package fusion

import (
	"nxvk/ops"
	"nxvk/synth/codegen"
)

// ConstantOperand returns the number that operand i is, where the code of a kernel contains it. Every
// other literal is a parameter, so that functions that differ in a number share kernels.
//
// The distance of a shift is one: code that takes it as a parameter tests it for every element, and no
// driver sees a rotation in it. The exponent of a power that is a product is another: see Product.
func ConstantOperand(in *ops.Instr, i int) (n int64, ok bool) {
	if i != 1 || len(in.Ins) < 2 || in.Ins[1].Lit == nil || len(in.Ins[1].Lit.Type.Shape) > 0 {
		return 0, false
	}
	switch in.Op {
	case ops.LeftShift, ops.RightShift:
		n, ok = in.Ins[1].Lit.Integer()
		return n, ok && n >= 0
	case ops.Pow:
		n, ok = exponent(in.Ins[1].Lit)
		return n, ok && products[n] != "" && in.Outs[0].Type.DType.IsFloat()
	}
	return 0, false
}

// exponent is a literal as a whole number.
func exponent(l *ops.Literal) (n int64, ok bool) {
	x, ok := l.Number()
	n = int64(x)
	return n, ok && float64(n) == x
}

// products has the powers that the function pow of package scalar computes as products, with the same bits.
var products = map[int64]string{2: "x * x", 3: "x * x * x", 4: "(x * x) * (x * x)"}

// CodeOf is the code of a pointwise instruction for one element: that of its operation, or the product that
// a power is.
func CodeOf(in *ops.Instr, types []ops.Type) ops.Code {
	if n, ok := ConstantOperand(in, 1); ok && in.Op == ops.Pow {
		return ops.Code{Float: products[n]}
	}
	return codegen.CodeFor(in, types)
}
