package scalartest_test

import (
	"errors"
	"reflect"
	"testing"

	"nxvk/ops"
	"nxvk/synth/scalar"
	"nxvk/synth/scalar/scalartest"
)

func compile(t *testing.T, expression string, typ scalar.Type) *scalar.Func {
	t.Helper()
	var args []scalar.Arg
	for _, name := range []string{"x", "y", "z"} {
		args = append(args, scalar.Arg{Name: name, Type: typ})
	}
	f, err := scalar.Compile(expression, typ, args, scalar.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func readsBack(t *testing.T, f *scalar.Func) {
	t.Helper()
	g, err := scalartest.Read(f.String())
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	if !reflect.DeepEqual(f, g) {
		t.Errorf("%s is another function once read back:\n%v\nwant\n%v", f.Name, g, f)
	}
}

// What is printed reads back as the same function, and prints the same.
func TestPrintedFormReadsBack(t *testing.T) {
	read := 0
	for op := range ops.Count {
		for _, class := range []ops.Class{ops.Float, ops.Signed, ops.Unsigned} {
			code := op.Info().Code.For(class)
			for _, typ := range map[ops.Class][]scalar.Type{ops.Float: {scalar.F32, scalar.F64},
				ops.Signed: {scalar.I32, scalar.I64}, ops.Unsigned: {scalar.U32, scalar.U64}}[class] {
				if code != "" {
					readsBack(t, compile(t, code, typ))
					read++
				}
			}
		}
	}
	if read == 0 {
		t.Error("the table has no expressions")
	}
	readsBack(t, compile(t, "isnan(x) ? nan : -inf", scalar.F64))
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
		if _, err := scalartest.Read(text); !errors.Is(err, scalar.ErrSyntax) {
			t.Errorf("%q: got %v, want a syntax error", text, err)
		}
	}
}
