package scalar

import (
	"fmt"
	"math"
)

// Arg is a parameter of an expression: its name and its type.
type Arg struct {
	Name string
	Type Type
}

// Env is what an expression depends on besides its operands.
type Env struct {
	// Bits is the width of the stored type if it is narrower than the type of
	// computation, else 0. Functions of 16 bits and fewer are not as exact as others.
	Bits int
	// PreciseDiv says that the device rounds F32 division and square root
	// correctly. Where it does not, / and sqrt are library functions.
	PreciseDiv bool
	// Subnormals says that the device keeps F32 subnormals in arithmetic.
	Subnormals bool
	// NaNs says that the device tells F32 NaNs from numbers: it never assumes that there are none.
	NaNs bool
	// Exp2 says that Exp2 and InverseSqrt are good enough for what the library makes of
	// them to be as good as the rest.
	Exp2 bool
}

// narrow reports whether results have eleven bits at most, and the device an exponential.
func (env Env) narrow() bool { return env.Exp2 && env.Bits > 0 && env.Bits <= 16 }

// Compile compiles an expression of the op table for the type of computation
// t. Literals have that type where nothing else determines it. The result has
// type t, or Bool where the expression is a comparison. An expression of complex
// numbers, whose parts have type t, may have two results. The Func depends on
// the arguments of Compile alone, to the last node.
func Compile(expression string, t Type, args []Arg, env Env) (f *Func, err error) {
	lib, err := loadLibrary()
	if err != nil {
		return nil, fmt.Errorf("load the scalar library: %w", err)
	}
	defer catch(&err)
	p := newParser(expression, expression)
	e := p.expr()
	if t := p.peek(); t.kind != endToken {
		panic(at(p.src, t.pos, ErrSyntax, "%s after the expression", t.text))
	}
	if env.Bits == 0 {
		env.Bits = t.Width()
	}
	types := make([]Type, len(args))
	for i, a := range args {
		types[i] = a.Type
	}
	l := &lowering{lib: lib, env: env, src: p.src, b: newBuilder(expression, types),
		vars: map[string]int32{}, dflt: t, public: true}
	for i, a := range args {
		l.vars[a.Name] = l.b.param(i)
	}
	results := l.expr(e, t)
	if len(results) > 2 {
		l.fail(e, "%d values where two are the most", len(results))
	}
	return l.b.finish(results...), nil
}

// builtinConstant says whether a name is one of those of Env.constant.
func builtinConstant(name string) bool {
	switch name {
	case "bits", "wide", "mask", "inf", "nan", "lowest", "highest":
		return true
	}
	return false
}

// constant returns the bits of a named constant as a value of type t.
func (env Env) constant(name string, t Type) (uint64, bool) {
	width := env.Bits
	if width == 0 {
		width = t.Width()
	}
	if t.Float() {
		return floatConstant(name, t, width)
	}
	ones := ^uint64(0) >> (64 - uint(width))
	switch {
	case name == "bits":
		return uint64(width), true
	case name == "wide":
		return uint64(t.Width()), true
	case name == "mask":
		return ones, true
	case name == "lowest" && t.Signed():
		return ^(ones >> 1), true
	case name == "lowest":
		return 0, true
	case name == "highest" && t.Signed():
		return ones >> 1, true
	case name == "highest":
		return ones, true
	}
	return 0, false
}

func floatConstant(name string, t Type, width int) (uint64, bool) {
	switch name {
	case "bits":
		return floatBits(float64(width), t), true
	case "wide":
		return floatBits(float64(t.Width()), t), true
	case "inf", "highest":
		return floatBits(math.Inf(1), t), true
	case "lowest":
		return floatBits(math.Inf(-1), t), true
	case "nan":
		return floatBits(math.Float64frombits(0x7ff8<<48), t), true
	}
	return 0, false
}
