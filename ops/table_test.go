package ops

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// atom is what needs no quotes in Erlang.
var atom = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// reserved are the words of Erlang that are no atoms without quotes.
var reserved = strings.Fields("after and andalso band begin bnot bor bsl bsr bxor case catch cond div " +
	"else end fun if let maybe not of or orelse receive rem try when xor")

func isAtom(s string) bool { return atom.MatchString(s) && !slices.Contains(reserved, s) }

// TestRows looks for rows that contradict themselves.
func TestRows(t *testing.T) {
	for op := Op(0); op < Count; op++ {
		f := op.Info()
		complain := func(format string, a ...any) {
			t.Helper()
			t.Errorf("%q: "+format, append([]any{f.Name}, a...)...)
		}
		if !isAtom(f.Name) {
			complain("the name is no atom")
		}
		if got, ok := Lookup(f.Name); !ok || got != op {
			complain("Lookup gives %v", got)
		}
		if f.Doc == "" || !strings.HasSuffix(f.Doc, ".") || strings.Contains(f.Doc, "\n") {
			complain("the documentation %q is not one sentence", f.Doc)
		}
		if f.Flags&Commutative != 0 && f.Arity != 2 && f.Kind != Reduce {
			complain("it commutes and takes %d operands", f.Arity)
		}
		if f.Infer == nil && f.Kind != Control {
			complain("it has no rule of shapes")
		}
		if f.Kind == Reduce && (f.Code == Code{} || f.Identity == Code{}) {
			complain("a reduction needs an operator and an identity")
		}
		if f.ULP != 0 && f.Code.Float == "" {
			complain("it permits an error and computes no floats")
		}
		if f.Compare && f.Result != BoolType {
			complain("it compares and gives %v", f.Result)
		}
		checkAttrSchema(f, complain)
	}
}

func checkAttrSchema(f *Info, complain func(string, ...any)) {
	seen := map[string]bool{}
	for _, a := range f.Attrs {
		switch {
		case !isAtom(a.Name) || seen[a.Name]:
			complain("attribute %q is no atom or there twice", a.Name)
		case (a.Kind == Enum) != (len(a.Names) > 0):
			complain("attribute %q has the names %v", a.Name, a.Names)
		}
		seen[a.Name] = true
		for _, n := range a.Names {
			if !isAtom(n) {
				complain("attribute %q has %q, which is no atom", a.Name, n)
			}
		}
	}
}
