package ops

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Terms is the table as Erlang terms, one a line, for file:consult/1:
//
//	{op, Name, [{kind, Kind}, {arity, N}, {attrs, [{Name, Kind, [EnumName]}]},
//	            {results, N}, {result, Rule}, {doc, Doc}]}.
//
// Names and kinds are atoms, sentences binaries, and the arity of
// operations that take one or more operands is -1. The first term is
// {digest, Hex}, of all bytes that follow it.
func Terms() string {
	return fmt.Sprintf("{digest, <<\"%s\">>}.\n", Digest()) + rows()
}

// Digest identifies the table, so that a client of another version is recognized. It is the
// SHA-256 of Terms without its first line, in hex.
var Digest = sync.OnceValue(func() string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(rows())))
})

func rows() string {
	var b strings.Builder
	for op := Op(0); op < Count; op++ {
		if f := op.Info(); !f.Internal {
			b.WriteString(f.term())
		}
	}
	return b.String()
}

func (f *Info) term() string {
	attrs := make([]string, len(f.Attrs))
	for i, a := range f.Attrs {
		attrs[i] = fmt.Sprintf("{%s, %s, [%s]}", a.Name, a.Kind.Atom(), strings.Join(a.Names, ", "))
	}
	return fmt.Sprintf("{op, %s, [{kind, %s}, {arity, %d}, {attrs, [%s]}, {results, %d}, {result, %s}, {doc, %s}]}.\n",
		f.Name, f.Kind, f.Arity, strings.Join(attrs, ", "), f.Results, f.Result, text(f.Doc))
}

// text prints a binary. The table is ASCII, so Go's escapes are Erlang's.
func text(s string) string { return fmt.Sprintf("<<%q>>", s) }

// The names by which generated files and messages call what the table says.

var kindNames = [...]string{
	Control: "control", Create: "create", Pointwise: "pointwise", Reduce: "reduce", ArgReduce: "arg_reduce",
	Movement: "movement", Contract: "contract", Window: "window", Index: "index", Order: "order",
	Scan: "scan", Transform: "transform", LinAlg: "linalg", Fold: "fold", Composite: "composite",
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
