package scalar

import (
	"strings"
	"testing"
)

func operands(t Type) []Arg { return []Arg{{"x", t}, {"y", t}, {"z", t}} }

// Every function of the library compiles by itself, for every type that its
// type parameter can stand for.
func TestCompilesLibrary(t *testing.T) {
	lib, err := loadLibrary()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range lib.unit.functions {
		for typ := I32; typ <= F64; typ++ {
			types := make([]Type, len(f.params))
			for i := range types {
				types[i] = f.paramType(i, typ)
			}
			if _, ok := f.fits(types); !ok {
				continue
			}
			l := &lowering{lib: lib, src: f.src, b: newBuilder(f.name, types), dflt: noType}
			args := make([]int32, len(types))
			for i := range args {
				args[i] = l.b.param(i)
			}
			func() {
				defer func() {
					if r, ok := recover().(fault); ok {
						t.Error(r.err)
					}
				}()
				l.inline(&expr{}, f, typ, args)
			}()
		}
	}
}

func TestLogicalXorOfBools(t *testing.T) {
	f, err := Compile("x != y", Bool, operands(Bool), Env{})
	if err != nil {
		t.Fatal(err)
	}
	for i := uint64(0); i < 4; i++ {
		if got := f.Eval(i&1, i>>1, 0); got != (i&1)^(i>>1) {
			t.Errorf("%d != %d gives %d", i&1, i>>1, got)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ expression, want string }{
		{"x +", "1:4: end of text where an expression is expected"},
		{"x + $", "1:5: unexpected '$'"},
		{"x y", "1:3: y after the expression"},
		{"frob(x)", "1:1: unknown function frob"},
		{"q", "1:1: unknown name q"},
		{"x ^ y", "1:3: ^ has no operands of type f32"},
		{"fma(x, y)", "1:1: fma takes 3 arguments, not 2"},
		{"clip(x)", "1:1: no clip of [f32]"},
	} {
		_, err := Compile(c.expression, F32, operands(F32), Env{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.expression, err, c.want)
		}
	}
}

// The constants of the environment follow the stored type, not the type of
// computation.
func TestEnvironment(t *testing.T) {
	for _, c := range []struct {
		expression string
		typ        Type
		bits       int
		x, want    uint64
	}{
		{"clz(x & mask) - (wide - bits)", I32, 8, 0xffffffff, 0},
		{"clz(x & mask) - (wide - bits)", I32, 8, 1, 7},
		{"clz(x & mask) - (wide - bits)", U64, 0, 1, 63},
		{"popcount(x & mask)", I32, 8, 0xffffffff, 8},
		{"lowest", I32, 8, 0, 0xffffff80},
		{"highest", I64, 0, 0, 1<<63 - 1},
		{"highest", U32, 4, 0, 15},
		{"-inf", F32, 0, 0, 0xff800000},
		{"1", F32, 16, 0, 0x3f800000},
	} {
		f, err := Compile(c.expression, c.typ, operands(c.typ), Env{Bits: c.bits})
		if err != nil {
			t.Errorf("%s: %v", c.expression, err)
		} else if got := f.Eval(c.x, 0, 0); got != c.want {
			t.Errorf("%s of %s with %d bits: got %x, want %x", c.expression, c.typ, c.bits, got, c.want)
		}
	}
}

// No expression, however wrong, does more than give an error.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{"x ? y : z", "1 / 0", "rare(x, exp(y), z)", "fma(1, x, inf)", "pack(f64, 1, 2)",
		"log_p[x]", "poly(x, log_p)", "bitcast(f32, 0x7fc00000)", "clz(x & mask) - (wide - bits)", "(x, y)", "turns[100]", "x << 77", "f32(true)"} {
		f.Add(seed, byte(F32))
		f.Add(seed, byte(I64))
	}
	f.Fuzz(func(t *testing.T, expression string, typ byte) {
		typ %= byte(F64) + 1
		g, err := Compile(expression, Type(typ), operands(Type(typ)), Env{})
		if err == nil && g.Result() > F64 {
			t.Errorf("%q has no type", expression)
		}
	})
}
