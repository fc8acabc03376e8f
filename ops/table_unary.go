package ops

func unary(name string, code Code, doc string) Info {
	return Info{Name: name, Kind: Pointwise, Arity: 1, Infer: sameShape, Code: code, Doc: doc}
}

// float is a function of floats with an error of at most 2 units in the last place.
func float(name, expr, doc string) Info {
	return unary(name, Code{Float: expr}, doc).result(FloatType).ulp(2)
}

// analytic is a function of real and complex floats. The scalar language calls the complex
// one by the same name with a c in front.
func analytic(name, expr, doc string) Info {
	f := float(name, expr, doc)
	f.Code.Complex = "c" + name + "(x, xi)"
	return f
}

var unaryRows = map[Op]Info{
	Exp:     analytic("exp", "exp(x)", "e to the power of x."),
	Expm1:   analytic("expm1", "expm1(x)", "e to the power of x, minus 1, exact near 0."),
	Log:     analytic("log", "log(x)", "Natural logarithm.").domain(Positive),
	Log1p:   analytic("log1p", "log1p(x)", "Natural logarithm of 1 + x, exact near 0.").domain(Positive),
	Sigmoid: analytic("sigmoid", "sigmoid(x)", "1 / (1 + exp(-x))."),
	Cos:     analytic("cos", "cos(x)", "Cosine of x radians.").with(Periodic),
	Sin:     analytic("sin", "sin(x)", "Sine of x radians.").with(Periodic),
	Tan:     analytic("tan", "tan(x)", "Tangent of x radians.").with(Periodic),
	Cosh:    analytic("cosh", "cosh(x)", "Hyperbolic cosine."),
	Sinh:    analytic("sinh", "sinh(x)", "Hyperbolic sine."),
	Tanh:    analytic("tanh", "tanh(x)", "Hyperbolic tangent."),
	Acos:    analytic("acos", "acos(x)", "Inverse cosine.").domain(Unit),
	Asin:    analytic("asin", "asin(x)", "Inverse sine.").domain(Unit),
	Atan:    analytic("atan", "atan(x)", "Inverse tangent."),
	Acosh:   analytic("acosh", "acosh(x)", "Inverse hyperbolic cosine.").domain(AboveOne),
	Asinh:   analytic("asinh", "asinh(x)", "Inverse hyperbolic sine."),
	Atanh:   analytic("atanh", "atanh(x)", "Inverse hyperbolic tangent.").domain(OpenUnit),
	Sqrt:    analytic("sqrt", "sqrt(x)", "Square root.").domain(Positive),
	Rsqrt:   analytic("rsqrt", "rsqrt(x)", "1 / sqrt(x).").domain(Positive),
	Cbrt:    analytic("cbrt", "cbrt(x)", "Cube root."),
	Erf:     float("erf", "erf(x)", "Error function.").complex("erf(x)"),
	Erfc:    float("erfc", "erfc(x)", "1 - erf(x), without cancellation.").complex("erfc(x)"),
	ErfInv:  float("erf_inv", "erf_inv(x)", "Inverse error function.").domain(OpenUnit).ulp(2).complex("erf_inv(x)"),

	Abs: unary("abs", reals("abs(x)", "x < 0 ? -x : x", "x"),
		"Absolute value; the modulus of a complex number.").result(RealType).complex("hypot(x, xi)"),
	BitwiseNot: unary("bitwise_not", ints("~x"), "Bitwise complement.").result(IndexType),
	Ceil:       unary("ceil", reals("ceil(x)", "x", "x"), "Least integer not below x."),
	Conjugate:  unary("conjugate", Code{}, "Complex conjugate.").result(ComplexType).complex("(x, -xi)"),
	Floor:      unary("floor", reals("floor(x)", "x", "x"), "Greatest integer not above x."),
	Negate:     unary("negate", reals("-x", "0 - x", "0 - x"), "-x; integers wrap.").complex("(-x, -xi)"),
	Round:      unary("round", reals("round(x)", "x", "x"), "Nearest integer, halves away from zero."),
	Sign: unary("sign", reals("sign(x)", "x > 0 ? 1 : (x < 0 ? -1 : 0)", "x > 0 ? 1 : 0"),
		"-1, 0 or 1 by the sign; NaN and both zeros stay.").complex("x != 0 || xi != 0 ? 1 : 0"),
	CountLeadingZeros: unary("count_leading_zeros", ints("clz(x & mask) - (wide - bits)"),
		"Number of zero bits above the highest one bit.").result(SameType),
	PopulationCount: unary("population_count", ints("popcount(x & mask)"),
		"Number of one bits.").result(SameType),
	RealPart: unary("real", Code{Float: "x", Sint: "x", Uint: "x"}, "Real part.").result(RealType).complex("x"),
	Imag:     unary("imag", Code{Float: "0"}, "Imaginary part.").result(RealType).complex("xi"),
	IsNaN:    predicate("is_nan", reals("isnan(x)", "false", "false"), "1 where x is NaN.").complex("isnan(x) || isnan(xi)"),
	IsInfinity: predicate("is_infinity", reals("isinf(x)", "false", "false"),
		"1 where x is infinite.").complex("isinf(x) || isinf(xi)"),
	LogicalNot: predicate("logical_not", same("x == 0"), "1 where x is zero.").complex("x == 0 && xi == 0"),

	Select: {Name: "select", Kind: Pointwise, Arity: 3, Infer: broadcastAll, Code: selection, Flags: Predicate,
		Doc: "The second operand where the first is not zero, the third elsewhere."},
	Clip: {Name: "clip", Kind: Pointwise, Arity: 3, Infer: firstWithScalars,
		Code: reals("clip(x, y, z)", "clip(x, y, z)", "clip(x, y, z)"),
		Doc:  "x limited to the range from y to z, which are scalars."},
	AsType: unary("as_type", Code{"x", "x", "x", "(x, xi)"},
		"Conversion. To integers: floats truncate toward zero, NaN becomes 0, infinities the extremes; integers wrap."),
}

var selection = Code{"x ? y : z", "x ? y : z", "x ? y : z", "x ? (y, yi) : (z, zi)"}

// predicate is a unary operation that gives 0 or 1.
func predicate(name string, code Code, doc string) Info {
	f := unary(name, code, doc).result(BoolType)
	f.Compare = true
	return f
}
