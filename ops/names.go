package ops

import (
	"slices"
	"strings"
)

// The names by which generated files and messages call what the table says.

var kindNames = [...]string{
	Control: "control", Create: "create", Pointwise: "pointwise", Reduce: "reduce", ArgReduce: "arg_reduce",
	Movement: "movement", Contract: "contract", Window: "window", Index: "index", Order: "order",
	Scan: "scan", Transform: "transform", LinAlg: "linalg", Fold: "fold",
}

// String returns the name of the kind.
func (k Kind) String() string { return kindNames[k] }

var ruleNames = [...]string{
	AnyType: "any", SameType: "same", BoolType: "bool", IndexType: "integer",
	FloatType: "float", RealType: "real", ComplexType: "complex",
}

// String returns the name of the rule.
func (r Rule) String() string { return ruleNames[r] }

var attrAtoms = [...]string{
	Int: "int", Ints: "ints", Bool: "bool", Enum: "enum",
	Pads: "pads", Pairs: "pairs", TypeOf: "type", Real64: "float", Block: "region",
}

// Atom returns the name of the form in generated files.
func (k AttrKind) Atom() string { return attrAtoms[k] }

// TypeNames lists types in few words: classes that are complete by their names.
func TypeNames(types []DType) string {
	if len(types) == len(DTypes()) {
		return "all"
	}
	var words []string
	rest := slices.Clone(types)
	for _, g := range []struct {
		name string
		has  func(DType) bool
	}{{"integers", DType.IsInteger}, {"floats", DType.IsFloat}, {"complex", DType.IsComplex}} {
		of := func(all []DType) int {
			return len(slices.DeleteFunc(slices.Clone(all), func(d DType) bool { return !g.has(d) }))
		}
		if of(rest) == of(DTypes()) {
			words = append(words, g.name)
			rest = slices.DeleteFunc(rest, g.has)
		}
	}
	for _, d := range rest {
		words = append(words, d.String())
	}
	return strings.Join(words, ", ")
}
