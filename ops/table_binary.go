package ops

func binary(name string, code Code, doc string) Info {
	return Info{Name: name, Kind: Pointwise, Arity: 2, Infer: broadcastAll, Code: code, Doc: doc}
}

// comparison is an operation that gives 0 or 1 and computes in the merged type
// of its operands.
func comparison(name, expr, doc string) Info {
	f := binary(name, same(expr), doc)
	f.Result, f.Compare = BoolType, true
	return f
}

func (f Info) with(flags Flag) Info  { f.Flags = flags; return f }
func (f Info) result(r Rule) Info    { f.Result = r; return f }
func (f Info) domain(d Domain) Info  { f.Domain = d; return f }
func (f Info) ulp(n int) Info        { f.ULP = n; return f }
func (f Info) complex(e string) Info { f.Code.Complex = e; return f }
func (f Info) attrs(a ...Attr) Info  { f.Attrs = a; return f }

// Integer division by zero gives all bits set and leaves the dividend as the
// remainder, as in XLA. Shifts by the width or more give 0, or the sign.
var binaryRows = map[Op]Info{
	Add: binary("add", same("x + y"),
		"Sum; integers wrap.").with(Commutative | Associative).complex("(x + y, xi + yi)"),
	Subtract: binary("subtract", same("x - y"),
		"Difference; integers wrap.").complex("(x - y, xi - yi)"),
	Multiply: binary("multiply", same("x * y"),
		"Product; integers wrap.").with(Commutative | Associative).complex("cmul(x, xi, y, yi)"),
	Pow: binary("pow", reals("pow(x, y)", "ipow(x, y)", "ipow(x, y)"),
		"x to the power of y; integers wrap.").domain(Small).ulp(2).complex("cpow(x, xi, y, yi)"),
	Remainder: binary("remainder", reals("fmod(x, y)", "irem(x, y)", "irem(x, y)"),
		"Remainder with the sign of the dividend.").domain(NonZero),
	Divide: binary("divide", Code{Float: "x / y"},
		"Quotient of floats.").result(FloatType).domain(NonZero).complex("cdiv(x, xi, y, yi)"),
	Atan2: binary("atan2", Code{Float: "atan2(x, y)"},
		"Angle of the point (y, x), in (-pi, pi].").result(FloatType).ulp(2).complex("xi != 0 || yi != 0 ? (nan, nan) : (atan2(x, y), 0)"),
	Min: binary("min", reals("fmin(x, y)", "x < y ? x : y", "x < y ? x : y"),
		"The smaller operand; NaN if one is NaN.").with(Commutative | Associative),
	Max: binary("max", reals("fmax(x, y)", "x > y ? x : y", "x > y ? x : y"),
		"The larger operand; NaN if one is NaN.").with(Commutative | Associative),
	Quotient: binary("quotient", ints("idiv(x, y)"),
		"Integer quotient, truncated toward zero.").result(IndexType).domain(NonZero),
	BitwiseAnd: binary("bitwise_and", ints("x & y"),
		"Bitwise and.").result(IndexType).with(Commutative | Associative),
	BitwiseOr: binary("bitwise_or", ints("x | y"),
		"Bitwise or.").result(IndexType).with(Commutative | Associative),
	BitwiseXor: binary("bitwise_xor", ints("x ^ y"),
		"Bitwise exclusive or.").result(IndexType).with(Commutative | Associative),
	LeftShift: binary("left_shift", ints("shl(x, y)"),
		"x shifted left by y bits.").result(IndexType).domain(ShiftBy),
	RightShift: binary("right_shift", ints("shr(x, y)"),
		"x shifted right by y bits; the sign is kept.").result(IndexType).domain(ShiftBy),

	Equal:        comparison("equal", "x == y", "1 where the operands are equal; NaN equals nothing.").with(Commutative).complex("x == y && xi == yi"),
	NotEqual:     comparison("not_equal", "x != y", "1 where the operands differ.").with(Commutative).complex("x != y || xi != yi"),
	Greater:      comparison("greater", "x > y", "1 where x is greater than y."),
	Less:         comparison("less", "x < y", "1 where x is less than y."),
	GreaterEqual: comparison("greater_equal", "x >= y", "1 where x is not less than y."),
	LessEqual:    comparison("less_equal", "x <= y", "1 where x is not greater than y."),
	LogicalAnd: comparison("logical_and", "x != 0 && y != 0",
		"1 where neither operand is zero.").with(Commutative).complex("(x != 0 || xi != 0) && (y != 0 || yi != 0)"),
	LogicalOr: comparison("logical_or", "x != 0 || y != 0",
		"1 where an operand is not zero.").with(Commutative).complex("x != 0 || xi != 0 || y != 0 || yi != 0"),
	LogicalXor: comparison("logical_xor", "(x != 0) != (y != 0)",
		"1 where exactly one operand is not zero.").with(Commutative).complex("(x != 0 || xi != 0) != (y != 0 || yi != 0)"),
}
