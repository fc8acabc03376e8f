package scalar

import (
	"errors"
	"reflect"
	"testing"
)

func TestPrint(t *testing.T) {
	f := compile(t, "1 - x", F32, Env{})
	want := `func "1 - x" f32 f32 f32 {
  0 = param f32 0
  1 = const f32 0x1p+00
  2 = sub f32 %1 %0
}
`
	if got := f.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// What is printed reads back as the same function, and prints the same.
func TestPrintedFormReadsBack(t *testing.T) {
	for _, m := range functions {
		for _, typ := range []Type{F32, F64} {
			f := compile(t, m.name, typ, Env{})
			g, err := Read(f.String())
			if err != nil {
				t.Fatalf("%s: %v", m.name, err)
			}
			if g.String() != f.String() {
				t.Errorf("%s of %s prints differently once read back", m.name, typ)
			}
		}
	}
	f := compile(t, "isnan(x) ? nan : -inf", F64, Env{})
	if g, err := Read(f.String()); err != nil || !reflect.DeepEqual(f.Nodes[0], g.Nodes[0]) {
		t.Errorf("%v: %v", f, err)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, text := range []string{
		"",
		"func x {",
		"func \"f\" f32 {\n}",
		"func \"f\" f33 {\n  0 = param f32 0\n}",
		"func \"f\" f32 {\n  0 = param f32 1\n}",
		"func \"f\" f32 {\n  0 = neg f32 %0\n}",
		"func \"f\" f32 {\n  0 = frob f32 0\n}",
		"func \"f\" f32 {\n  0 = param f32 0\n  1 = rare f32 @0 %0 %0\n}",
		"func \"f\" f32 {\n  0 = param f32 0",
	} {
		if _, err := Read(text); !errors.Is(err, ErrSyntax) {
			t.Errorf("%q: got %v, want a syntax error", text, err)
		}
	}
}

// Equal calls give equal functions, so that what is built from them can be
// kept by its content.
func TestDeterministic(t *testing.T) {
	for range 3 {
		a, b := compile(t, "pow(x, y)", F32, Env{}), compile(t, "pow(x, y)", F32, Env{})
		if a.String() != b.String() {
			t.Fatal("two compilations differ")
		}
	}
}
