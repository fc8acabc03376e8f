package scalar

import "testing"

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
