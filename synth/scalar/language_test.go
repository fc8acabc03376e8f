package scalar

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// evaluate computes f(x) of a library text, x being an F32.
func evaluate(t *testing.T, text string, x float32) float32 {
	t.Helper()
	lib, err := parseLibrary([]string{"test"}, map[string]string{"test": text})
	if err != nil {
		t.Fatal(err)
	}
	f, err := lib.compileAlone("f", F32)
	if err != nil {
		t.Fatal(err)
	}
	return float(f.Eval(floatBits(float64(x), F32)))
}

// compileAlone compiles the function of the given name and parameter type.
func (lib *library) compileAlone(name string, types ...Type) (g *Func, err error) {
	defer catch(&err)
	f, t := lib.find(name, types)
	if f == nil {
		return nil, errors.New("no such function")
	}
	l := &lowering{lib: lib, env: Env{PreciseDiv: true}}
	return l.separate(f, t), nil
}

func TestLanguage(t *testing.T) {
	for _, c := range []struct {
		name, text string
		x, want    float32
	}{
		{"precedence", "fn f(x: f32) -> f32 { 1 + x * 2 - 6 / x }", 3, 5},
		{"comparison binds looser than bits", "fn f(x: f32) -> f32 { let i = i32(x); i & 1 == 0 ? 10 : 20 }", 3, 20},
		{"let and tuple", "fn g(a: f32) -> (f32, f32) { (a + 1, a - 1) } fn f(x: f32) -> f32 { let (p, q) = g(x); p * q }", 3, 8},
		{"ternary of tuples", "fn f(x: f32) -> f32 { let (p, q) = x > 0 ? (x, f32(1)) : (-x, 2); p * q }", -3, 6},
		{"generic", "fn g<T>(a: T, b: T) -> T { a * b } fn f(x: f32) -> f32 { f32(g(i32(x), 2)) + g(x, 0.5) }", 3, 7.5},
		{"named type before generic", "fn g<T>(a: T) -> T { a } fn g(a: f32) -> f32 { -a } fn f(x: f32) -> f32 { g(x) }", 3, -3},
		{"constant by type", "const k: f32 = 0.5; const k: i32 = 7; fn f(x: f32) -> f32 { x * k + f32(i32(x) + k) }", 2, 10},
		{"table", "table v: f32 = [10, 20, 30]; fn f(x: f32) -> f32 { v[i32(x)] }", 2, 30},
		{"poly", "table p: f32 = [1, 2, 3]; fn f(x: f32) -> f32 { poly(x, p) }", 2, 17},
		{"rare", "fn g(x: f32) -> f32 { 100 } fn f(x: f32) -> f32 { rare(x > 5, g(x), x) }", 6, 100},
		{"not so rare", "fn g(x: f32) -> f32 { 100 } fn f(x: f32) -> f32 { rare(x > 5, g(x), x) }", 4, 4},
		{"bits", "fn f(x: f32) -> f32 { bitcast(f32, bitcast(u32, x) ^ 0x80000000) }", 4, -4},
		{"shift by a signed count", "fn f(x: f32) -> f32 { f32(i32(1) << i32(x)) }", 4, 16},
		{"halves", "fn f(x: f32) -> f32 { let d = f64(x); f32(pack(f64, lo(d), hi(d))) }", 1.25, 1.25},
		{"truth", "fn f(x: f32) -> f32 { x && !(x > 3) ? 1 : f32(x != 0) }", 2, 1},
		{"comment", "# a comment\nfn f(x: f32) -> f32 { # another\n x }", 2, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := evaluate(t, c.text, c.x); got != c.want {
				t.Errorf("f(%v) = %v, want %v", c.x, got, c.want)
			}
		})
	}
}

func TestLanguageErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"fn f(x: f32) -> f32 { y }", "test:1:23: unknown name y"},
		{"fn f(x: f32) -> f32 { x > 1 }", "bool where f32 is expected"},
		{"fn f(x: f32) -> f32 { let a = 1; x }", "nothing determines the type of 1"},
		{"fn f(x: f32) -> f32 { f(x) }", "calls nest too deep"},
		{"fn f(x: f32) -> f32 { let (a, b) = x; a }", "1 values for 2 names"},
		{"fn f(x: f32) -> f32 {\n  x + i32(x)\n}", "test:2:7: i32 where f32 is expected"},
		{"fn f(x: f32) -> f32 { 1 }\nlet", "test:2:1: let where fn, const or table is expected"},
		{"const a: f32 = 0x1.8;", "is not a number"},
		{"fn f(x: q7) -> f32 { 1 }", "unknown type q7"},
		{"fn f(x: f32) -> f32 { x << 1 }", "<< has no operands of type f32"},
	} {
		lib, err := parseLibrary([]string{"test"}, map[string]string{"test": c.text})
		if err == nil {
			_, err = lib.compileAlone("f", F32)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.text, err, c.want)
		}
	}
}

// Constants are folded, equal expressions are computed once, and unused ones
// are dropped.
func TestSimplifies(t *testing.T) {
	for _, c := range []struct {
		expression string
		typ        Type
		nodes      int
	}{
		{"1 + 2 * 3", F32, 1},
		{"(x + y) * (x + y)", F32, 4},
		{"x & mask", U32, 1},
		{"true ? x : exp(y)", F32, 1},
		{"x && true", Bool, 1},
		{"fma(x, y, z)", F64, 4},
	} {
		if f := compile(t, c.expression, c.typ, Env{}); len(f.Nodes) != c.nodes {
			t.Errorf("%s: %d nodes, want %d\n%v", c.expression, len(f.Nodes), c.nodes, f)
		}
	}
}

// A slow function runs only where its condition holds: here it would read
// outside its table.
func TestRareRunsOnlyWhenTaken(t *testing.T) {
	text := "table v: f32 = [1, 2]; fn g(x: f32) -> f32 { v[i32(x)] } fn f(x: f32) -> f32 { rare(x < 2, g(x), 0) }"
	if got := evaluate(t, text, 50); got != 0 {
		t.Errorf("got %v", got)
	}
	if got := evaluate(t, text, 1); got != 2 {
		t.Errorf("got %v", got)
	}
	if math.IsNaN(float64(evaluate(t, text, 0))) {
		t.Error("got NaN")
	}
}
