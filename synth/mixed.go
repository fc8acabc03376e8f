package synth

import "nxvk/ops"

// Where u64 meets signed integers both are loaded as s64, though they count as the
// numbers that they are. These are the codes that see a u64 of 2^63 or more, which
// comes as a negative number, for what it is: where x is the u64, and where y is.
// Operations that give the same modulo 2^64 keep their own; to divide and to shift
// takes what the host has.
var (
	mixedFirst = map[ops.Op]string{
		ops.Equal: "x >= 0 && x == y", ops.NotEqual: "x < 0 || x != y",
		ops.Less: "x >= 0 && x < y", ops.LessEqual: "x >= 0 && x <= y",
		ops.Greater: "x < 0 || x > y", ops.GreaterEqual: "x < 0 || x >= y",
		ops.Max: "x < 0 || x > y ? x : y", ops.Min: "x < 0 || x > y ? y : x",
		ops.Quotient: "", ops.Remainder: "", ops.RightShift: "", ops.Pow: "", ops.Clip: "",
	}
	mixedSecond = map[ops.Op]string{
		ops.Equal: "y >= 0 && x == y", ops.NotEqual: "y < 0 || x != y",
		ops.Less: "y < 0 || x < y", ops.LessEqual: "y < 0 || x <= y",
		ops.Greater: "y >= 0 && x > y", ops.GreaterEqual: "y >= 0 && x >= y",
		ops.Max: "y < 0 || x < y ? y : x", ops.Min: "y < 0 || x < y ? x : y",
		ops.Quotient: "", ops.Remainder: "", ops.Pow: "", ops.Clip: "",
	}
)

// codeOf is the code of a pointwise instruction on operands of the given types.
func codeOf(in *ops.Instr, types []ops.Type) ops.Code {
	code := in.Op.Info().Code
	if computes(in, types[truthsOf(in.Op.Info()):]).Class() != ops.Signed {
		return code
	}
	first, rest := types[0].DType == ops.U64, false
	for _, t := range types[1:] {
		rest = rest || t.DType == ops.U64
	}
	table := mixedFirst
	if rest {
		table = mixedSecond
	}
	if expr, differs := table[in.Op]; differs && first != rest {
		code.Sint = expr
	} else if differs && in.Op == ops.Clip && rest {
		code.Sint = ""
	}
	return code
}
