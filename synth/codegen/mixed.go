package codegen

import (
	"fmt"

	"nxvk/ops"
)

// If an operation mixes u64 and signed integers, both are loaded as s64, so a u64
// of 2^63 or more looks negative. These codes give the right result for such
// numbers: a pair each, for a u64 as x and as y. Operations whose results agree
// modulo 2^64 keep their own code.
var (
	mixedFirst = map[ops.Op]string{
		ops.Equal: "x >= 0 && x == y", ops.NotEqual: "x < 0 || x != y",
		ops.Less: "x >= 0 && x < y", ops.LessEqual: "x >= 0 && x <= y",
		ops.Greater: "x < 0 || x > y", ops.GreaterEqual: "x < 0 || x >= y",
		ops.Max: "x < 0 || x > y ? x : y", ops.Min: "x < 0 || x > y ? y : x",
		ops.Quotient: "idiv_ui(x, y)", ops.Remainder: "irem_ui(x, y)",
		ops.RightShift: "shr_ui(x, y)", ops.Pow: "ipow_ui(x, y)",
	}
	mixedSecond = map[ops.Op]string{
		ops.Equal: "y >= 0 && x == y", ops.NotEqual: "y < 0 || x != y",
		ops.Less: "y < 0 || x < y", ops.LessEqual: "y < 0 || x <= y",
		ops.Greater: "y >= 0 && x > y", ops.GreaterEqual: "y >= 0 && x >= y",
		ops.Max: "y < 0 || x < y ? y : x", ops.Min: "y < 0 || x < y ? x : y",
		ops.Quotient: "idiv_iu(x, y)", ops.Remainder: "irem_iu(x, y)", ops.Pow: "ipow_iu(x, y)",
	}
)

// narrowQuotients have the bits of a quotient whose operands are elements of a type, and which is stored as one, for
// fewer instructions.
var narrowQuotients = map[ops.DType]string{ops.BF16: "div_bf16(x, y)", ops.F16: "div_f16(x, y)"}

// elements is the type that all operands and the result are elements of. A literal of another type may have more bits than
// an element.
func elements(in *ops.Instr, types []ops.Type) (d ops.DType) {
	for i, t := range types {
		if lit := in.Ins[i].Lit; t.DType != in.Outs[0].Type.DType || lit != nil && lit.Type.DType != t.DType {
			return d
		}
	}
	return in.Outs[0].Type.DType
}

// CodeFor is the code of a pointwise instruction on operands of the given types.
func CodeFor(in *ops.Instr, types []ops.Type) ops.Code {
	code := in.Op.Info().Code
	if in.Op == ops.Divide {
		if expr := narrowQuotients[elements(in, types)]; expr != "" {
			code.Float = expr
		}
		return code
	}
	c := ComputeClass(in, types[Conditions(in.Op.Info()):])
	if wraps(in, types, c) {
		code.Sint, code.Uint = "", ""
		return code
	}
	if c.Class() != ops.Signed {
		return code
	}
	expr := ""
	switch large := func(i int) bool { return types[i].DType == ops.U64 }; {
	case in.Op == ops.Clip && (large(0) || large(1) || large(2)):
		expr = fmt.Sprintf("clip_mixed(x, %s, y, %s, z, %s)", signOf(large(0)), signOf(large(1)), signOf(large(2)))
	case len(types) != 2 || large(0) == large(1):
	case large(0):
		expr = mixedFirst[in.Op]
	default:
		expr = mixedSecond[in.Op]
	}
	switch {
	case expr == "":
	case c.Bits() < 64: // the host computes results that are stated narrower than Nx's
		code.Sint = ""
	default:
		code.Sint = expr
	}
	return code
}

// wraps reports whether an integer operation would have other results in type c than on the host, which computes with
// numbers of 64 bits and wraps the result once: some operand has numbers that c has not, and the low bits of a result depend on
// more than the low bits of the operands. Nx states no such result; where a client does, the host computes it. Literals are
// taken to be numbers of c.
func wraps(in *ops.Instr, types []ops.Type, c ops.DType) bool {
	if !c.IsInteger() || c.Bits() >= 64 || in.Op != ops.Clip && mixedFirst[in.Op] == "" || in.Op.Info().Compare {
		return false
	}
	for i, t := range types {
		if in.Ins[i].Lit == nil && ops.Merge(c, t.DType) != c {
			return true
		}
	}
	return false
}

// signOf is what the sign bit of a number stands for, as clip_mixed takes it.
func signOf(u64 bool) string {
	if u64 {
		return "1"
	}
	return "-1"
}
